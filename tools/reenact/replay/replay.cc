#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include "store/reader/bundle.h"
#include "tools/reenact/io/progress.h"
#include "tools/reenact/open_store.h"
#include "tools/reenact/replay/replay_command.h"
#include "tools/reenact/replay/replay_text.h"
#include "tools/reenact/verb.h"

namespace reenact::tools {
namespace {

struct VerbOptions {
  std::string run;
  int64_t runs = 1;
  std::string store_derived;
  ReplayFlags flags;
};

// Keeps one replay of each outcome in which the run began, as a run. What was not kept is
// forgotten, so that no report names a run that is nowhere. `folder` empty: keeps none.
void KeepDerived(const std::string& folder, const Context& context,
                 std::vector<ReplayOutcome>* outcomes) {
  for (ReplayOutcome& outcome : *outcomes) {
    schema::RecordedRun& derived = outcome.first.report.derived;
    if (derived.run.id.IsZero()) continue;
    absl::Status kept = absl::NotFoundError("");
    if (!folder.empty() && outcome.first.report.bound) {
      store::Bundle bundle;
      bundle.runs.push_back(derived);
      kept = store::ImportRuns(bundle, folder).status();
      if (!kept.ok()) {
        Note(context, "the replay was not kept as a run: " + std::string(kept.message()));
      }
    }
    if (!kept.ok()) derived = {};
  }
}

// The store that the tape came from, or another that was named; a bundle stays as it is.
std::string FolderForDerived(const VerbOptions& options, const std::string& store_path,
                             bool is_bundle) {
  if (!options.store_derived.empty()) return options.store_derived;
  return is_bundle ? "" : store_path;
}

int WorstExitCode(const std::vector<ReplayOutcome>& outcomes) {
  int worst = kExitOk;
  for (const ReplayOutcome& outcome : outcomes) {
    const int code = ExitCodeOf(outcome.first);
    // One divergence is a finding, whatever else could not be measured.
    if (worst != kExitFinding && code != kExitOk) worst = code;
  }
  return worst;
}

void PrintJson(const VerbOptions& options, const schema::RecordedRun& tape,
               const std::vector<ReplayOutcome>& outcomes, const std::string& again) {
  JsonWriter json = JsonWriter::Document("replay");
  json.IntField("runs", options.runs);
  json.Key("outcomes");
  json.BeginArray();
  for (const ReplayOutcome& outcome : outcomes) {
    json.BeginObject();
    json.IntField("count", outcome.count);
    json.Key("replay");
    WriteReplay(tape, outcome.first, &json);
    json.EndObject();
  }
  json.EndArray();
  json.TextField("command", again);
  json.EndObject();
  Print(json.Take());
}

void PrintText(const VerbOptions& options, const schema::RecordedRun& tape,
               const std::vector<ReplayOutcome>& outcomes, const Context& context) {
  if (options.runs == 1) {
    Print(RenderReplay(tape, outcomes.front().first, context.style));
    return;
  }
  Print(RenderOutcomes(outcomes, context.style));
  for (const ReplayOutcome& outcome : outcomes) {
    if (ExitCodeOf(outcome.first) == kExitOk) continue;
    Print("\n" + RenderReplay(tape, outcome.first, context.style));
  }
}

int Replay(const VerbOptions& options, const Context& context) {
  auto reader = OpenStore(context);
  if (!reader.ok()) return Fail(context, reader.status());
  auto tape = LoadRun(reader->get(), options.run);
  if (!tape.ok()) return FailReading(context, **reader, tape.status());
  absl::StatusOr<replayer::RunnerOptions> runner =
      ToRunnerOptions(options.flags, context, tape->run);
  if (!runner.ok()) return Fail(context, runner.status());
  NoteProblems(context, (*reader)->problems());

  std::vector<ReplayOutcome> outcomes;
  {
    Progress progress(context.progress && options.runs > 1, "replaying");
    for (int64_t i = 0; i < options.runs; ++i) {
      progress.Show(i, options.runs);
      auto result = ReplayOnce(*tape, *runner);
      if (!result.ok()) return Fail(context, result.status());
      AddOutcome(*std::move(result), &outcomes);
    }
  }
  absl::StatusOr<StorePlace> place = FindStore(context);
  if (!place.ok()) return Fail(context, place.status());
  KeepDerived(FolderForDerived(options, place->path, (*reader)->is_bundle()), context, &outcomes);

  const std::string again = ReproducingCommand(
      place->path, "replay " + schema::ToString(tape->run.id), options.flags, context.command);
  const int exit_code = WorstExitCode(outcomes);
  if (context.json) {
    PrintJson(options, *tape, outcomes, again);
  } else {
    PrintText(options, *tape, outcomes, context);
    if (exit_code != kExitOk) Print("\nTo see it again:\n  " + Printable(again) + "\n");
  }
  return exit_code;
}

}  // namespace

void AddReplayVerb(CLI::App* app, Context* context) {
  auto options = std::make_shared<VerbOptions>();
  CLI::App* verb = AddVerb(
      app, context,
      {.name = "replay",
       .summary = "Runs the program again on a run's recorded answers; nothing live is reached",
       .example =
           "  reenact replay last -- ./refund-service --port 8080\n"
           "  reenact replay 01JNXW --runs 100 -- ./refund-service\n"
           "  reenact replay 01JNXW --override clock=2026-03-01T12:00:00Z -- ./refund-service\n"
           "\n"
           "In the JSON, outcomes[] has a count each, and in outcomes[].replay what happened.",
       .takes_command = true},
      [options, context] { return Replay(*options, *context); });
  verb->add_option("RUN", options->run, "an id, a unique prefix of one, or last")->required();
  AddReplayFlags(verb, &options->flags);
  verb->add_option("--runs", options->runs,
                   "replay so often, and count the outcomes; one replay of each outcome is kept")
      ->check(InRange(1, 1'000'000))
      ->type_name("N")
      ->capture_default_str();
  verb->add_option("--store-derived", options->store_derived,
                   "keep the replay, as a run, in this store instead")
      ->type_name("DIR");
}

}  // namespace reenact::tools
