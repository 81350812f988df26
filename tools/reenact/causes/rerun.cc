#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include "replayer/rerun/free_run.h"
#include "replayer/rerun/rerun_runner.h"
#include "store/reader/bundle.h"
#include "tools/reenact/causes/free_run_text.h"
#include "tools/reenact/causes/report_pages.h"
#include "tools/reenact/causes/rerun_epochs.h"
#include "tools/reenact/causes/rerun_text.h"
#include "tools/reenact/causes/target_flags.h"
#include "tools/reenact/io/progress.h"
#include "tools/reenact/open_store.h"
#include "tools/reenact/record/interruption.h"
#include "tools/reenact/verb.h"

namespace reenact::tools {
namespace {

struct RerunFlags {
  std::string run;
  TargetFlags target;
  bool free = false;
  int64_t max_steps = 32;
  int64_t count = 1;
  int64_t at_once = 1;
  std::optional<int64_t> step;
  bool as_recorded = false;
  bool across_epochs = false;
  std::string store_derived;
  std::string html;
};

schema::Moment Now() {
  using std::chrono::duration_cast;
  using std::chrono::nanoseconds;
  const auto wall = std::chrono::system_clock::now().time_since_epoch();
  const auto monotonic = std::chrono::steady_clock::now().time_since_epoch();
  return {.wall_ns = duration_cast<nanoseconds>(wall).count(),
          .monotonic_ns = duration_cast<nanoseconds>(monotonic).count()};
}

rerun::RerunOptions ToOptions(const RerunFlags& flags) {
  rerun::RerunOptions options;
  if (!flags.target.ask_for.empty()) options.edits.model = flags.target.ask_for;
  options.edits.logprobs = !flags.as_recorded;
  options.edits.token_ids =
      !flags.as_recorded && (flags.target.token_ids || flags.target.target == "local");
  options.count = flags.count;
  options.at_once = flags.at_once;
  if (flags.step) options.step = static_cast<size_t>(*flags.step);
  options.now = Now();
  return options;
}

// The first model call, or the one that is to be asked: it says where the run was recorded.
const schema::Event* CallOf(const schema::RecordedRun& tape, const std::optional<int64_t>& step) {
  if (step && static_cast<size_t>(*step) < tape.events.size()) {
    return &tape.events[static_cast<size_t>(*step)];
  }
  for (const schema::Event& event : tape.events) {
    if (event.boundary == schema::Boundary::kModel) return &event;
  }
  return nullptr;
}

// Keeps the derived runs where the tape came from, or in another store that was named; returns the
// ids of those that were kept. A bundle stays as it is.
std::vector<std::string> Keep(const RerunFlags& flags, const Context& context, bool is_bundle,
                              std::vector<schema::RecordedRun> derived) {
  std::string folder = flags.store_derived;
  if (folder.empty() && !is_bundle) {
    const absl::StatusOr<StorePlace> place = FindStore(context);
    if (place.ok()) folder = place->path;
  }
  std::vector<std::string> ids;
  if (folder.empty() || derived.empty()) return ids;
  for (const schema::RecordedRun& run : derived) ids.push_back(schema::ToString(run.run.id));
  store::Bundle bundle;
  bundle.runs = std::move(derived);
  const absl::Status kept = store::ImportRuns(bundle, folder).status();
  if (kept.ok()) return ids;
  Note(context, "the rerun was not kept as a run: " + std::string(kept.message()));
  return {};
}

// What either kind of rerun came to.
struct Reported {
  rerun::RerunVerdict verdict = rerun::RerunVerdict::kInconclusive;
  std::vector<rerun::CallRerun> calls;
  std::vector<schema::RecordedRun> derived;
  std::string sentence;
  std::function<std::string(const Style&)> render;
  std::function<void(JsonWriter*)> write;
};

absl::StatusOr<Reported> RunEachCall(const schema::RecordedRun& tape, rerun::Target* target,
                                     const rerun::RerunOptions& options) {
  absl::StatusOr<rerun::RerunReport> asked = rerun::Rerun(tape, target, options);
  if (!asked.ok()) return asked.status();
  const auto report = std::make_shared<rerun::RerunReport>(*std::move(asked));
  return Reported{
      .verdict = report->verdict,
      .calls = report->calls,
      .derived = std::move(report->derived),
      .sentence = RerunSentence(*report),
      .render = [report, target, id = schema::ToString(tape.run.id)](
                    const Style& style) { return RenderRerun(id, *target, *report, style); },
      .write = [report](JsonWriter* json) { WriteRerun(*report, json); }};
}

absl::StatusOr<Reported> RunFree(const schema::RecordedRun& tape, rerun::Target* target,
                                 const rerun::FreeRunOptions& options) {
  absl::StatusOr<rerun::FreeReport> asked = rerun::RerunFree(tape, target, options);
  if (!asked.ok()) return asked.status();
  const auto report = std::make_shared<rerun::FreeReport>(*std::move(asked));
  return Reported{
      .verdict = report->verdict,
      .calls = report->calls,
      .derived = std::move(report->derived),
      .sentence = FreeSentence(*report),
      .render = [report, target, id = schema::ToString(tape.run.id)](
                    const Style& style) { return RenderFree(id, *target, *report, style); },
      .write = [report](JsonWriter* json) { WriteFree(*report, json); }};
}

int ExitCodeOf(rerun::RerunVerdict verdict) {
  switch (verdict) {
    case rerun::RerunVerdict::kReproduced:
      return kExitOk;
    case rerun::RerunVerdict::kDiverged:
      return kExitFinding;
    case rerun::RerunVerdict::kInconclusive:
      break;
  }
  return kExitInconclusive;
}

int RunRerun(const RerunFlags& flags, const Context& context) {
  auto reader = OpenStore(context);
  if (!reader.ok()) return Fail(context, reader.status());
  const auto tape = LoadRun(reader->get(), flags.run);
  if (!tape.ok()) return FailReading(context, **reader, tape.status());
  NoteProblems(context, (*reader)->problems());
  rerun::Ledger ledger(BudgetOf(flags.target));
  const auto target = MakeTarget(flags.target, CallOf(*tape, flags.step), context, &ledger);
  if (!target.ok()) return Fail(context, target.status());

  const Interruption interruption;  // What was measured by then is reported.
  const auto begin = std::chrono::steady_clock::now();
  rerun::RerunOptions options = ToOptions(flags);
  const RerunEpochs epochs(reader->get(), *tape);
  if (const absl::Status may = epochs.MayAsk(flags.target, options.step);
      !may.ok() && !flags.across_epochs) {
    return Fail(context, may);
  }
  absl::StatusOr<Reported> report = [&] {
    Progress progress(context.progress, "asking");
    options.on_progress = [&](int64_t done, int64_t total) { progress.Show(done, total); };
    if (!flags.free) return RunEachCall(*tape, target->get(), options);
    return RunFree(*tape, target->get(), {.rerun = options, .max_steps = flags.max_steps});
  }();
  if (!report.ok()) return Fail(context, report.status());
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  const std::vector<std::string> kept =
      Keep(flags, context, (*reader)->is_bundle(), std::move(report->derived));
  if (const absl::Status may = epochs.MayCompare(flags.target, report->calls);
      !may.ok() && !flags.across_epochs) {
    return Fail(context, may);
  }

  const std::string run_id = schema::ToString(tape->run.id);
  const absl::Status page =
      WriteHtml(flags.html, RerunPage(run_id, report->sentence, report->calls, report->render({})));
  if (!page.ok()) return Fail(context, page);
  if (context.json) {
    JsonWriter json = JsonWriter::Document("rerun");
    json.TextField("run", run_id);
    json.BoolField("free", flags.free);
    WriteTarget(**target, &json);
    report->write(&json);
    epochs.Write(flags.target, report->calls, &json);
    WriteCost(ledger.total(), seconds, &json);
    json.BoolField("budget_spent", ledger.ran_out());
    json.TextsField("derived", kept);
    json.EndObject();
    Print(json.Take());
    return ExitCodeOf(report->verdict);
  }
  Print(report->render(context.style));
  Print(epochs.Text(flags.target, report->calls));
  Print("  cost        " + CostText(ledger.total(), seconds) + "\n");
  if (ledger.ran_out()) Print("  budget      spent before everything was asked\n");
  if (!kept.empty()) {
    Print("  kept as     " + kept.front() +
          (kept.size() > 1 ? " and " + std::to_string(kept.size() - 1) + " more" : "") + "\n");
  }
  return ExitCodeOf(report->verdict);
}

}  // namespace

void AddRerunVerb(CLI::App* app, Context* context) {
  auto flags = std::make_shared<RerunFlags>();
  CLI::App* verb = AddVerb(
      app, context,
      {.name = "rerun",
       .summary = "Asks the model again, each call as it was recorded, and compares token by token",
       .example =
           "  reenact rerun last --target local --model models/qwen3-0.6b -n 5\n"
           "  reenact rerun 01JNXW --target http://127.0.0.1:8000/v1 --step 6\n"
           "  reenact rerun 01JNXW --target api -n 20 --max-requests 60\n"
           "  reenact rerun 01JNXW --target api --free -n 10 --max-steps 8\n"
           "\n"
           "With --free the model is asked with what it really answers: its tools answer from the\n"
           "tape where name and arguments are recorded ones, and a run ends where one is not, "
           "where\n"
           "a limit is reached, or where the model is done. Exit code 0: every answer is the\n"
           "recorded one (--free: every run did what the record did); 1: one is not; 3: nothing "
           "to\n"
           "compare."},
      [flags, context] { return RunRerun(*flags, *context); });
  verb->add_option("RUN", flags->run, "an id, a unique prefix of one, or last")->required();
  AddTargetFlags(verb, &flags->target);
  verb->add_flag("--free", flags->free,
                 "a loop of its own instead of each call as recorded: the model goes on from what "
                 "it answers, its tools answer from the tape");
  verb->add_option("--max-steps", flags->max_steps, "with --free: so many answers in one run")
      ->check(InRange(1, 10'000))
      ->type_name("N")
      ->capture_default_str();
  verb->add_option("-n", flags->count, "so many answers to each call; with --free so many runs")
      ->check(InRange(1, 1'000'000))
      ->type_name("N")
      ->capture_default_str();
  verb->add_option("--at-once", flags->at_once, "ask so many at a time: load may change answers")
      ->check(InRange(1, 1024))
      ->type_name("N")
      ->capture_default_str();
  verb->add_option(
          "--step", flags->step,
          "only this event, by its number in reenact show; with --free the conversation that "
          "begins there, else the longest of the run")
      ->check(InRange(0, 1'000'000'000))
      ->type_name("K");
  verb->add_flag("--as-recorded", flags->as_recorded,
                 "change no byte of a request: do not ask for logprobs where it did not");
  verb->add_flag("--across-epochs", flags->across_epochs,
                 "compare although the fingerprints of the record are gone");
  AddHtmlFlag(verb, &flags->html);
  verb->add_option("--store-derived", flags->store_derived,
                   "keep the answers, as runs, in this store instead")
      ->type_name("DIR");
}

}  // namespace reenact::tools
