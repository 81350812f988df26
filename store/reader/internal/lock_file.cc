#include "store/reader/internal/lock_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"

#include "store/store_layout.h"

namespace reenact::store::internal {
namespace {

constexpr int64_t kPauseNs = 10'000'000;

}  // namespace

void MakePrivateFile(const std::string& path) {
  // Only a new file is opened: closing one that SQLite has open would drop its locks.
  const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd >= 0) close(fd);
}

absl::StatusOr<std::unique_ptr<LockFile>> LockFile::Lock(const std::string& path, int64_t wait_ms) {
  const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0) return absl::PermissionDeniedError(absl::StrCat(path, ": ", strerror(errno)));
  std::unique_ptr<LockFile> lock(new LockFile(fd));
  const int64_t deadline_ns = MonotonicNowNs() + wait_ms * 1'000'000;
  // flock has no deadline of its own, so it is tried again until ours.
  while (flock(fd, LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK && errno != EINTR)
      return absl::PermissionDeniedError(absl::StrCat(path, ": ", strerror(errno)));
    if (MonotonicNowNs() >= deadline_ns) {
      return absl::UnavailableError(absl::StrCat(path, " is locked by another process; try again"));
    }
    const timespec pause{.tv_sec = 0, .tv_nsec = kPauseNs};
    nanosleep(&pause, nullptr);
  }
  return lock;
}

LockFile::~LockFile() {
  close(fd_);
}

}  // namespace reenact::store::internal
