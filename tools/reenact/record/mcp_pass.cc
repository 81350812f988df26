#include "tools/reenact/record/mcp_pass.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "absl/status/status.h"

#include "schema/mcp_session.h"
#include "schema/recorded_command.h"
#include "tools/reenact/record/mcp_play.h"
#include "tools/reenact/record/proxy_environment.h"

namespace reenact::tools {
namespace {

// What this process was started with as standard input and output: the client's. In their place the
// server will inherit pipes.
struct Client {
  int in = -1;
  int out = -1;
};

// Bytes on their way from one descriptor to another: passed on as they come, except that a line's
// end waits until `peer` has seen the line. Ends with its source, or when told to.
class Pump {
 public:
  Pump(int from, int to, schema::LineReader::Sink sink)
      : from_(from), to_(to), sink_(std::move(sink)), stop_(eventfd(0, EFD_CLOEXEC)) {}

  ~Pump() {
    Stop();
    close(stop_);
  }

  Pump(const Pump&) = delete;
  Pump& operator=(const Pump&) = delete;

  // `at_end`: on its thread, when the source has ended.
  void Start(std::function<void()> at_end) {
    thread_ = std::thread([this, at_end = std::move(at_end)] {
      sigset_t pipe;
      sigemptyset(&pipe);
      sigaddset(&pipe, SIGPIPE);
      pthread_sigmask(SIG_BLOCK, &pipe, nullptr);
      Run();
      at_end();
    });
  }

  // What is there is still passed on.
  void Stop() {
    if (!thread_.joinable()) return;
    const uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = write(stop_, &one, sizeof(one));
    thread_.join();
  }

 private:
  void Run() {
    std::string buffer(64 << 10, '\0');
    pollfd waits[] = {{from_, POLLIN, 0}, {stop_, POLLIN, 0}};
    while (true) {
      if (poll(waits, 2, -1) < 0 && errno != EINTR) break;
      if (waits[0].revents == 0 && waits[1].revents != 0) break;
      if (waits[0].revents == 0) continue;
      const ssize_t size = read(from_, buffer.data(), buffer.size());
      if (size < 0 && errno == EINTR) continue;
      if (size <= 0) break;
      PassOn({buffer.data(), static_cast<size_t>(size)});
    }
    lines_.Finish(sink_);
  }

  void PassOn(std::string_view bytes) {
    while (!bytes.empty()) {
      const size_t end = bytes.find('\n');
      const std::string_view piece = bytes.substr(0, end == std::string_view::npos ? end : end + 1);
      lines_.Append(piece, sink_);
      // A reader that has gone is told by the end of its process, not here.
      WriteAll(to_, piece);
      bytes.remove_prefix(piece.size());
    }
  }

  const int from_;
  const int to_;
  const schema::LineReader::Sink sink_;
  const int stop_;
  schema::LineReader lines_{schema::kMcpLineLimit};
  std::thread thread_;
};

std::string DetailOf(const schema::CommandEnd& end) {
  if (end.signal != 0) return "signal " + std::to_string(end.signal);
  return "exit status " + std::to_string(end.exit_status);
}

absl::Status PipesFailed() {
  return absl::UnavailableError(std::string("no pipes for the server: ") + std::strerror(errno));
}

// Takes standard input and output away from this process, for the pipes of the server.
absl::Status PutPipes(Client* client, int* to_server, int* from_server) {
  int down[2];
  int up[2];
  client->in = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
  client->out = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
  if (client->in < 0 || client->out < 0 || pipe2(down, O_CLOEXEC) != 0) return PipesFailed();
  if (pipe2(up, O_CLOEXEC) != 0) return PipesFailed();
  dup2(down[0], STDIN_FILENO);
  dup2(up[1], STDOUT_FILENO);
  close(down[0]);
  close(up[1]);
  *to_server = down[1];
  *from_server = up[0];
  return absl::OkStatus();
}

// The server has ended: nobody reads or writes its pipes any more, so that neither holds us up.
void DropPipes() {
  const int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
  if (nothing < 0) return;
  dup2(nothing, STDIN_FILENO);
  dup2(nothing, STDOUT_FILENO);
  close(nothing);
}

}  // namespace

int PassBetweenClientAndServer(replayer::McpPeer* peer, const ForwardedSignals& signals,
                               const Context& context) {
  Client client;
  int to_server = -1;
  int from_server = -1;
  if (absl::Status status = PutPipes(&client, &to_server, &from_server); !status.ok()) {
    return FailWith(context, status, kExitCannotRun);
  }
  Pump down(client.in, to_server,
            [peer](const schema::LineReader::Line& line) { peer->FromClient(line); });
  Pump up(from_server, client.out,
          [peer](const schema::LineReader::Line& line) { peer->FromServer(line); });
  up.Start([] {});
  // The server sees that its client has gone by the end of its input.
  down.Start([to_server] { close(to_server); });
  const absl::StatusOr<schema::CommandEnd> end =
      RunChild({.argv = context.command, .environment = OwnEnvironment()}, signals);
  DropPipes();
  if (end.ok()) {
    up.Stop();
    peer->ServerEnded(DetailOf(*end));
  }
  close(client.out);
  down.Stop();
  peer->ClientEnded();
  if (!end.ok()) {
    const int code = absl::IsNotFound(end.status()) ? kExitNotFound : kExitCannotRun;
    return FailWith(context, end.status(), code);
  }
  return end->signal != 0 ? kExitSignalled + end->signal : end->exit_status;
}

}  // namespace reenact::tools
