#include "tests/recorder/proxy/loopback.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <memory>
#include <utility>

namespace reenact::testing {
namespace {

constexpr int kPatienceMs = 20'000;

bool WaitFor(int fd, short events, int timeout_ms) {
  pollfd wait{fd, events, 0};
  return poll(&wait, 1, timeout_ms) > 0;
}

sockaddr_in Loopback(uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

int Listen(uint16_t* port) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = Loopback(0);
  socklen_t size = sizeof(address);
  bind(fd, reinterpret_cast<sockaddr*>(&address), size);
  listen(fd, 1024);
  getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size);
  *port = ntohs(address.sin_port);
  return fd;
}

std::string Lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

}  // namespace

Socket::Socket(int fd) : fd_(fd) {
  const int one = 1;
  setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
}

Socket::~Socket() {
  Close();
}

std::unique_ptr<Socket> Socket::Connect(uint16_t port) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sockaddr_in address = Loopback(port);
  connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address));
  return std::make_unique<Socket>(fd);
}

bool Socket::Send(std::string_view bytes) {
  return SendUntilStuck(bytes, kPatienceMs) == bytes.size();
}

size_t Socket::SendUntilStuck(std::string_view bytes, int stuck_ms) {
  size_t sent = 0;
  while (sent < bytes.size()) {
    const ssize_t size =
        send(fd_, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (size > 0) {
      sent += static_cast<size_t>(size);
    } else if (errno != EAGAIN || !WaitFor(fd_, POLLOUT, stuck_ms)) {
      break;
    }
  }
  return sent;
}

bool Socket::Fill() {
  if (!WaitFor(fd_, POLLIN, kPatienceMs)) return false;
  char bytes[64 << 10];
  const ssize_t size = recv(fd_, bytes, sizeof(bytes), 0);
  if (size <= 0) return false;
  buffer_.append(bytes, static_cast<size_t>(size));
  return true;
}

std::string Socket::ReadSome() {
  if (buffer_.empty()) Fill();
  return std::exchange(buffer_, {});
}

std::string Socket::ReadTo(std::string_view mark) {
  size_t from = 0;
  for (;;) {
    const size_t at = buffer_.find(mark, from);
    if (at != std::string::npos) return ReadExactly(at + mark.size());
    from = buffer_.size() < mark.size() ? 0 : buffer_.size() - mark.size();
    if (!Fill()) return std::exchange(buffer_, {});
  }
}

std::string Socket::ReadExactly(size_t size) {
  while (buffer_.size() < size && Fill()) {
  }
  std::string bytes = buffer_.substr(0, size);
  buffer_.erase(0, bytes.size());
  return bytes;
}

std::string Socket::ReadAll() {
  while (Fill()) {
  }
  return std::exchange(buffer_, {});
}

std::string Socket::ReadMessage() {
  std::string message = ReadTo("\r\n\r\n");
  const std::string head = Lower(message);
  if (const size_t at = head.find("\r\ncontent-length: "); at != std::string::npos) {
    return message + ReadExactly(std::strtoull(head.c_str() + at + 18, nullptr, 10));
  }
  if (head.find("\r\ntransfer-encoding: chunked") == std::string::npos) return message;
  for (;;) {
    const std::string line = ReadTo("\r\n");
    message += line;
    const size_t size = std::strtoull(line.c_str(), nullptr, 16);
    if (size == 0) {
      std::string trailer;
      do {
        trailer = ReadTo("\r\n");
        message += trailer;
      } while (trailer.size() > 2);
      return message;
    }
    message += ReadExactly(size + 2);
  }
}

bool Socket::WaitForEnd() {
  while (Fill()) {
  }
  char byte;
  const ssize_t size = recv(fd_, &byte, 1, MSG_DONTWAIT);
  return size == 0 || (size < 0 && errno != EAGAIN);
}

void Socket::Close() {
  if (fd_ >= 0) close(std::exchange(fd_, -1));
}

void Socket::Reset() {
  const linger at_once{1, 0};
  setsockopt(fd_, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
  Close();
}

Upstream::Upstream(std::function<void(Socket&)> serve)
    : serve_(std::move(serve)), listener_(Listen(&port_)) {
  acceptor_ = std::thread([this] { Accept(); });
}

Upstream::~Upstream() {
  shutdown(listener_, SHUT_RDWR);
  acceptor_.join();
  close(listener_);
  {
    const std::lock_guard lock(mutex_);
    for (const Socket* socket : open_) shutdown(socket->fd(), SHUT_RDWR);
  }
  for (std::thread& thread : threads_) thread.join();
}

void Upstream::Accept() {
  for (;;) {
    const int fd = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (fd < 0) return;
    ++connections_;
    const std::lock_guard lock(mutex_);
    threads_.emplace_back([this, fd] {
      Socket socket(fd);
      {
        const std::lock_guard open(mutex_);
        open_.insert(&socket);
      }
      serve_(socket);
      const std::lock_guard open(mutex_);
      open_.erase(&socket);
    });
  }
}

uint16_t ClosedPort() {
  uint16_t port = 0;
  close(Listen(&port));
  return port;
}

std::string HeadOf(const std::string& message) {
  return message.substr(0, message.find("\r\n\r\n") + 4);
}

std::string BodyOf(const std::string& message) {
  const std::string head = HeadOf(message);
  std::string rest = message.substr(head.size());
  if (Lower(head).find("transfer-encoding: chunked") == std::string::npos) return rest;
  std::string body;
  size_t at = 0;
  for (;;) {
    const size_t size = std::strtoull(rest.c_str() + at, nullptr, 16);
    const size_t begin = rest.find("\r\n", at) + 2;
    if (size == 0 || begin + size + 2 > rest.size()) return body;
    body += rest.substr(begin, size);
    at = begin + size + 2;
  }
}

}  // namespace reenact::testing
