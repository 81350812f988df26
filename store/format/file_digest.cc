#include "store/format/file_digest.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <string_view>

#include "store/format/posix_file.h"

namespace reenact::store {
namespace {

constexpr std::string_view kLineStart = "sha256 ";
constexpr size_t kLineSize = kLineStart.size() + 64 + 1;
constexpr size_t kReadSize = size_t{256} << 10;

std::string LineOf(const schema::Digest& digest) {
  return std::string(kLineStart) + schema::ToHex(digest) + "\n";
}

// Reads to the end of the file and keeps the last `kept` bytes out of the digest.
int DigestAllBut(const std::string& path, size_t kept, schema::Digest* digest, std::string* tail) {
  FileDescriptor file;
  if (const int code = OpenRegularFile(path, O_RDONLY, 0, &file); code != 0) return code;
  schema::Sha256 hash;
  std::string buffer(kept + kReadSize, '\0');
  size_t held = 0;
  for (;;) {
    const ssize_t got = ::read(file.get(), buffer.data() + held, buffer.size() - held);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return errno;
    if (got == 0) break;
    held += static_cast<size_t>(got);
    const size_t ready = held - std::min(held, kept);
    hash.Update(std::string_view(buffer).substr(0, ready));
    std::copy(buffer.begin() + static_cast<ptrdiff_t>(ready),
              buffer.begin() + static_cast<ptrdiff_t>(held), buffer.begin());
    held -= ready;
  }
  *digest = hash.Finish();
  tail->assign(buffer, 0, held);
  return 0;
}

}  // namespace

int DigestOfFile(const std::string& path, schema::Digest* digest) {
  std::string nothing;
  return DigestAllBut(path, 0, digest, &nothing);
}

int AppendDigestLine(const std::string& path) {
  schema::Digest digest{};
  if (const int code = DigestOfFile(path, &digest); code != 0) return code;

  struct stat status {};

  if (::stat(path.c_str(), &status) != 0) return errno;
  const mode_t mode = status.st_mode & 0777;
  if (::chmod(path.c_str(), mode | 0200) != 0) return errno;
  FileDescriptor file;
  int code = OpenRegularFile(path, O_WRONLY | O_APPEND, 0, &file);
  if (code == 0) code = WriteAll(file.get(), LineOf(digest));
  if (code == 0) code = SyncFile(file.get());
  if (::chmod(path.c_str(), mode) != 0 && code == 0) code = errno;
  return code;
}

DigestLine CheckDigestLine(const std::string& path) {
  schema::Digest digest{};
  std::string line;
  if (DigestAllBut(path, kLineSize, &digest, &line) != 0) return DigestLine::kUnreadable;
  if (line == LineOf(digest)) return DigestLine::kFits;
  const bool has_form =
      line.size() == kLineSize && line.starts_with(kLineStart) && line.ends_with('\n');
  return has_form ? DigestLine::kDiffers : DigestLine::kMissing;
}

}  // namespace reenact::store
