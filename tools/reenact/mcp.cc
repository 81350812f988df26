#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include "absl/status/status.h"

#include "clock_shim/tape_layout.h"
#include "reenact/reenact.hpp"
#include "replayer/mcp/mcp_hub.h"
#include "replayer/mcp/mcp_replay.h"
#include "replayer/replay_session.h"
#include "schema/mcp_session.h"
#include "schema/recorded_command.h"
#include "store/store_layout.h"
#include "tools/reenact/child_program.h"
#include "tools/reenact/mcp_play.h"
#include "tools/reenact/mcp_recording_peer.h"
#include "tools/reenact/open_store.h"
#include "tools/reenact/proxy_environment.h"
#include "tools/reenact/proxy_flags.h"
#include "tools/reenact/replay_command.h"
#include "tools/reenact/verb.h"

namespace reenact::tools {
namespace {

struct McpOptions {
  std::string name;
  std::string replay;
};

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

// Runs the server between client and peer. Its exit status is ours.
int Pass(replayer::McpPeer* peer, const ForwardedSignals& signals, const Context& context) {
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

// The name of the server's program or script: what makes two servers of one run two.
std::string NameOf(const McpOptions& options, const Context& context) {
  if (!options.name.empty()) return options.name;
  if (context.command.empty()) return "";
  schema::RecordedCommand command;
  command.argv = context.command;
  const std::string entry = schema::EntryOf(command);
  return entry.substr(entry.find(' ') + 1);
}

std::vector<char*> Pointers(std::vector<std::string>* texts) {
  std::vector<char*> pointers;
  for (std::string& text : *texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

// Of a list of libraries, as LD_PRELOAD has it.
std::string WithoutClockLibrary(std::string_view libraries) {
  std::string kept;
  while (!libraries.empty()) {
    const size_t end = std::min(libraries.find_first_of(": "), libraries.size());
    const std::string_view library = libraries.substr(0, end);
    if (!library.empty() && !library.ends_with(clock_shim::kLibraryName)) {
      kept += (kept.empty() ? "" : ":") + std::string(library);
    }
    libraries.remove_prefix(std::min(end + 1, libraries.size()));
  }
  return kept;
}

int RecordAlone(const replayer::McpSession& session, const Context& context) {
  auto place = FindStore(context);
  if (!place.ok()) return Fail(context, place.status());
  const ForwardedSignals signals;
  Recorder recorder(RecorderOptionsFor(place->path, session.server, session.secrets, context));
  if (absl::Status ready = CheckRecords(recorder); !ready.ok()) return Fail(context, ready);
  RunInfo info;
  info.entry = "mcp " + session.server;
  for (const std::string& word : context.command) info.input += word + '\n';
  Run run = recorder.StartRun(info);
  const std::string id = run.run_id();
  int code = 0;
  {
    McpRecordingPeer peer(&run, session);
    code = Pass(&peer, signals, context);
  }
  run.Finish();
  recorder.Flush(kStoreDeadlineMs);
  Note(context, "run " + id + " in " + place->path);
  return code;
}

int ReplayAlone(const McpOptions& options, const std::string& name, const Context& context) {
  auto reader = OpenStore(context);
  if (!reader.ok()) return Fail(context, reader.status());
  auto tape = LoadRun(reader->get(), options.replay);
  if (!tape.ok()) return FailReading(context, **reader, tape.status());
  replayer::ReplaySession session(*std::move(tape), {});
  const schema::Run& run = session.recorded_run();
  session.Answer(schema::BeginRun{run.entry, run.input.bytes, {}});
  replayer::McpReplay peer(&session, name);
  PlayMcpServer(&peer);
  session.Answer(schema::FinishRun{1, schema::EndState::kComplete, "", ""});
  const replayer::ReplayReport report = session.Finish({.wall_ns = store::WallNowNs()});
  for (const replayer::Divergence& divergence : report.divergences) {
    Note(context, replayer::MessageOf(divergence));
  }
  if (!report.divergences.empty()) return kExitFinding;
  return report.calls_served == 0 ? kExitInconclusive : kExitOk;
}

// The clock of the program that started us is taped. Neither this process nor the server is of that
// program, and a replay starts no server: what they read may not stand on its tape. Runs this
// command again without the tape's library, past the library's own hook on exec.
void LeaveTheClockTape() {
  if (std::getenv(clock_shim::kModeVariable) == nullptr) return;
  std::vector<std::string> words;
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  for (std::string word; std::getline(file, word, '\0');) words.push_back(word);
  std::vector<std::string> environment;
  for (const auto& [name, value] : OwnEnvironment()) {
    if (name == clock_shim::kModeVariable || name == clock_shim::kOrdinalVariable) continue;
    environment.push_back(name + "=" + (name == "LD_PRELOAD" ? WithoutClockLibrary(value) : value));
  }
  syscall(SYS_execve, "/proc/self/exe", Pointers(&words).data(), Pointers(&environment).data());
}

int Mcp(const McpOptions& options, const Context& context) {
  const std::string name = NameOf(options, context);
  if (name.empty()) {
    return Refuse(context,
                  "which server? `reenact mcp -- SERVER ARGUMENTS`, or --name with "
                  "--replay");
  }
  LeaveTheClockTape();
  if (name.find('/') != std::string::npos) return Refuse(context, "--name may hold no '/'");
  if (!options.replay.empty()) return ReplayAlone(options, name, context);
  const replayer::McpSession session{name, SecretsOf(OwnEnvironment())};
  const char* const socket = std::getenv(replayer::kMcpSocketVariable);
  if (socket == nullptr || *socket == '\0') return RecordAlone(session, context);
  const ForwardedSignals signals;
  auto peer = replayer::JoinMcpHub(socket, session);
  if (!peer.ok()) return Fail(context, peer.status());
  if (!(*peer)->replays()) return Pass(peer->get(), signals, context);
  return PlayMcpServer(peer->get());
}

}  // namespace

void AddMcpVerb(CLI::App* app, Context* context) {
  auto options = std::make_shared<McpOptions>();
  CLI::App* verb = AddVerb(
      app, context,
      {.name = "mcp",
       .summary = "Stands between an MCP client and its server over standard input and output",
       .example =
           "  reenact mcp -- python3 weather_server.py\n"
           "  reenact mcp --replay 01JNXW -- python3 weather_server.py\n"
           "\n"
           "In the client's configuration, put `reenact mcp --` before the server's command. What\n"
           "passes is not changed; requests, results, progress and notifications are recorded, "
           "into\n"
           "the run of `reenact record` where that started the client, else into one of its own.\n"
           "On replay no server is started: answers are the tape's, and a miss is an error of\n"
           "JSON-RPC that says what differs. The exit status is the server's; with --replay 0, or "
           "1\n"
           "when something differed.",
       .takes_command = true},
      [options, context] { return Mcp(*options, *context); });
  verb->add_option("--name", options->name,
                   "what the server is called in the run; else the name of its program or script")
      ->type_name("NAME");
  verb->add_option("--replay", options->replay, "answer from this run, and start no server")
      ->type_name("RUN");
}

}  // namespace reenact::tools
