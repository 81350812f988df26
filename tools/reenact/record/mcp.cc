#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include "absl/status/status.h"

#include "clock_shim/tape_layout.h"
#include "reenact/reenact.hpp"
#include "replayer/mcp/mcp_hub.h"
#include "replayer/mcp/mcp_replay.h"
#include "replayer/replay_session.h"
#include "schema/exec_vector.h"
#include "schema/mcp_session.h"
#include "schema/recorded_command.h"
#include "store/store_layout.h"
#include "tools/reenact/open_store.h"
#include "tools/reenact/record/child_program.h"
#include "tools/reenact/record/mcp_pass.h"
#include "tools/reenact/record/mcp_play.h"
#include "tools/reenact/record/mcp_recording_peer.h"
#include "tools/reenact/record/proxy_environment.h"
#include "tools/reenact/record/proxy_flags.h"
#include "tools/reenact/replay/replay_command.h"
#include "tools/reenact/verb.h"

namespace reenact::tools {
namespace {

struct McpOptions {
  std::string name;
  std::string replay;
};

// The name of the server's program or script: what makes two servers of one run two.
std::string NameOf(const McpOptions& options, const Context& context) {
  if (!options.name.empty()) return options.name;
  if (context.command.empty()) return "";
  schema::RecordedCommand command;
  command.argv = context.command;
  const std::string entry = schema::EntryOf(command);
  return entry.substr(entry.find(' ') + 1);
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
    code = PassBetweenClientAndServer(&peer, signals, context);
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
  syscall(SYS_execve, "/proc/self/exe", schema::ExecVector(&words).data(),
          schema::ExecVector(&environment).data());
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
  if (!(*peer)->replays()) return PassBetweenClientAndServer(peer->get(), signals, context);
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
