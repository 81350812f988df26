// A program to be replayed, which speaks to the replay socket by itself: it behaves, or fails in
// the way that its first argument names.

#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <variant>

#include "tests/replayer/socket_client.h"
#include "tests/replayer/tape_builder.h"

namespace reenact::replayer {
namespace {

constexpr char kRequest[] = R"({"model":"m","messages":[]})";

const char* SocketPath() {
  const char* mode = getenv("REENACT_MODE");
  const char* path = getenv("REENACT_REPLAY_SOCKET");
  if (mode == nullptr || std::string_view(mode) != "replay" || path == nullptr) _exit(99);
  return path;
}

[[noreturn]] void WaitForSignals() {
  while (true) pause();
}

void Dial() {
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(443);
  inet_pton(AF_INET, "203.0.113.7", &to.sin_addr);
  connect(socket(AF_INET, SOCK_STREAM, 0), reinterpret_cast<sockaddr*>(&to), sizeof(to));
}

// The run itself. `way` says what goes wrong in it.
void Run(const std::string& way, const std::string& input = R"({"order":"A-17"})") {
  SocketClient client(SocketPath());
  auto program = ProgramOf([&](const schema::Message& message) { return client.Ask(message); });
  program.Begin("POST /refund", input);
  if (way == "crash") abort();
  if (way == "exit") _exit(7);
  if (way == "hang") WaitForSignals();
  if (way == "dial") Dial();
  program.Model(way == "novel" ? R"({"model":"n"})" : kRequest);
  program.Finish();
}

void Handle(const std::string& way) {
  SocketClient client(SocketPath());
  const schema::Message drive = client.Ask(schema::AwaitDrive{"POST /refund"});
  if (const auto* input = std::get_if<schema::Drive>(&drive)) {
    Run(way, input->input);
    client.Ask(schema::HandlerDone{"POST /refund"});
  }
  WaitForSignals();
}

std::string ReceiveUntil(int fd, std::string received, size_t size) {
  char buffer[4096];
  while (received.size() < size) {
    const ssize_t got = recv(fd, buffer, sizeof(buffer), 0);
    if (got <= 0) break;
    received.append(buffer, static_cast<size_t>(got));
    if (size == std::string::npos && received.find("\r\n\r\n") != std::string::npos) break;
  }
  return received;
}

// One HTTP request a connection; answers 200 after a run, or 401 without one.
void ServeOne(int fd, const std::string& way) {
  std::string request = ReceiveUntil(fd, "", std::string::npos);
  const size_t head_end = request.find("\r\n\r\n") + 4;
  const size_t length_at = request.find("Content-Length: ");
  const size_t length =
      length_at == std::string::npos ? 0 : strtoul(request.c_str() + length_at + 16, nullptr, 10);
  request = ReceiveUntil(fd, std::move(request), head_end + length);
  const bool as_expected = request.starts_with("POST /refund HTTP/1.1\r\n") &&
                           request.find("Content-Type: application/json\r\n") != std::string::npos;
  std::string status = as_expected ? "200 OK" : "404 Not Found";
  if (way == "service-401") status = "401 Unauthorized";
  if (status == "200 OK") Run("", request.substr(head_end));
  const std::string answer = "HTTP/1.1 " + status + "\r\nContent-Length: 2\r\n\r\nok";
  send(fd, answer.data(), answer.size(), MSG_NOSIGNAL);
  close(fd);
}

void Serve(const std::string& way, int port) {
  const int listener = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const int one = 1;
  setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
  if (bind(listener, reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0) _exit(98);
  listen(listener, 16);
  // Another request first, as a service gets them all the time: it is no part of the incident.
  SocketClient health(SocketPath());
  health.Ask(schema::BeginRun{"GET /health", "", {}});
  while (true) {
    const int fd = accept(listener, nullptr, nullptr);
    if (fd >= 0) ServeOne(fd, way);
  }
}

}  // namespace
}  // namespace reenact::replayer

int main(int argc, char** argv) {
  using namespace reenact::replayer;  // NOLINT(google-build-using-namespace)
  const std::string way = argc > 1 ? argv[1] : "";
  if (way == "nothing") return 0;
  if (way.starts_with("service")) Serve(way, atoi(argv[2]));
  if (way.starts_with("handler")) Handle(way == "handler-hang" ? "hang" : "");
  Run(way);
  return way == "status" ? 3 : 0;
}
