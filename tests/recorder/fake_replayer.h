// A replayer that says what a test tells it to: the real protocol on a real socket, and no tape.

#ifndef REENACT_TESTS_RECORDER_FAKE_REPLAYER_H_
#define REENACT_TESTS_RECORDER_FAKE_REPLAYER_H_

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <functional>
#include <list>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <variant>
#include <vector>

#include "schema/replay_protocol.h"

namespace reenact::testing {

class FakeReplayer {
 public:
  // Gives the answer to a request; nothing closes the connection. Any thread.
  using Script = std::function<std::optional<schema::Message>(const schema::Message&)>;

  FakeReplayer(std::string path, Script script)
      : path_(std::move(path)), script_(std::move(script)) {
    listener_ = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    memcpy(address.sun_path, path_.c_str(), path_.size() + 1);
    bind(listener_, reinterpret_cast<const sockaddr*>(&address), sizeof(address));
    listen(listener_, 16);
    acceptor_ = std::thread([this] { Accept(); });
  }

  ~FakeReplayer() {
    shutdown(listener_, SHUT_RDWR);
    acceptor_.join();
    close(listener_);
    for (Connection& connection : connections_) {
      shutdown(connection.fd, SHUT_RDWR);
      connection.thread.join();
      close(connection.fd);
    }
    unlink(path_.c_str());
  }

  FakeReplayer(const FakeReplayer&) = delete;
  FakeReplayer& operator=(const FakeReplayer&) = delete;

  const std::string& path() const { return path_; }

  // Everything that was asked so far, greetings left out.
  std::vector<schema::Message> asked() const {
    const std::lock_guard lock(mutex_);
    return asked_;
  }

  template <class Request>
  std::vector<Request> AskedFor() const {
    std::vector<Request> found;
    for (const schema::Message& message : asked()) {
      if (const auto* request = std::get_if<Request>(&message)) found.push_back(*request);
    }
    return found;
  }

  // Cuts all connections, as a replayer that is killed would.
  void Die() {
    const std::lock_guard lock(mutex_);
    for (Connection& connection : connections_) shutdown(connection.fd, SHUT_RDWR);
  }

 private:
  struct Connection {
    int fd;
    std::thread thread;
  };

  void Accept() {
    for (;;) {
      const int fd = accept(listener_, nullptr, nullptr);
      if (fd < 0) return;
      const std::lock_guard lock(mutex_);
      Connection& connection = connections_.emplace_back();
      connection.fd = fd;
      connection.thread = std::thread([this, fd] { Serve(fd); });
    }
  }

  static bool ReadExactly(int fd, char* data, size_t size) {
    while (size > 0) {
      const ssize_t got = recv(fd, data, size, 0);
      if (got <= 0) return false;
      data += got;
      size -= static_cast<size_t>(got);
    }
    return true;
  }

  void Serve(int fd) {
    for (;;) {
      unsigned char length[4];
      if (!ReadExactly(fd, reinterpret_cast<char*>(length), sizeof(length))) return;
      std::string frame(length[0] | length[1] << 8 | length[2] << 16 | length[3] << 24, '\0');
      if (!ReadExactly(fd, frame.data(), frame.size())) return;
      const std::optional<schema::Message> request = schema::DecodeMessage(frame);
      if (!request) return;
      if (!std::holds_alternative<schema::Hello>(*request)) {
        const std::lock_guard lock(mutex_);
        asked_.push_back(*request);
      }
      const std::optional<schema::Message> answer = script_(*request);
      if (!answer) {
        shutdown(fd, SHUT_RDWR);
        return;
      }
      const std::string bytes = schema::EncodeMessage(*answer);
      if (send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL) < 0) return;
    }
  }

  const std::string path_;
  const Script script_;
  int listener_ = -1;
  std::thread acceptor_;
  mutable std::mutex mutex_;
  std::list<Connection> connections_;
  std::vector<schema::Message> asked_;
};

// A tape of one run in which every call has the same answer and the clock ticks.
inline std::optional<schema::Message> ServeEverything(const schema::Message& request) {
  if (std::holds_alternative<schema::Hello>(request)) {
    return schema::Welcome{schema::kReplayProtocolVersion, "01HZY2Z3Q4R5S6T7V8W9XAYBZC",
                           "POST /refund"};
  }
  if (std::holds_alternative<schema::UseComponent>(request)) return schema::ComponentContent{};
  if (std::holds_alternative<schema::BeginRun>(request)) return schema::RunBound{7};
  if (std::holds_alternative<schema::BeginCall>(request)) {
    schema::OnTape tape;
    tape.call_token = 11;
    schema::ExchangeItem item;
    item.kind = schema::ExchangeItemKind::kHead;
    item.status = 429;
    item.headers = {{"retry-after", "2"}};
    tape.exchange.push_back(item);
    item = {};
    item.kind = schema::ExchangeItemKind::kAttemptEnd;
    item.detail = "provider_error:http_429";
    tape.exchange.push_back(item);
    item = {};
    item.kind = schema::ExchangeItemKind::kHead;
    item.status = 200;
    item.headers = {{"content-type", "text/event-stream"}};
    tape.exchange.push_back(item);
    item = {};
    item.size = 5;
    item.offset_ns = 1000;
    tape.exchange.push_back(item);
    item.size = 3;
    item.offset_ns = 2000;
    tape.exchange.push_back(item);
    tape.body = "helloabc";
    tape.end_state = schema::EndState::kReset;
    tape.end_detail = "curl 56: reset";
    return tape;
  }
  if (const auto* read = std::get_if<schema::ReadValue>(&request)) {
    return schema::Value{read->boundary == schema::Boundary::kEnv ? 1u
                                                                  : 1'700'000'000'000'000'000u};
  }
  if (const auto* await = std::get_if<schema::AwaitDrive>(&request)) {
    if (await->entry == "POST /refund") return schema::Drive{"recorded input"};
  }
  return schema::Done{};
}

}  // namespace reenact::testing

#endif  // REENACT_TESTS_RECORDER_FAKE_REPLAYER_H_
