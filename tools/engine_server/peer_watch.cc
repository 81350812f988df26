#include "tools/engine_server/peer_watch.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstdlib>
#include <memory>

namespace reenact::engine_server {
namespace {

using NameOfEnd = int (*)(int, sockaddr*, socklen_t*);

// 0 for what is no IPv4 socket with such an end.
int PortOf(NameOfEnd name_of, int descriptor) {
  sockaddr_in address = {};
  socklen_t size = sizeof address;
  if (name_of(descriptor, reinterpret_cast<sockaddr*>(&address), &size) != 0) return 0;
  return address.sin_family == AF_INET ? ntohs(address.sin_port) : 0;
}

}  // namespace

PeerWatch::PeerWatch(int local_port, int remote_port) {
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(opendir("/proc/self/fd"), closedir);
  if (folder == nullptr) return;
  while (const dirent* entry = readdir(folder.get())) {
    const int descriptor = std::atoi(entry->d_name);
    if (descriptor > 2 && PortOf(getpeername, descriptor) == remote_port &&
        PortOf(getsockname, descriptor) == local_port) {
      socket_ = descriptor;
      return;
    }
  }
}

bool PeerWatch::IsGone() const {
  if (socket_ < 0) return false;
  char byte = 0;
  const ssize_t size = recv(socket_, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  if (size >= 0) return size == 0;
  return errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR;
}

}  // namespace reenact::engine_server
