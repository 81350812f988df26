#include "store/format/posix_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

namespace reenact::store {

FileDescriptor::~FileDescriptor() {
  if (fd_ >= 0) ::close(fd_);
}

int OpenFile(const std::string& path, int flags, unsigned mode, FileDescriptor* file) {
  int fd = -1;
  do {
    fd = ::open(path.c_str(), flags | O_CLOEXEC, mode);
  } while (fd < 0 && errno == EINTR);
  if (fd < 0) return errno;
  *file = FileDescriptor(fd);
  return 0;
}

int OpenRegularFile(const std::string& path, int flags, unsigned mode, FileDescriptor* file) {
  FileDescriptor opened;
  // Without O_NONBLOCK a FIFO waits for its other end; on regular files it changes nothing.
  if (const int code = OpenFile(path, flags | O_NONBLOCK | O_NOCTTY, mode, &opened); code != 0) {
    return code == EISDIR || IsOtherThanFile(path) ? kNoRegularFile : code;
  }

  struct stat status {};

  if (::fstat(opened.get(), &status) != 0) return errno;
  if (!S_ISREG(status.st_mode)) return kNoRegularFile;
  *file = std::move(opened);
  return 0;
}

bool IsOtherThanFile(const std::string& path) {
  struct stat status {};

  return ::stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode);
}

int WriteAll(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return written < 0 ? errno : EIO;
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return 0;
}

int SyncFile(int fd) {
  while (::fsync(fd) != 0) {
    if (errno != EINTR) return errno;
  }
  return 0;
}

int SyncFolder(const std::string& path) {
  FileDescriptor folder;
  if (const int code = OpenFile(path, O_RDONLY | O_DIRECTORY, 0, &folder); code != 0) return code;
  return SyncFile(folder.get());
}

int ReadWholeFile(const std::string& path, size_t max_bytes, std::string* bytes) {
  bytes->clear();
  FileDescriptor file;
  if (const int code = OpenRegularFile(path, O_RDONLY, 0, &file); code != 0) return code;
  char buffer[16384];
  for (;;) {
    const ssize_t size = ::read(file.get(), buffer, sizeof(buffer));
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return errno;
    if (size == 0) return 0;
    if (bytes->size() + static_cast<size_t>(size) > max_bytes) return EFBIG;
    bytes->append(buffer, static_cast<size_t>(size));
  }
}

std::string FolderOf(const std::string& path) {
  const size_t slash = path.find_last_of('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

std::string FileNameOf(const std::string& path) {
  const size_t slash = path.find_last_of('/');
  return slash == std::string::npos ? path : path.substr(slash + 1);
}

std::string DescribeErrno(int code) {
  if (code == kNoRegularFile) return "it is no regular file";
  char buffer[128];
  // The GNU form, which returns the text.
  return ::strerror_r(code, buffer, sizeof(buffer));
}

}  // namespace reenact::store
