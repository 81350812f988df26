// Sockets for tests of the proxy: a client and an upstream of which every byte is the test's own.

#ifndef REENACT_TESTS_RECORDER_PROXY_LOOPBACK_H_
#define REENACT_TESTS_RECORDER_PROXY_LOOPBACK_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <thread>

namespace reenact::testing {

// A connected TCP socket. Waits at most 20 s for anything, then acts as if the peer had gone.
class Socket {
 public:
  explicit Socket(int fd);
  ~Socket();
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;

  static std::unique_ptr<Socket> Connect(uint16_t port);

  // False: the peer is gone.
  bool Send(std::string_view bytes);
  // Sends until all is sent, or until the peer has taken nothing for so long. Returns what was
  // sent.
  size_t SendUntilStuck(std::string_view bytes, int stuck_ms);
  // What there is, at least one byte; empty at the end.
  std::string ReadSome();
  // Up to and with `mark`; what came is kept for the next read. Less at the end.
  std::string ReadTo(std::string_view mark);
  std::string ReadExactly(size_t size);
  std::string ReadAll();
  // A whole message: head and body, by Content-Length or chunked (then as it came).
  std::string ReadMessage();
  // True once the peer has closed, whatever it sent before.
  bool WaitForEnd();
  void Close();
  // So that the peer sees a reset.
  void Reset();

  int fd() const { return fd_; }

 private:
  bool Fill();

  int fd_;
  std::string buffer_;
};

// Accepts connections on a free port, and gives each to `serve`, on a thread of its own.
class Upstream {
 public:
  explicit Upstream(std::function<void(Socket&)> serve);
  ~Upstream();  // Cuts off what is open.
  Upstream(const Upstream&) = delete;
  Upstream& operator=(const Upstream&) = delete;

  uint16_t port() const { return port_; }

  std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }

  int connections() const { return connections_; }

 private:
  void Accept();

  const std::function<void(Socket&)> serve_;
  uint16_t port_ = 0;
  int listener_;
  std::atomic<int> connections_{0};
  std::thread acceptor_;
  std::mutex mutex_;
  std::list<std::thread> threads_;
  std::set<Socket*> open_;
};

// A port on which nobody listens.
uint16_t ClosedPort();

std::string HeadOf(const std::string& message);
// The body of a message, without its chunks where it has some.
std::string BodyOf(const std::string& message);

}  // namespace reenact::testing

#endif  // REENACT_TESTS_RECORDER_PROXY_LOOPBACK_H_
