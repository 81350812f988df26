#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include "clock_shim/frozen_process.h"
#include "recorder/proxy/address_rules.h"
#include "recorder/proxy/proxy.h"
#include "reenact/reenact.hpp"
#include "schema/recorded_command.h"
#include "schema/unobserved.h"
#include "tools/reenact/io/terminal_text.h"
#include "tools/reenact/open_store.h"
#include "tools/reenact/record/child_program.h"
#include "tools/reenact/record/mcp_recording_peer.h"
#include "tools/reenact/record/proxy_environment.h"
#include "tools/reenact/record/proxy_flags.h"
#include "tools/reenact/verb.h"

namespace reenact::tools {
namespace {

constexpr int64_t kProxyGraceMs = 1000;

struct RecordOptions {
  std::string service;
  std::vector<std::string> tags;
  bool capture_output = false;
  bool no_http_proxy = false;
  bool random = false;
  ProxyFlags proxy;
};

void SetVariable(const std::string& name, std::string value, schema::Tags* environment) {
  std::erase_if(*environment, [&](const auto& variable) { return variable.first == name; });
  environment->emplace_back(name, std::move(value));
}

std::string WorkingDirectory() {
  std::unique_ptr<char, void (*)(void*)> path(getcwd(nullptr, 0), &free);
  return path ? path.get() : "";
}

void ReadGit(schema::RecordedCommand* command) {
  std::optional<std::string> commit =
      OutputOf({"git", "-C", command->directory, "rev-parse", "HEAD"});
  if (!commit) return;
  while (commit->ends_with('\n')) commit->pop_back();
  command->git_commit = *std::move(commit);
  const std::optional<std::string> changes =
      OutputOf({"git", "--no-optional-locks", "-C", command->directory, "status", "--porcelain",
                "--untracked-files=no"});
  command->git_dirty = changes && !changes->empty();
}

schema::RecordedCommand DescribeCommand(const RecordOptions& options, const Context& context,
                                        const schema::Tags& environment,
                                        const ProxyEnvironment& proxy) {
  schema::RecordedCommand command;
  command.argv = schema::CommandArguments(context.command);
  command.directory = WorkingDirectory();
  for (const auto& [name, value] : environment) {
    command.environment.push_back(schema::CommandVariable(name, value));
  }
  std::sort(command.environment.begin(), command.environment.end());
  command.proxy_environment = proxy.variables;
  command.routes = RecordedRoutes(proxy.routes);
  command.clock_frozen = true;
  command.random_frozen = options.random;
  command.stdout_captured = options.capture_output;
  command.stderr_captured = options.capture_output;
  ReadGit(&command);
  return command;
}

RunInfo DescribeRun(const schema::RecordedCommand& command, const RecordOptions& options,
                    const std::string& service) {
  RunInfo info;
  info.entry = schema::EntryOf(command);
  info.input = schema::EncodeCommand(command);
  const char* const trace = std::getenv("TRACEPARENT");
  if (trace != nullptr) info.trace_id = trace;
  if (!command.git_commit.empty()) {
    info.components.push_back(
        Application(service, command.git_commit + (command.git_dirty ? "-dirty" : "")));
  }
  for (const std::string& tag : options.tags) {
    const size_t equals = tag.find('=');
    info.tags.emplace_back(tag.substr(0, equals), tag.substr(equals + 1));
  }
  for (auto& tag : LogprobTags(options.proxy)) info.tags.push_back(std::move(tag));
  return info;
}

// What the clock shim read becomes part of the run; call when the program has ended.
void AddTape(const clock_shim::FrozenProcess& frozen, Run* run) {
  for (const schema::Component& part : frozen.TakeTape()) {
    run->AddComponent({part.kind, part.name, part.version, part.content.bytes});
  }
}

// Programs whose clock a replay cannot give back: told now, while they can still be started in
// another way and recorded again.
std::vector<std::string> NotFrozen(const clock_shim::FrozenReport& report,
                                   const std::string& program) {
  std::vector<std::string> programs = report.unreached;
  if (!report.reached) programs.insert(programs.begin(), program);
  return programs;
}

// What is known to have passed by, so that nobody believes that it was captured. `own`: the address
// of the proxy.
void AddUnobserved(const clock_shim::FrozenReport& frozen, const proxy::ProxyReport& report,
                   const std::vector<std::string>& not_frozen, std::string_view own, Run* run) {
  schema::Unobserved unobserved{.programs = not_frozen};
  // What is this machine is told by its port, among the peers.
  for (const std::string& name : frozen.names) {
    if (!proxy::IsLoopbackAuthority(name)) unobserved.names.push_back(name);
  }
  for (const std::string& peer : frozen.peers) {
    if (peer != own) unobserved.peers.push_back(peer);
  }
  for (const auto& [host, count] : report.not_seen) unobserved.tunnels.push_back(host);
  const schema::Component component = schema::ToComponent(std::move(unobserved));
  run->AddComponent({component.kind, component.name, component.version, component.content.bytes});
}

void EndRun(const schema::CommandEnd& end, Run* run) {
  const auto [state, detail] = schema::EndStateOf(end);
  const std::string output = schema::EncodeCommandEnd(end);
  if (state == schema::EndState::kComplete) {
    run->Finish(output);
  } else {
    run->Fail(detail, output);
  }
}

uint64_t LostRecords(const reenact_metrics& metrics) {
  return metrics.accepted - metrics.stored + metrics.dropped_ring_full + metrics.dropped_disk_full +
         metrics.dropped_oversize + metrics.dropped_store_error + metrics.dropped_memory;
}

struct Recorded {
  std::string run_id;
  std::string store;
  proxy::ProxyReport report;
  std::vector<std::string> clock_not_frozen;  // Programs.
  uint64_t lost = 0;
  int exit_code = 0;
};

void PrintJson(const Recorded& recorded) {
  JsonWriter json = JsonWriter::Document("record");
  json.TextField("run", recorded.run_id);
  json.TextField("store", recorded.store);
  json.IntField("exit_code", recorded.exit_code);
  WriteProxyReport(recorded.report, &json);
  json.TextsField("clock_not_frozen", recorded.clock_not_frozen);
  json.IntField("lost", static_cast<int64_t>(recorded.lost));
  json.EndObject();
  Print(json.Take());
}

// On standard error: standard output is the program's.
void PrintText(const Recorded& recorded, const Context& context) {
  Note(context, ProxyReportText(recorded.report));
  for (const std::string& program : recorded.clock_not_frozen) {
    Note(context, "clock not frozen, a replay proves less: " + Printable(program));
  }
  if (recorded.lost != 0) {
    Note(context, Counted(static_cast<int64_t>(recorded.lost), "record") + " could not be stored");
  }
  Note(context,
       "run " + recorded.run_id + " in " + recorded.store + "; to read it, and to run it again:");
  const std::string of_run =
      recorded.run_id + (context.store.empty() ? "" : " --store " + ShellQuoted(recorded.store));
  Note(context, "  reenact show " + of_run);
  Note(context, "  reenact replay " + of_run);
}

int FailToStart(const Context& context, const absl::Status& status) {
  return FailWith(context, status, absl::IsNotFound(status) ? kExitNotFound : kExitCannotRun);
}

int Record(const RecordOptions& options, const Context& context) {
  if (context.command.empty()) {
    return Refuse(context, "which program? `reenact record -- PROGRAM ARGUMENTS`");
  }
  auto extra = ParseRoutes(options.proxy);
  if (!extra.ok()) return Fail(context, extra.status());
  auto asker = LogprobAskerFor(options.proxy);
  if (!asker.ok()) return Fail(context, asker.status());
  auto place = FindStore(context);
  if (!place.ok()) return Fail(context, place.status());
  const ForwardedSignals signals;
  const schema::Tags environment = OwnEnvironment();
  const ProxyEnvironment prepared =
      ProxyEnvironmentFor(environment, *extra, !options.no_http_proxy);
  for (const std::string& warning : prepared.warnings) Note(context, warning);
  const schema::RecordedCommand command = DescribeCommand(options, context, environment, prepared);
  const std::string service = options.service.empty()
                                  ? command.argv[0].substr(command.argv[0].rfind('/') + 1)
                                  : options.service;

  auto frozen = clock_shim::FrozenProcess::Record(options.random);
  if (!frozen.ok()) return Fail(context, frozen.status());
  Recorder recorder(RecorderOptionsFor(place->path, service, SecretsOf(environment), context));
  if (absl::Status ready = CheckRecords(recorder); !ready.ok()) return Fail(context, ready);
  Run run = recorder.StartRun(DescribeRun(command, options, service));
  Recorded recorded{.run_id = run.run_id(), .store = place->path};
  proxy::ProxyOptions door = ProxyOptionsFor(options.proxy, prepared.routes, &recorder, &run);
  door.planner = asker->get();
  auto proxy = proxy::Proxy::Start(std::move(door));
  if (!proxy.ok()) return Fail(context, proxy.status());

  auto hub = replayer::McpHub::Start((*frozen)->folder() + "/mcp",
                                     [&run](const replayer::McpSession& session) {
                                       return std::make_unique<McpRecordingPeer>(&run, session);
                                     });
  if (!hub.ok()) return Fail(context, hub.status());

  ChildOptions child{.argv = context.command,
                     .environment = environment,
                     .capture_output = options.capture_output};
  for (const auto& [name, value] : prepared.variables) {
    SetVariable(name, WithProxyUrl(value, (*proxy)->url()), &child.environment);
  }
  for (auto& [name, value] : (*frozen)->Environment()) {
    SetVariable(name, std::move(value), &child.environment);
  }
  SetVariable(replayer::kMcpSocketVariable, (*frozen)->folder() + "/mcp", &child.environment);
  const absl::StatusOr<schema::CommandEnd> end = RunChild(child, signals);
  (*hub)->Drain(kProxyGraceMs);
  hub->reset();
  (*proxy)->Stop(kProxyGraceMs);
  recorded.report = (*proxy)->report();
  if (!end.ok()) {
    run.Fail("not started: " + std::string(end.status().message()));
    return FailToStart(context, end.status());
  }
  AddTape(**frozen, &run);
  const clock_shim::FrozenReport frozen_report = (*frozen)->report();
  recorded.clock_not_frozen = NotFrozen(frozen_report, command.argv[0]);
  const std::string own_url = (*proxy)->url();
  AddUnobserved(frozen_report, recorded.report, recorded.clock_not_frozen,
                own_url.substr(own_url.rfind('/') + 1), &run);
  EndRun(*end, &run);
  recorder.Flush(kStoreDeadlineMs);
  recorded.lost = LostRecords(recorder.metrics());
  recorded.exit_code = end->signal != 0 ? kExitSignalled + end->signal : end->exit_status;
  if (context.json) {
    PrintJson(recorded);
  } else {
    PrintText(recorded, context);
  }
  return recorded.exit_code;
}

}  // namespace

void AddRecordVerb(CLI::App* app, Context* context) {
  auto options = std::make_shared<RecordOptions>();
  CLI::App* verb = AddVerb(
      app, context,
      {.name = "record",
       .summary = "Runs a program of any language and records its model and HTTP calls",
       .example =
           "  reenact record -- node agent.mjs\n"
           "  reenact record --route kb=https://kb.example.com/api -- python3 agent.py\n"
           "\n"
           "The program's clients are pointed at a recording proxy by the variables that they "
           "read:\n"
           "OPENAI_BASE_URL, ANTHROPIC_BASE_URL, GOOGLE_GEMINI_BASE_URL, HTTP_PROXY and others.\n"
           "A --route is there as http://127.0.0.1:PORT/NAME, the port from one of those.\n"
           "The wall clock that it reads is recorded too: `reenact replay RUN` gives all of that "
           "back.\n"
           "The exit status is the program's.",
       .takes_command = true},
      [options, context] { return Record(*options, *context); });
  verb->add_option("--service", options->service, "name of the service; else the program's")
      ->type_name("NAME");
  verb->add_option("--tag", options->tags, "tag the run; repeatable")
      ->type_name("NAME=VALUE")
      ->check([](const std::string& text) {
        return text.find('=') == std::string::npos ? "no NAME=VALUE" : std::string();
      });
  verb->add_flag("--capture-output", options->capture_output,
                 "keep standard output and error, up to 256 kB each");
  verb->add_flag("--random", options->random,
                 "have random numbers drawn from a recorded seed, which a replay draws from again; "
                 "not for a program that makes keys");
  verb->add_flag("--no-http-proxy", options->no_http_proxy,
                 "leave HTTP_PROXY alone: plain http:// calls are seen by --route only");
  AddProxyFlags(verb, &options->proxy);
  AddLogprobFlag(verb, &options->proxy);
}

}  // namespace reenact::tools
