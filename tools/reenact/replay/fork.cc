#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include "recorder/proxy/proxy.h"
#include "reenact/reenact.hpp"
#include "schema/recorded_command.h"
#include "store/reader/bundle.h"
#include "store/reader/store_reader.h"
#include "tools/reenact/io/terminal_text.h"
#include "tools/reenact/open_store.h"
#include "tools/reenact/record/proxy_environment.h"
#include "tools/reenact/record/proxy_flags.h"
#include "tools/reenact/replay/fork_planner.h"
#include "tools/reenact/replay/replay_command.h"
#include "tools/reenact/verb.h"

namespace reenact::tools {
namespace {

struct ForkOptions {
  std::string run;
  int64_t from = 0;
  std::string live = "all";
  std::string model;
  std::vector<std::string> sets;
  std::string timeout = "10m";
  bool require_guard = false;
  ProxyFlags proxy;
};

// A store for this fork alone, until its run is whole and joins the others with its parent named.
class ScratchStore {
 public:
  ScratchStore() {
    const char* const place = std::getenv("TMPDIR");
    std::string path = std::string(place != nullptr ? place : "/tmp") + "/reenact-fork-XXXXXX";
    if (mkdtemp(path.data()) != nullptr) path_ = path;
  }

  ~ScratchStore() {
    std::error_code ignored;
    if (!path_.empty() && !kept_) std::filesystem::remove_all(path_, ignored);
  }

  ScratchStore(const ScratchStore&) = delete;
  ScratchStore& operator=(const ScratchStore&) = delete;

  const std::string& path() const { return path_; }

  // Its answers cost money: where they cannot join the store they stay here.
  void Keep() { kept_ = true; }

 private:
  std::string path_;
  bool kept_ = false;
};

// The proxy in which the tape and the live providers meet.
class ForkDoor final : public replayer::CommandDoor {
 public:
  ForkDoor(const ForkOptions& options, std::vector<proxy::Route> extra, ForkSettings settings,
           Recorder* recorder, Run* run)
      : options_(options),
        extra_(std::move(extra)),
        settings_(std::move(settings)),
        recorder_(recorder),
        run_(run) {}

  absl::StatusOr<std::string> Open(replayer::ReplaySession* session,
                                   const schema::RecordedCommand& command) override {
    planner_.emplace(session, command, settings_);
    proxy::RouteTable routes;
    for (const schema::CommandRoute& route : command.routes) {
      routes.Set({route.name, route.upstream, route.implied_path});
    }
    for (const proxy::Route& route : extra_) routes.Set(route);
    proxy::ProxyOptions settings = ProxyOptionsFor(options_.proxy, routes, recorder_, run_);
    settings.planner = &*planner_;
    auto proxy = proxy::Proxy::Start(std::move(settings));
    if (!proxy.ok()) return proxy.status();
    proxy_ = *std::move(proxy);
    return proxy_->url();
  }

  void Close(int64_t grace_ms) override {
    if (proxy_) proxy_->Stop(grace_ms);
  }

  ForkCounts counts() const { return planner_ ? planner_->counts() : ForkCounts(); }

 private:
  const ForkOptions& options_;
  const std::vector<proxy::Route> extra_;
  const ForkSettings settings_;
  Recorder* const recorder_;
  Run* const run_;
  std::optional<ForkPlanner> planner_;
  std::unique_ptr<proxy::Proxy> proxy_;
};

absl::StatusOr<ForkSettings> SettingsOf(const ForkOptions& options) {
  ForkSettings settings;
  settings.point = {.step = static_cast<size_t>(options.from),
                    .only_model = options.live == "model"};
  settings.model = options.model;
  for (const std::string& text : options.sets) {
    std::optional<schema::RequestEdit> edit = schema::ParseRequestEdit(text);
    if (!edit) {
      return absl::InvalidArgumentError("--set \"" + text +
                                        "\": PATH=VALUE, like temperature=0 or "
                                        "'messages[0].content=Be brief.'");
    }
    settings.edits.push_back(*std::move(edit));
  }
  return settings;
}

absl::Status CheckForkable(const schema::RecordedRun& tape, const ForkOptions& options) {
  const std::string id = schema::ToString(tape.run.id);
  if (tape.in_progress) {
    return absl::InvalidArgumentError("run " + id +
                                      " is still going on; fork it when it has ended");
  }
  if (!schema::CommandOf(tape.run)) {
    return absl::InvalidArgumentError(
        "run " + id +
        " was not recorded by `reenact record -- COMMAND`: a program that links the SDK never goes "
        "live on replay, and calls of `reenact proxy` have no program that could run again");
  }
  if (static_cast<size_t>(options.from) > tape.events.size()) {
    return absl::InvalidArgumentError(
        "run " + id + " has " + Counted(static_cast<int64_t>(tape.events.size()), "event") +
        ", counted from 0: there is no step " + std::to_string(options.from));
  }
  return absl::OkStatus();
}

RunInfo DescribeFork(const schema::RecordedRun& tape, const ForkOptions& options) {
  RunInfo info;
  info.entry = tape.run.entry;
  info.input = tape.run.input.bytes;
  info.trace_id = tape.run.trace_id;
  for (const schema::Component& component : tape.components) {
    info.components.push_back(
        {component.kind, component.name, component.version, component.content.bytes});
  }
  for (const auto& [name, value] : tape.run.tags) {
    // Of a parent that is a replay or a fork itself, these say what that one was.
    if (!name.starts_with("reenact.")) info.tags.emplace_back(name, value);
  }
  info.tags.emplace_back("reenact.fork_from", std::to_string(options.from));
  info.tags.emplace_back("reenact.fork_live", options.live);
  if (!options.model.empty()) info.tags.emplace_back("reenact.fork_model", options.model);
  for (const std::string& edit : options.sets) info.tags.emplace_back("reenact.fork_set", edit);
  return info;
}

void EndFork(const replayer::RunnerResult& result, Run* run) {
  const replayer::ReplayReport& report = result.report;
  if (!report.finished || !report.derived.end) return run->Fail("stopped: " + result.note);
  const schema::RunEnd& end = *report.derived.end;
  if (end.state == schema::EndState::kComplete) return run->Finish(report.output);
  run->Fail(end.detail, report.output);
}

absl::Status Adopt(const std::string& scratch, const std::string& id, const schema::Ulid& parent,
                   const std::string& store_path) {
  auto reader = store::StoreReader::Open(scratch);
  if (!reader.ok()) return reader.status();
  auto run = LoadRun(reader->get(), id);
  if (!run.ok()) return run.status();
  run->run.parent = parent;
  run->run.origin = schema::RunOrigin::kReplay;
  store::Bundle bundle;
  bundle.runs.push_back(*std::move(run));
  return store::ImportRuns(bundle, store_path).status();
}

// What a fork came to.
struct Forked {
  std::string id;
  std::string store;
  int64_t step = 0;
  ForkCounts counts;
  std::vector<replayer::Divergence> divergences;  // Up to the step.
  std::vector<std::string> without_effect;        // Edits.
  const replayer::RunnerResult* result = nullptr;
};

// Past the step a program may do as it likes: that is what a fork is for.
bool Matters(const replayer::Divergence& divergence, size_t step) {
  switch (divergence.kind) {
    case replayer::DivergenceKind::kOutput:
      return false;
    case replayer::DivergenceKind::kOmittedCall:
    case replayer::DivergenceKind::kOmittedReading:
    case replayer::DivergenceKind::kNotRead:
      return divergence.closest && *divergence.closest < step;
    default:
      return true;
  }
}

std::vector<std::string> EditsWithoutEffect(const ForkOptions& options, const ForkCounts& counts) {
  std::vector<std::string> edits;
  if (!options.model.empty() && counts.model_edits == 0) edits.push_back("--model");
  for (size_t i = 0; i < options.sets.size() && i < counts.edits_made.size(); ++i) {
    if (counts.edits_made[i] == 0) edits.push_back("--set " + options.sets[i]);
  }
  return edits;
}

int ExitCodeOfFork(const Forked& forked) {
  if (!forked.divergences.empty()) return kExitFinding;
  const bool went_live = forked.counts.live_model + forked.counts.live_other > 0;
  const bool whole = forked.result->report.finished;
  return went_live && whole && forked.without_effect.empty() ? kExitOk : kExitInconclusive;
}

void PrintJson(const Forked& forked, const schema::Ulid& parent) {
  JsonWriter json = JsonWriter::Document("fork");
  json.TextField("run", forked.id);
  json.TextField("parent", schema::ToString(parent));
  json.TextField("store", forked.store);
  json.IntField("from", forked.step);
  json.IntField("from_tape", forked.counts.from_tape);
  json.IntField("live_model", forked.counts.live_model);
  json.IntField("live_other", forked.counts.live_other);
  json.IntField("refused", forked.counts.refused);
  std::vector<std::string> divergences;
  for (const replayer::Divergence& divergence : forked.divergences) {
    divergences.push_back(replayer::MessageOf(divergence));
  }
  json.TextsField("divergences", divergences);
  json.TextsField("without_effect", forked.without_effect);
  json.TextsField("relaxed_by", forked.result->report.relaxed_by);
  json.IntField("network_refused", forked.result->network.refused);
  json.BoolField("finished", forked.result->report.finished);
  json.EndObject();
  Print(json.Take());
}

void PrintText(const Forked& forked, const schema::Ulid& parent) {
  const ForkCounts& counts = forked.counts;
  Print("Fork of " + schema::ToString(parent) + " from step " + std::to_string(forked.step) + ": " +
        Counted(counts.from_tape, "call") + " from the tape, " +
        Counted(counts.live_model, "model call") + " and " +
        Counted(counts.live_other, "other call") + " live\n");
  for (const replayer::Divergence& divergence : forked.divergences) {
    Print("  ! " + Printable(replayer::MessageOf(divergence)) + "\n");
  }
  if (counts.live_model + counts.live_other == 0) Print("  ~ nothing went live\n");
  for (const std::string& edit : forked.without_effect) {
    Print("  ~ " + Printable(edit) + " had no effect\n");
  }
  if (!forked.result->report.finished) {
    Print("  ~ stopped: " + Printable(forked.result->note) + "\n");
  }
  Print("run " + forked.id + "; to read it, and beside its parent:\n  reenact show " + forked.id +
        "\n  reenact diff " + schema::ToString(parent) + " " + forked.id + "\n");
}

int Fork(const ForkOptions& options, const Context& context) {
  auto reader = OpenStore(context);
  if (!reader.ok()) return Fail(context, reader.status());
  auto tape = LoadRun(reader->get(), options.run);
  if (!tape.ok()) return FailReading(context, **reader, tape.status());
  if (absl::Status status = CheckForkable(*tape, options); !status.ok()) {
    return Fail(context, status);
  }
  auto settings = SettingsOf(options);
  if (!settings.ok()) return Fail(context, settings.status());
  auto extra = ParseRoutes(options.proxy);
  if (!extra.ok()) return Fail(context, extra.status());
  const ReplayFlags flags{.timeout = options.timeout, .require_guard = options.require_guard};
  auto runner = ToRunnerOptions(flags, context, tape->run);
  if (!runner.ok()) return Fail(context, runner.status());
  auto place = FindStore(context);
  if (!place.ok()) return Fail(context, place.status());

  ScratchStore scratch;
  Recorder recorder(
      RecorderOptionsFor(scratch.path(), tape->run.service, SecretsOf(OwnEnvironment()), context));
  if (absl::Status ready = CheckRecords(recorder); !ready.ok()) return Fail(context, ready);
  Run run = recorder.StartRun(DescribeFork(*tape, options));
  Forked forked{.id = run.run_id(), .store = place->path, .step = options.from};
  ForkDoor door(options, *std::move(extra), *settings, &recorder, &run);
  runner->door = &door;
  const auto result = ReplayOnce(*tape, *runner);
  if (!result.ok()) return Fail(context, result.status());
  EndFork(*result, &run);
  recorder.Close(kStoreDeadlineMs);
  const absl::Status kept = Adopt(scratch.path(), forked.id, tape->run.id, place->path);
  if (!kept.ok()) {
    scratch.Keep();
    Note(context, "the fork could not join the store; it is in " + scratch.path());
    return Fail(context, kept);
  }

  forked.result = &*result;
  forked.counts = door.counts();
  forked.without_effect = EditsWithoutEffect(options, forked.counts);
  for (const replayer::Divergence& divergence : result->report.divergences) {
    if (Matters(divergence, settings->point.step)) forked.divergences.push_back(divergence);
  }
  if (context.json) {
    PrintJson(forked, tape->run.id);
  } else {
    PrintText(forked, tape->run.id);
  }
  return ExitCodeOfFork(forked);
}

}  // namespace

void AddForkVerb(CLI::App* app, Context* context) {
  auto options = std::make_shared<ForkOptions>();
  CLI::App* verb = AddVerb(
      app, context,
      {.name = "fork",
       .summary =
           "Runs a recorded program again, live from one step on: what if it had asked this?",
       .example =
           "  reenact fork last --from 3 --live model\n"
           "  reenact fork 01JNXW --from 3 --live model --set temperature=0\n"
           "  reenact fork 01JNXW --from 0 --live model --model gpt-4o-2024-08-06\n"
           "\n"
           "Events count from 0, as `reenact show` numbers them. Those before the step are the\n"
           "tape's; from there on requests go to the recorded upstreams, which costs money and,\n"
           "without --live model, does what tools do. Keys come from the environment, as when it\n"
           "was recorded; the clock goes on as recorded. The fork is a run of its own, with RUN\n"
           "as its parent. Exit code 0: it went live and ended; 1: it left the tape before the\n"
           "step; 3: nothing went live, or an edit met no request.",
       .takes_command = true},
      [options, context] { return Fork(*options, *context); });
  verb->add_option("RUN", options->run, "an id, a unique prefix of one, or last")->required();
  verb->add_option("--from", options->from, "the first event that is live")
      ->check(NonNegative())
      ->type_name("N")
      ->required();
  verb->add_option("--live", options->live,
                   "what goes live: all, or model: tools and retrievals stay the tape's")
      ->check(CLI::IsMember({"all", "model"}))
      ->capture_default_str();
  verb->add_option("--model", options->model, "live model calls ask for this model instead")
      ->type_name("NAME");
  verb->add_option("--set", options->sets,
                   "change live model calls: a member of their request, like temperature=0; "
                   "VALUE is JSON, else text; repeatable")
      ->type_name("PATH=VALUE")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  verb->add_option("--timeout", options->timeout, "for the whole fork: seconds, or 2m")
      ->type_name("TIME")
      ->capture_default_str();
  verb->add_flag("--require-guard", options->require_guard,
                 "refuse to run where the kernel does not let the network be guarded");
  AddProxyFlags(verb, &options->proxy);
}

}  // namespace reenact::tools
