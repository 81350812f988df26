#include "store/ring/internal/spill_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace reenact::store {
namespace {

int OpenOurs(const std::string& path, int flags, uint64_t* size) {
  const int fd = open(path.c_str(), flags | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0) return -1;

  struct stat status {};

  if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == geteuid()) {
    *size = static_cast<uint64_t>(status.st_size);
    return fd;
  }
  close(fd);
  return -1;
}

}  // namespace

bool ReadSpill(const std::string& path, uint64_t size, std::string* out) {
  uint64_t file_size = 0;
  const int fd = OpenOurs(path, O_RDONLY, &file_size);
  if (fd < 0) return false;
  out->resize(std::min(size, file_size));
  size_t done = 0;
  while (done < out->size()) {
    const ssize_t got = read(fd, out->data() + done, out->size() - done);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    done += static_cast<size_t>(got);
  }
  out->resize(done);
  close(fd);
  return true;
}

void RemoveSpill(const std::string& path) {
  uint64_t size = 0;
  const int fd = OpenOurs(path, O_WRONLY, &size);
  if (fd >= 0) {
    const std::string zeros(64 * 1024, '\0');
    for (uint64_t done = 0; done < size;) {
      const ssize_t put = pwrite(fd, zeros.data(), std::min<uint64_t>(zeros.size(), size - done),
                                 static_cast<off_t>(done));
      if (put <= 0) break;
      done += static_cast<uint64_t>(put);
    }
    close(fd);
  }
  unlink(path.c_str());
}

}  // namespace reenact::store
