// The few calls on files that the store makes itself, beside SQLite.

#ifndef REENACT_STORE_FORMAT_POSIX_FILE_H_
#define REENACT_STORE_FORMAT_POSIX_FILE_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

namespace reenact::store {

// A descriptor that closes itself.
class FileDescriptor {
 public:
  FileDescriptor() = default;

  explicit FileDescriptor(int fd) : fd_(fd) {}

  FileDescriptor(FileDescriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}

  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }

  ~FileDescriptor();

  int get() const { return fd_; }

  bool is_open() const { return fd_ >= 0; }

 private:
  int fd_ = -1;
};

// All return 0, or errno.
int OpenFile(const std::string& path, int flags, unsigned mode, FileDescriptor* file);
// The same for regular files only; kNoRegularFile for anything else. A FIFO that lies where a file
// should be would otherwise hold its opener up for ever.
int OpenRegularFile(const std::string& path, int flags, unsigned mode, FileDescriptor* file);
inline constexpr int kNoRegularFile = -1;  // No errno says it.
// Something is there, and it is no regular file.
bool IsOtherThanFile(const std::string& path);
int WriteAll(int fd, std::string_view bytes);
int SyncFile(int fd);
int SyncFolder(const std::string& path);
// Up to `max_bytes` of a regular file; EFBIG when there is more.
int ReadWholeFile(const std::string& path, size_t max_bytes, std::string* bytes);

// "a/b" of "a/b/c"; "." of "c".
std::string FolderOf(const std::string& path);
std::string FileNameOf(const std::string& path);
// strerror without its thread problem; knows kNoRegularFile.
std::string DescribeErrno(int code);

}  // namespace reenact::store

#endif  // REENACT_STORE_FORMAT_POSIX_FILE_H_
