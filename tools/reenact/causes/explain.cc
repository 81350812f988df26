#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include "replayer/explain/decision.h"
#include "replayer/explain/recorded_experiment.h"
#include "replayer/rerun/action.h"
#include "schema/recorded_command.h"
#include "tools/reenact/causes/explain_judge.h"
#include "tools/reenact/causes/explain_loads.h"
#include "tools/reenact/causes/explain_text.h"
#include "tools/reenact/causes/report_pages.h"
#include "tools/reenact/causes/target_flags.h"
#include "tools/reenact/io/time_option.h"
#include "tools/reenact/open_store.h"
#include "tools/reenact/record/interruption.h"
#include "tools/reenact/replay/replay_command.h"
#include "tools/reenact/verb.h"

namespace reenact::tools {
namespace {

using explain::ExperimentDoors;

struct ExplainFlags {
  std::string run;
  std::string against;
  std::string wrong;
  std::string reference_target;
  std::string drive_url;
  TargetFlags target;
  int64_t unchanged_runs = 12;
  bool no_guard = false;
  std::string html;
};

// The newest run before a time that could have gone the same way: same service, same entry.
absl::StatusOr<schema::RecordedRun> RunBefore(store::StoreReader* reader, int64_t wall_ns,
                                              const schema::RecordedRun& incident) {
  const auto runs = reader->ListRuns({.until_wall_ns = wall_ns, .service = incident.run.service});
  if (!runs.ok()) return runs.status();
  for (auto run = runs->rbegin(); run != runs->rend(); ++run) {
    if (run->entry != incident.run.entry || run->id == incident.run.id || run->in_progress)
      continue;
    if (run->model_calls > 0) return reader->LoadRun(run->id, {});
  }
  return absl::NotFoundError("no run of service \"" + incident.run.service + "\" and entry \"" +
                             incident.run.entry + "\" with a model call ended before that time");
}

absl::StatusOr<schema::RecordedRun> FindReference(store::StoreReader* reader,
                                                  const Context& context, const std::string& text,
                                                  const schema::RecordedRun& incident) {
  absl::StatusOr<schema::RecordedRun> run = LoadRun(reader, text);
  if (run.ok() || !(absl::IsNotFound(run.status()) || absl::IsInvalidArgument(run.status()))) {
    return run;
  }
  const absl::StatusOr<int64_t> time = ReadTime(context, text);
  return time.ok() ? RunBefore(reader, *time, incident) : run;
}

// The program runs dozens of times: what it has to say of that is nobody's answer.
class SilencedErrors {
 public:
  SilencedErrors() : kept_(fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3)) {
    const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (kept_ >= 0 && nowhere >= 0) dup2(nowhere, STDERR_FILENO);
    if (nowhere >= 0) close(nowhere);
  }

  ~SilencedErrors() {
    if (kept_ < 0) return;
    dup2(kept_, STDERR_FILENO);
    close(kept_);
  }

  SilencedErrors(const SilencedErrors&) = delete;
  SilencedErrors& operator=(const SilencedErrors&) = delete;

 private:
  const int kept_;
};

absl::StatusOr<explain::Replay> ReplayOf(const ExplainFlags& flags, const Context& context,
                                         const schema::RecordedRun& incident) {
  if (context.command.empty() && !schema::CommandOf(incident.run)) return explain::Replay();
  const ReplayFlags replay_flags{.drive_url = flags.drive_url, .no_guard = flags.no_guard};
  auto runner = ToRunnerOptions(replay_flags, context, incident.run);
  if (!runner.ok()) return runner.status();
  return [options = *std::move(runner)](const schema::RecordedRun& tape,
                                        const std::vector<replayer::Override>& overrides)
             -> absl::StatusOr<replayer::ReplayReport> {
    replayer::RunnerOptions with = options;
    with.replay.overrides = overrides;
    auto result = [&] {
      const SilencedErrors silenced;
      return ReplayOnce(tape, with);
    }();
    if (!result.ok()) return result.status();
    // The next replay would forget it.
    if (Interruption::Happened()) return absl::CancelledError("interrupted");
    return std::move(result->report);
  };
}

int ExitCodeOfVerdict(explain::Verdict verdict) {
  switch (verdict) {
    case explain::Verdict::kNoDifference:
      return kExitOk;
    case explain::Verdict::kInconclusive:
      return kExitInconclusive;
    default:
      return kExitFinding;
  }
}

int Report(const ExplainedRuns& runs, const rerun::Target* target, const rerun::Ledger& ledger,
           double seconds, const Context& context) {
  if (context.json) {
    JsonWriter json = JsonWriter::Document("explain");
    WriteExplanation(runs, &json);
    if (target != nullptr) {
      WriteTarget(*target, &json);
      WriteCost(ledger.total(), seconds, &json);
    }
    json.EndObject();
    Print(json.Take());
  } else {
    Print(RenderExplanation(runs, context.style));
    if (target != nullptr) {
      Print("\n  target      " + Printable(target->Name()) + "\n  cost        " +
            CostText(ledger.total(), seconds) + "\n");
    }
  }
  return ExitCodeOfVerdict(runs.explanation.verdict);
}

// The targets of an explanation; none where no model is to be asked.
struct Targets {
  std::unique_ptr<rerun::Target> now;
  std::unique_ptr<rerun::Target> reference;
};

absl::StatusOr<Targets> MakeTargets(const ExplainFlags& flags, const schema::Event& call,
                                    const Context& context, rerun::Ledger* ledger) {
  Targets targets;
  if (!flags.target.target.empty()) {
    auto target = MakeTarget(flags.target, &call, context, ledger);
    if (!target.ok()) return target.status();
    targets.now = *std::move(target);
  }
  if (flags.reference_target.empty()) return targets;
  TargetFlags other = flags.target;
  other.target = flags.reference_target;
  auto target = MakeTarget(other, &call, context, ledger);
  if (!target.ok()) return target.status();
  targets.reference = *std::move(target);
  return targets;
}

int RunExplain(const ExplainFlags& flags, const Context& context) {
  if (!flags.reference_target.empty() && flags.target.target.empty()) {
    return Refuse(context, "--reference-target needs --target: what it is compared with");
  }
  auto reader = OpenStore(context);
  if (!reader.ok()) return Fail(context, reader.status());
  const auto incident = LoadRun(reader->get(), flags.run);
  if (!incident.ok()) return FailReading(context, **reader, incident.status());
  const auto reference = FindReference(reader->get(), context, flags.against, *incident);
  if (!reference.ok()) return FailReading(context, **reader, reference.status());
  NoteProblems(context, (*reader)->problems());

  ExplainedRuns runs;
  runs.incident = schema::ToString(incident->run.id);
  runs.reference = schema::ToString(reference->run.id);
  runs.judged_by =
      flags.wrong.empty() ? "the next tool and its arguments, or the answer" : flags.wrong;
  rerun::Ledger ledger(BudgetOf(flags.target));
  runs.calls = explain::FindDecisiveCalls(*incident, *reference);
  if (!runs.calls) {
    runs.explanation.verdict = explain::Verdict::kNoDifference;
    const absl::Status page =
        WriteHtml(flags.html, ExplanationPage(runs, {}, {}, RenderExplanation(runs, {})));
    if (!page.ok()) return Fail(context, page);
    return Report(runs, nullptr, ledger, 0, context);
  }
  const schema::Event& wrong_call = incident->events[runs.calls->incident];
  const schema::Event& right_call = reference->events[runs.calls->reference];
  runs.incident_action = rerun::ActionOf(schema::ViewModelCall(wrong_call));
  runs.reference_action = rerun::ActionOf(schema::ViewModelCall(right_call));
  runs.record = explain::EvidenceOf(wrong_call, right_call);
  runs.epochs = EpochsBetween(reader->get(), wrong_call, right_call);

  ExperimentDoors doors;
  doors.judge = flags.wrong.empty() ? JudgeByAction(runs.incident_action, runs.reference_action)
                                    : JudgeByCommand(flags.wrong);
  const explain::Judge judge = doors.judge;
  if (const absl::Status judged = CheckJudge(judge, wrong_call, right_call); !judged.ok()) {
    return Fail(context, judged);
  }
  auto replay = ReplayOf(flags, context, *incident);
  if (!replay.ok()) return Fail(context, replay.status());
  doors.replay = *std::move(replay);
  const auto targets = MakeTargets(flags, wrong_call, context, &ledger);
  if (!targets.ok()) return Fail(context, targets.status());
  doors.target = targets->now.get();
  doors.reference = targets->reference.get();
  runs.variables = explain::DifferencesOf(*incident, *reference, *runs.calls, !doors.replay);
  if (runs.epochs) AddEpochs(*runs.epochs, &runs.variables);

  const Interruption interruption;  // What was found by then is reported.
  const auto begin = std::chrono::steady_clock::now();
  explain::RecordedExperiment experiment({&*incident, &*reference, *runs.calls}, runs.variables,
                                         std::move(doors));
  runs.explanation =
      Explain(runs.variables, runs.record, targets->now != nullptr ? &experiment : nullptr,
              {.unchanged_runs = flags.unchanged_runs,
               .loads = LoadsOf(flags.target.model, context, wrong_call, judge)});
  if (runs.epochs) runs.explanation.evidence.push_back(EpochSentence(*runs.epochs));
  if (experiment.comes_to_recorded_request() == false) {
    runs.explanation.evidence.push_back(
        "the program makes another request of the incident's inputs than it did: its own code "
        "changed");
  }
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  const absl::Status page = WriteHtml(
      flags.html, ExplanationPage(runs, schema::ViewModelCall(wrong_call),
                                  schema::ViewModelCall(right_call), RenderExplanation(runs, {})));
  if (!page.ok()) return Fail(context, page);
  return Report(runs, targets->now.get(), ledger, seconds, context);
}

}  // namespace

void AddExplainVerb(CLI::App* app, Context* context) {
  auto flags = std::make_shared<ExplainFlags>();
  CLI::App* verb = AddVerb(
      app, context,
      {.name = "explain",
       .summary =
           "Why did it answer that? Tries what differs from another run, and names the cause",
       .example =
           "  reenact explain 01JNXW --against 01JNWC --target api -- ./service --port 8080\n"
           "  reenact explain last --against '2026-03-01 09:00' --target http://127.0.0.1:8000/v1\n"
           "  reenact explain last --against 01JNWC --target local --model models/refund-1\n"
           "\n"
           "Each difference is put into RUN alone, and taken out of the other alone; a cause is "
           "what\n"
           "changed and flips the outcome both ways, surely enough against unchanged reruns. The\n"
           "program runs again on the tapes of both runs; without one, parts of the recorded "
           "request\n"
           "are tried, and without a target the records alone speak. Exit code 0: both did the "
           "same;\n"
           "1: a cause, or that the answer is drawn; 3: inconclusive.",
       .takes_command = true},
      [flags, context] { return RunExplain(*flags, *context); });
  verb->add_option("RUN", flags->run, "what went wrong: an id, a unique prefix of one, or last")
      ->required();
  verb->add_option("--against", flags->against,
                   "a run that went well, or a time: the last one of the same service and entry "
                   "before it")
      ->type_name("RUN|TIME")
      ->required();
  AddTargetFlags(verb, &flags->target);
  verb->get_option("--target")->required(false);
  verb->add_option("--reference-target", flags->reference_target,
                   "a server that serves as the other run was served: weights, backend")
      ->type_name("URL");
  verb->add_option("--wrong", flags->wrong,
                   "a command that gets what the model did on standard input and ends with status "
                   "0 where that is wrong, 1 where it is not; else what both runs did counts")
      ->type_name("CMD");
  verb->add_option("-n", flags->unchanged_runs, "so many unchanged reruns of each of the two")
      ->check(InRange(5, 10'000))
      ->type_name("N")
      ->capture_default_str();
  verb->add_option("--drive", flags->drive_url,
                   "loopback URL to which the recorded input is sent; else as reenact replay does")
      ->type_name("URL");
  verb->add_flag("--no-guard", flags->no_guard, "do not keep the program from the network");
  AddHtmlFlag(verb, &flags->html);
}

}  // namespace reenact::tools
