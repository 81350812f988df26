#include "tools/reenact/io/write_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>

#include "absl/strings/str_cat.h"

namespace reenact::tools {
namespace {

absl::Status FromErrno(int error, const std::string& path) {
  const std::string message = absl::StrCat(path, ": ", std::strerror(error));
  switch (error) {
    case ENOENT:
    case ENOTDIR:
      return absl::NotFoundError(message);
    case EEXIST:
      return absl::AlreadyExistsError(message);
    case ENOSPC:
    case EDQUOT:
      return absl::ResourceExhaustedError(message);
    case EIO:
      return absl::DataLossError(message);
    default:
      return absl::PermissionDeniedError(message);
  }
}

// 0, or the errno of what failed.
int WriteAll(int descriptor, const std::string& bytes) {
  for (size_t done = 0; done < bytes.size();) {
    const ssize_t written = write(descriptor, bytes.data() + done, bytes.size() - done);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    done += static_cast<size_t>(written);
  }
  return fsync(descriptor) == 0 ? 0 : errno;
}

// A device may never end, /dev/zero say; a terminal and /dev/null do.
size_t MostBytesOf(int descriptor) {
  constexpr size_t kMostOfDevice = 1 << 20;

  struct stat status {};

  const bool is_device =
      fstat(descriptor, &status) == 0 && (S_ISCHR(status.st_mode) || S_ISBLK(status.st_mode));
  return is_device ? kMostOfDevice : SIZE_MAX;
}

}  // namespace

absl::Status WriteFile(const std::string& path, const std::string& bytes, bool replace) {
  if (!replace && access(path.c_str(), F_OK) == 0) {
    return absl::AlreadyExistsError(absl::StrCat(path, " exists"));
  }

  struct stat status {};

  // As root, a rename would put a file in the place of /dev/null.
  if (stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode)) {
    return absl::FailedPreconditionError(absl::StrCat(path, " is no regular file"));
  }
  const std::string beside = absl::StrCat(path, ".", getpid(), ".tmp");
  const int descriptor = open(beside.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (descriptor < 0) return FromErrno(errno, path);
  int error = WriteAll(descriptor, bytes);
  if (close(descriptor) != 0 && error == 0) error = errno;
  if (error == 0 && rename(beside.c_str(), path.c_str()) != 0) error = errno;
  if (error == 0) return absl::OkStatus();
  unlink(beside.c_str());
  return FromErrno(error, path);
}

absl::StatusOr<std::string> ReadFile(const std::string& path) {
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return FromErrno(errno, path);
  const size_t most = MostBytesOf(descriptor);
  std::string bytes;
  char buffer[1 << 16];
  int error = 0;
  for (;;) {
    const ssize_t got = read(descriptor, buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) error = errno;
    if (got <= 0) break;
    bytes.append(buffer, static_cast<size_t>(got));
    if (bytes.size() > most) {
      close(descriptor);
      return absl::FailedPreconditionError(absl::StrCat(path, " is a device, and no file"));
    }
  }
  close(descriptor);
  if (error != 0) return FromErrno(error, path);
  return bytes;
}

}  // namespace reenact::tools
