#include "store/writer/internal/manifest.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/format/posix_file.h"
#include "store/store_layout.h"

namespace reenact::store {
namespace {

constexpr size_t kMaxManifestBytes = size_t{256} << 20;

// Opened, locked, and read to its end.
struct OpenManifest {
  FileDescriptor file;
  std::string text;  // Whole lines only.
};

int LockFile(int fd) {
  while (::flock(fd, LOCK_EX) != 0) {
    if (errno != EINTR) return errno;
  }
  return 0;
}

int ReadAll(int fd, std::string* text) {
  struct stat status {};

  if (::fstat(fd, &status) != 0) return errno;
  if (static_cast<size_t>(status.st_size) > kMaxManifestBytes) return EFBIG;
  text->resize(static_cast<size_t>(status.st_size));
  size_t done = 0;
  while (done < text->size()) {
    const ssize_t got =
        ::pread(fd, text->data() + done, text->size() - done, static_cast<off_t>(done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return errno;
    if (got == 0) break;
    done += static_cast<size_t>(got);
  }
  text->resize(done);
  return 0;
}

int Open(const std::string& path, OpenManifest* manifest) {
  int code = OpenRegularFile(path, O_RDWR | O_CREAT | O_APPEND, 0600, &manifest->file);
  if (code == 0) code = LockFile(manifest->file.get());
  if (code == 0) code = ReadAll(manifest->file.get(), &manifest->text);
  if (code != 0) return code;
  // A line without its end is one whose writer died: it never counted.
  const size_t end = manifest->text.rfind('\n');
  const size_t whole = end == std::string::npos ? 0 : end + 1;
  if (whole != manifest->text.size()) {
    if (::ftruncate(manifest->file.get(), static_cast<off_t>(whole)) != 0) return errno;
    manifest->text.resize(whole);
  }
  return 0;
}

// The mac of the last line; empty when there is none.
std::string LastMac(const std::string& text, std::string_view store_key) {
  if (text.empty()) return "";
  const size_t start = text.rfind('\n', text.size() - 2);
  const size_t begin = start == std::string::npos ? 0 : start + 1;
  std::string unsigned_line;
  std::string mac;
  CheckManifestLine({text.data() + begin, text.size() - begin - 1}, store_key, &unsigned_line,
                    &mac);
  return mac;
}

int Append(const OpenManifest& manifest, std::string_view store_key, const std::string& fields) {
  const std::string unsigned_line =
      "{" + fields + ",\"previous\":\"" + LastMac(manifest.text, store_key) + "\"}";
  const std::string line = SignManifestLine(unsigned_line, store_key) + "\n";
  const int fd = manifest.file.get();
  int code = WriteAll(fd, line);
  if (code == 0) return SyncFile(fd);
  // Half a line must not stand in the way of the next.
  (void)!::ftruncate(fd, static_cast<off_t>(manifest.text.size()));
  return code;
}

}  // namespace

int AppendBegunLine(const std::string& manifest_path, std::string_view store_key,
                    const std::string& segment_name) {
  OpenManifest manifest;
  if (const int code = Open(manifest_path, &manifest); code != 0) return code;
  return Append(manifest, store_key, "\"begun\":\"" + segment_name + "\"");
}

int AppendSealedLine(const std::string& manifest_path, std::string_view store_key,
                     const SealedSegment& sealed) {
  OpenManifest manifest;
  if (const int code = Open(manifest_path, &manifest); code != 0) return code;
  const std::string fields = "\"segment\":\"" + sealed.name + "\",\"head\":\"" +
                             schema::ToHex(sealed.chain.head) +
                             "\",\"rows\":" + std::to_string(sealed.chain.rows) + ",\"sha256\":\"" +
                             schema::ToHex(sealed.digest) + "\"";
  // Sealing may be repeated after a crash between this line and the end of it.
  if (manifest.text.find("{" + fields + ",") != std::string::npos) return 0;
  return Append(manifest, store_key, fields);
}

int AppendTombstone(const std::string& manifest_path, std::string_view store_key,
                    const std::string& segment_name, std::string_view reason) {
  OpenManifest manifest;
  if (const int code = Open(manifest_path, &manifest); code != 0) return code;
  return Append(manifest, store_key,
                "\"pruned\":\"" + segment_name + "\",\"reason\":\"" + std::string(reason) +
                    "\",\"at_wall_ns\":" + std::to_string(WallNowNs()));
}

int AppendIncidentsChanging(const std::string& manifest_path, std::string_view store_key) {
  OpenManifest manifest;
  if (const int code = Open(manifest_path, &manifest); code != 0) return code;
  return Append(manifest, store_key,
                "\"changing\":\"incidents.db\",\"at_wall_ns\":" + std::to_string(WallNowNs()));
}

int AppendIncidentsChanged(const std::string& manifest_path, std::string_view store_key,
                           const schema::Digest& digest) {
  OpenManifest manifest;
  if (const int code = Open(manifest_path, &manifest); code != 0) return code;
  return Append(manifest, store_key,
                "\"changed\":\"incidents.db\",\"sha256\":\"" + schema::ToHex(digest) + "\"");
}

int AppendRedaction(const std::string& manifest_path, std::string_view store_key,
                    const SegmentRedaction& redaction, const std::function<int()>& replace) {
  OpenManifest manifest;
  if (const int code = Open(manifest_path, &manifest); code != 0) return code;
  if (manifest.text.find("{\"pruned\":\"" + redaction.name + "\",") != std::string::npos) {
    return ENOENT;
  }
  const int code = Append(manifest, store_key,
                          "\"redacted\":\"" + redaction.name + "\",\"was\":\"" + redaction.was +
                              "\",\"head\":\"" + schema::ToHex(redaction.now.head) +
                              "\",\"rows\":" + std::to_string(redaction.now.rows) +
                              ",\"sha256\":\"" + schema::ToHex(redaction.digest) +
                              "\",\"changed_rows\":" + std::to_string(redaction.changed_rows) +
                              ",\"at_wall_ns\":" + std::to_string(WallNowNs()));
  return code != 0 ? code : replace();
}

}  // namespace reenact::store
