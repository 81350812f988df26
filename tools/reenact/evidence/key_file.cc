#include "tools/reenact/evidence/key_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"

#include "tools/reenact/io/write_file.h"

namespace reenact::tools {
namespace {

template <typename Key>
absl::StatusOr<Key> WithFile(absl::StatusOr<Key> key, const std::string& file) {
  if (key.ok()) return key;
  return absl::Status(key.status().code(), absl::StrCat(file, " ", key.status().message()));
}

// Nobody else ever sees it, not even while it is being written.
absl::Status WritePrivate(const std::string& path, const std::string& bytes) {
  const int descriptor = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (descriptor < 0) {
    const std::string text = absl::StrCat(path, ": ", strerror(errno));
    return errno == EEXIST ? absl::AlreadyExistsError(text) : absl::PermissionDeniedError(text);
  }
  // A key is shorter than anything that is written in parts.
  const bool whole =
      write(descriptor, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()) &&
      fsync(descriptor) == 0;
  const int error = errno;
  close(descriptor);
  if (whole) return absl::OkStatus();
  unlink(path.c_str());
  return absl::ResourceExhaustedError(absl::StrCat(path, ": ", strerror(error)));
}

}  // namespace

absl::StatusOr<std::string> ReadPassphrase(const std::string& file) {
  if (file.empty()) return std::string();
  auto text = ReadFile(file);
  if (!text.ok()) return text.status();
  text->resize(std::min(text->size(), text->find_first_of("\r\n")));
  if (text->empty())
    return absl::InvalidArgumentError(absl::StrCat(file, " holds no passphrase in its first line"));
  return text;
}

absl::StatusOr<evidence::SigningKey> ReadSigningKey(const std::string& file,
                                                    const std::string& passphrase) {
  struct stat status {};

  if (stat(file.c_str(), &status) == 0 && S_ISREG(status.st_mode) && (status.st_mode & 0077) != 0)
    return absl::PermissionDeniedError(
        absl::StrCat(file, " can be read by others, and is no secret: chmod 600 ", file));
  auto pem = ReadFile(file);
  if (!pem.ok()) return pem.status();
  return WithFile(evidence::SigningKey::FromPem(*pem, passphrase), file);
}

absl::StatusOr<evidence::PublicKey> ReadPublicKey(const std::string& file) {
  auto pem = ReadFile(file);
  if (!pem.ok()) return pem.status();
  return WithFile(evidence::PublicKey::FromPem(*pem), file);
}

absl::Status WriteKeyPair(const evidence::SigningKey& key, const std::string& passphrase,
                          const std::string& file) {
  auto pem = key.ToPem(passphrase);
  if (!pem.ok()) return pem.status();
  const std::string public_file = file + ".pub";
  if (access(public_file.c_str(), F_OK) == 0)
    return absl::AlreadyExistsError(absl::StrCat(public_file, " exists"));
  if (absl::Status written = WritePrivate(file, *pem); !written.ok()) return written;
  absl::Status written = WriteFile(public_file, key.Public().ToPem(), false);
  if (!written.ok()) unlink(file.c_str());
  return written;
}

}  // namespace reenact::tools
