#include "recorder/replay_client.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>
#include <variant>

#include "recorder/cancellation.h"
#include "recorder/process_token.h"

namespace reenact::recorder {
namespace {

constexpr size_t kLengthSize = 4;
// A frame is received in pieces of this, so that a damaged length reserves no memory.
constexpr size_t kReceivePiece = size_t{1} << 20;

constexpr std::string_view kForked =
    "replay: this process was forked from the one that is replayed; nothing is live here";

std::string Describe(std::string_view what, int error) {
  return "replay: " + std::string(what) + ": " + strerrordesc_np(error);
}

uint32_t ReadLength(const char* bytes) noexcept {
  uint32_t length = 0;
  for (size_t i = 0; i < kLengthSize; ++i) {
    length |= static_cast<uint32_t>(static_cast<uint8_t>(bytes[i])) << (8 * i);
  }
  return length;
}

}  // namespace

// --- ReplayConnection ---

ReplayConnection::~ReplayConnection() {
  const int fd = fd_.load();
  if (fd >= 0) close(fd);
}

bool ReplayConnection::Open(const std::string& socket_path, std::string_view service,
                            schema::Welcome* welcome, std::string* why) {
  const NoCancellation no_cancellation;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (socket_path.size() >= sizeof(address.sun_path)) {
    *why = "replay: the path of the socket is longer than a socket's may be: " + socket_path;
    return false;
  }
  std::copy(socket_path.begin(), socket_path.end(), address.sun_path);
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) {
    *why = Describe("socket", errno);
    return false;
  }
  fd_.store(fd);
  int result = 0;
  do {
    result = connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address));
  } while (result != 0 && errno == EINTR);
  if (result != 0) {
    *why = Describe("cannot connect to " + socket_path, errno);
    return false;
  }
  schema::Hello hello;
  hello.pid = getpid();
  hello.service = service;
  schema::Message answer;
  if (!Ask(hello, &answer, why)) return false;
  const auto* greeting = std::get_if<schema::Welcome>(&answer);
  if (greeting == nullptr || greeting->protocol_version != schema::kReplayProtocolVersion) {
    *why = "replay: the replayer at " + socket_path + " speaks another version of the protocol";
    return false;
  }
  *welcome = *greeting;
  return true;
}

bool ReplayConnection::Ask(const schema::Message& request, schema::Message* answer,
                           std::string* why) {
  const NoCancellation no_cancellation;
  if (!Send(schema::EncodeMessage(request), why)) return false;
  char length_bytes[kLengthSize];
  if (!Receive(length_bytes, sizeof(length_bytes), why)) return false;
  const size_t length = ReadLength(length_bytes);
  if (length == 0 || length > schema::kMaxReplayFrame) {
    *why = "replay: the replayer sent a frame of " + std::to_string(length) + " bytes";
    return false;
  }
  std::string frame;
  while (frame.size() < length) {
    const size_t begin = frame.size();
    frame.resize(begin + std::min(kReceivePiece, length - begin));
    if (!Receive(frame.data() + begin, frame.size() - begin, why)) return false;
  }
  std::optional<schema::Message> message = schema::DecodeMessage(frame);
  if (!message) {
    *why = "replay: the replayer sent a frame that cannot be read";
    return false;
  }
  *answer = std::move(*message);
  return true;
}

bool ReplayConnection::Send(std::string_view frame, std::string* why) {
  while (!frame.empty()) {
    const ssize_t sent = send(fd_.load(), frame.data(), frame.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) {
      *why = Describe("the replayer is gone", sent < 0 ? errno : EPIPE);
      return false;
    }
    frame.remove_prefix(static_cast<size_t>(sent));
  }
  return true;
}

bool ReplayConnection::Receive(char* data, size_t size, std::string* why) {
  while (size > 0) {
    const ssize_t got = recv(fd_.load(), data, size, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) {
      *why = got < 0 ? Describe("the replayer is gone", errno)
                     : "replay: the replayer closed the connection";
      return false;
    }
    data += got;
    size -= static_cast<size_t>(got);
  }
  return true;
}

void ReplayConnection::Shutdown() noexcept {
  const int fd = fd_.load();
  if (fd >= 0) shutdown(fd, SHUT_RDWR);
}

// --- ReplayClient ---

ReplayClient::ReplayClient() : process_token_(ProcessToken()) {}

bool ReplayClient::Open(const std::string& socket_path, std::string_view service) {
  const std::lock_guard lock(mutex_);
  if (!connection_.Open(socket_path, service, &welcome_, &error_)) return false;
  error_.clear();
  dead_ = false;
  return true;
}

bool ReplayClient::InForkedChild() const noexcept {
  return process_token_ != ProcessToken();
}

schema::Message ReplayClient::Ask(const schema::Message& request) {
  // Before the lock: a child may have inherited it locked.
  if (InForkedChild()) return schema::Diverged{std::string(kForked)};
  const std::lock_guard lock(mutex_);
  if (dead_) return schema::Diverged{error_};
  // Dead until the answer is whole: an exception in between leaves it so.
  dead_ = true;
  schema::Message answer;
  if (!connection_.Ask(request, &answer, &error_)) return schema::Diverged{error_};
  if (!Answers(request, answer)) {
    error_ = "replay: the replayer answered with something else";
    return schema::Diverged{error_};
  }
  if (const auto* diverged = std::get_if<schema::Diverged>(&answer)) error_ = diverged->message;
  dead_ = false;
  return answer;
}

bool ReplayClient::Answers(const schema::Message& request, const schema::Message& answer) noexcept {
  if (std::holds_alternative<schema::Diverged>(answer)) return true;
  if (std::holds_alternative<schema::BeginRun>(request)) {
    return std::holds_alternative<schema::RunBound>(answer);
  }
  if (std::holds_alternative<schema::BeginCall>(request)) {
    return std::holds_alternative<schema::OnTape>(answer);
  }
  if (std::holds_alternative<schema::ReadValue>(request)) {
    return std::holds_alternative<schema::Value>(answer);
  }
  if (std::holds_alternative<schema::UseComponent>(request)) {
    return std::holds_alternative<schema::ComponentContent>(answer);
  }
  return std::holds_alternative<schema::Done>(answer);
}

void ReplayClient::Fail(std::string_view why) {
  if (InForkedChild()) return;
  connection_.Shutdown();  // Before the lock: whoever holds it may be waiting for an answer.
  const std::lock_guard lock(mutex_);
  if (dead_) return;
  dead_ = true;
  error_ = why;
}

void ReplayClient::Explain(std::string_view why) {
  const std::lock_guard lock(mutex_);
  error_ = why;
}

std::string ReplayClient::error() {
  if (InForkedChild()) return std::string(kForked);
  const std::lock_guard lock(mutex_);
  return error_;
}

}  // namespace reenact::recorder
