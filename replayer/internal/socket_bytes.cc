#include "replayer/internal/socket_bytes.h"

#include <errno.h>
#include <sys/socket.h>
#include <sys/types.h>

#include <algorithm>

namespace reenact::replayer {

bool SendAll(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(sent));
  }
  return true;
}

bool ReceiveAll(int fd, char* out, size_t size) {
  while (size > 0) {
    const ssize_t got = recv(fd, out, size, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    out += got;
    size -= static_cast<size_t>(got);
  }
  return true;
}

std::optional<std::string> ReceiveAnnounced(int fd, size_t size) {
  constexpr size_t kStep = size_t{1} << 20;
  std::string bytes;
  while (bytes.size() < size) {
    const size_t have = bytes.size();
    const size_t step = std::min(kStep, size - have);
    bytes.resize(have + step);
    if (!ReceiveAll(fd, bytes.data() + have, step)) return std::nullopt;
  }
  return bytes;
}

}  // namespace reenact::replayer
