#include "tools/bench/proxy/stream_upstream.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <ctime>

namespace reenact::bench {
namespace {

constexpr char kHead[] =
    "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";
constexpr char kAtOnce[] =
    "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 11\r\n\r\n{\"ok\":true}";

std::string Chunk(const std::string& bytes) {
  char size[20];
  std::snprintf(size, sizeof(size), "%zx\r\n", bytes.size());
  return size + bytes + "\r\n";
}

// Of a request with a Content-Length, once its head is there; 0 before.
size_t SizeOf(const std::string& request) {
  const size_t head = request.find("\r\n\r\n");
  if (head == std::string::npos) return 0;
  const size_t length = request.find("Content-Length: ");
  return head + 4 + (length < head ? std::strtoul(request.c_str() + length + 16, nullptr, 10) : 0);
}

}  // namespace

int64_t NowNs() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * int64_t{1'000'000'000} + time.tv_nsec;
}

int ListenOnLoopback(uint16_t* port) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  auto* const any = reinterpret_cast<sockaddr*>(&address);
  if (bind(fd, any, size) != 0 || listen(fd, 4096) != 0 || getsockname(fd, any, &size) != 0) {
    return -1;
  }
  *port = ntohs(address.sin_port);
  return fd;
}

std::string PieceOf(int stream, int index) {
  char text[kPieceBytes + 1];
  std::snprintf(text, sizeof(text), "data: {\"s\":%06d,\"i\":%06d,\"t\":\"", stream, index);
  std::string piece(text);
  uint32_t state = static_cast<uint32_t>(stream) * 2654435761u + static_cast<uint32_t>(index);
  while (piece.size() < kPieceBytes - 4) {
    state = state * 1664525u + 1013904223u;
    piece += static_cast<char>('a' + (state >> 24) % 26);
  }
  return piece + "\"}\n\n";
}

StreamUpstream::StreamUpstream(int pieces_per_stream)
    : pieces_per_stream_(pieces_per_stream), listener_(ListenOnLoopback(&port_)) {
  epoll_ = epoll_create1(EPOLL_CLOEXEC);
  epoll_event event{.events = EPOLLIN, .data = {.fd = listener_}};
  epoll_ctl(epoll_, EPOLL_CTL_ADD, listener_, &event);
  thread_ = std::thread([this] { Run(); });
}

StreamUpstream::~StreamUpstream() {
  stop_ = true;
  thread_.join();
  while (!connections_.empty()) Close(connections_.begin()->first);
  close(epoll_);
  close(listener_);
}

void StreamUpstream::Run() {
  epoll_event events[256];
  while (!stop_) {
    const int count = epoll_wait(epoll_, events, 256, 1);
    for (int i = 0; i < count; ++i) {
      if (events[i].data.fd == listener_) {
        Accept();
      } else {
        Read(events[i].data.fd);
      }
    }
    Tick(NowNs());
  }
}

void StreamUpstream::Accept() {
  for (;;) {
    const int fd = accept4(listener_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0) return;
    const int on = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    epoll_event event{.events = EPOLLIN, .data = {.fd = fd}};
    epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event);
    connections_[fd];
  }
}

void StreamUpstream::Read(int fd) {
  char bytes[16 << 10];
  const ssize_t size = recv(fd, bytes, sizeof(bytes), 0);
  if (size < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (size <= 0) return Close(fd);
  Connection& connection = connections_[fd];
  connection.request.append(bytes, static_cast<size_t>(size));
  const size_t whole = SizeOf(connection.request);
  if (whole != 0 && connection.request.size() >= whole) Answer(fd, &connection);
}

void StreamUpstream::Answer(int fd, Connection* connection) {
  constexpr std::string_view kStream = "/stream/";
  const size_t line_end = connection->request.find("\r\n");
  const size_t at = connection->request.find(kStream);
  if (at > line_end) {
    connection->request.clear();
    return Send(fd, kAtOnce);
  }
  connection->stream = std::atoi(connection->request.c_str() + at + kStream.size());
  connection->next_piece = 0;
  connection->request.clear();
  Send(fd, kHead);
  due_.emplace(NowNs(), fd);
}

void StreamUpstream::Tick(int64_t now) {
  while (!due_.empty() && due_.begin()->first <= now) {
    const auto [at, fd] = *due_.begin();
    due_.erase(due_.begin());
    const auto found = connections_.find(fd);
    if (found == connections_.end()) continue;
    Connection& connection = found->second;
    std::string bytes = Chunk(PieceOf(connection.stream, connection.next_piece++));
    const bool last = connection.next_piece == pieces_per_stream_;
    if (last) bytes += "0\r\n\r\n";
    if (!last) due_.emplace(at + kPieceIntervalNs, fd);
    Send(fd, bytes);
  }
}

void StreamUpstream::Send(int fd, const std::string& bytes) {
  if (send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(bytes.size())) {
    ++stuck_;
  }
}

void StreamUpstream::Close(int fd) {
  std::erase_if(due_, [&](const auto& due) { return due.second == fd; });
  connections_.erase(fd);
  close(fd);
}

}  // namespace reenact::bench
