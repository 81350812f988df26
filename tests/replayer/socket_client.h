// A blocking client of the replay socket, and raw access to it for tests that send nonsense.

#ifndef REENACT_TESTS_REPLAYER_SOCKET_CLIENT_H_
#define REENACT_TESTS_REPLAYER_SOCKET_CLIENT_H_

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

#include "schema/replay_protocol.h"

namespace reenact::replayer {

class SocketClient {
 public:
  explicit SocketClient(const std::string& path) {
    fd_ = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    memcpy(address.sun_path, path.c_str(), path.size() + 1);
    connected_ = connect(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0;
  }

  ~SocketClient() { close(fd_); }

  SocketClient(const SocketClient&) = delete;
  SocketClient& operator=(const SocketClient&) = delete;

  bool connected() const { return connected_; }

  bool Send(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t sent = send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return false;
      bytes.remove_prefix(static_cast<size_t>(sent));
    }
    return true;
  }

  void EndSending() { shutdown(fd_, SHUT_WR); }

  // Nothing: the server closed the connection, or sent what is no frame.
  std::optional<schema::Message> Receive() {
    unsigned char length[4];
    if (!ReceiveExactly(reinterpret_cast<char*>(length), sizeof(length))) return std::nullopt;
    const size_t size = static_cast<size_t>(length[0]) | static_cast<size_t>(length[1]) << 8 |
                        static_cast<size_t>(length[2]) << 16 | static_cast<size_t>(length[3]) << 24;
    std::string frame(size, '\0');
    if (!ReceiveExactly(frame.data(), size)) return std::nullopt;
    return schema::DecodeMessage(frame);
  }

  // One question and its answer; a Diverged without text when the connection is gone.
  schema::Message Ask(const schema::Message& request) {
    if (!Send(schema::EncodeMessage(request))) return schema::Diverged{};
    return Receive().value_or(schema::Diverged{});
  }

 private:
  bool ReceiveExactly(char* out, size_t size) {
    while (size > 0) {
      const ssize_t got = recv(fd_, out, size, 0);
      if (got <= 0) return false;
      out += got;
      size -= static_cast<size_t>(got);
    }
    return true;
  }

  int fd_ = -1;
  bool connected_ = false;
};

}  // namespace reenact::replayer

#endif  // REENACT_TESTS_REPLAYER_SOCKET_CLIENT_H_
