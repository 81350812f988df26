// A file's bytes, mapped read-only.

#ifndef REENACT_LOCAL_ENGINE_WEIGHTS_MAPPED_FILE_H_
#define REENACT_LOCAL_ENGINE_WEIGHTS_MAPPED_FILE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "absl/status/statusor.h"

namespace reenact::local_engine {

// Which file, and which state of it: what is written to it has another modification time.
struct FileIdentity {
  uint64_t device = 0;
  uint64_t inode = 0;
  uint64_t size_bytes = 0;
  int64_t modified_ns = 0;
  int64_t changed_ns = 0;  // Of the entry as well: a modification time can be set, this cannot.

  bool operator==(const FileIdentity&) const = default;
};

// NotFound and the like, naming the path.
absl::StatusOr<FileIdentity> IdentityOfFile(const std::string& path);

// The same status, with the file and the part of it before its message.
absl::Status InFile(const std::string& file, const std::string& part, const absl::Status& status);

// Movable through its pointer only. The file must not shrink while it is mapped: the kernel answers
// a read beyond its end with SIGBUS. Any thread may read.
class MappedFile {
 public:
  // NotFound, PermissionDenied... as the system says, naming the path; InvalidArgument for what is
  // no regular file or is empty.
  static absl::StatusOr<std::shared_ptr<const MappedFile>> Open(const std::string& path);

  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();

  const std::string& path() const { return path_; }

  std::span<const std::byte> bytes() const { return bytes_; }

  // When it was opened.
  const FileIdentity& identity() const { return identity_; }

 private:
  MappedFile(std::string path, const FileIdentity& identity, std::span<const std::byte> bytes);

  std::string path_;
  FileIdentity identity_;
  std::span<const std::byte> bytes_;
};

// Takes the whole pages of a mapped file's bytes out of the process's memory. They come back from
// the file when they are touched.
void GiveBackPages(std::span<const std::byte> bytes);

}  // namespace reenact::local_engine

#endif  // REENACT_LOCAL_ENGINE_WEIGHTS_MAPPED_FILE_H_
