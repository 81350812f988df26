#include <sys/wait.h>

#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include "replayer/explain/decision.h"
#include "replayer/explain/recorded_experiment.h"
#include "schema/recorded_command.h"
#include "tools/reenact/explain_text.h"
#include "tools/reenact/interruption.h"
#include "tools/reenact/open_store.h"
#include "tools/reenact/replay_command.h"
#include "tools/reenact/target_flags.h"
#include "tools/reenact/time_option.h"
#include "tools/reenact/verb.h"

namespace reenact::tools {
namespace {

using explain::ExperimentDoors;
using explain::Judgement;
using explain::Outcome;

struct ExplainFlags {
  std::string run;
  std::string against;
  std::string wrong;
  std::string reference_target;
  std::string drive_url;
  TargetFlags target;
  int64_t unchanged_runs = 12;
  bool no_guard = false;
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

// Whether the command says that an answer, on its standard input, is wrong: exit status 0. Status 1
// is not wrong, and anything else judges nothing.
absl::StatusOr<bool> IsWrong(const std::string& command, const std::string& action) {
  const auto pipe = std::signal(SIGPIPE, SIG_IGN);  // It need not read all.
  FILE* input = popen(command.c_str(), "w");
  if (input == nullptr) return absl::UnavailableError("--wrong could not be started");
  std::fwrite(action.data(), 1, action.size(), input);
  std::fputc('\n', input);
  const int status = pclose(input);
  std::signal(SIGPIPE, pipe);
  const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 2;
  if (code > 1) {
    return absl::UnavailableError("--wrong ended with status " + std::to_string(code) +
                                  ": it must be 0 for wrong, 1 for not wrong");
  }
  return code == 0;
}

explain::Judge JudgeByAction(std::string incident, std::string reference) {
  return [incident = std::move(incident), reference = std::move(reference)](
             const schema::ModelView& answer) -> absl::StatusOr<Judgement> {
    std::string action = explain::ActionOf(answer);
    if (action.empty()) return absl::UnavailableError("the answer is not whole");
    const Outcome outcome = action == incident    ? Outcome::kIncident
                            : action == reference ? Outcome::kReference
                                                  : Outcome::kOther;
    return Judgement{outcome, std::move(action)};
  };
}

explain::Judge JudgeByCommand(const std::string& command) {
  return [command](const schema::ModelView& answer) -> absl::StatusOr<Judgement> {
    std::string action = explain::ActionOf(answer);
    if (action.empty()) return absl::UnavailableError("the answer is not whole");
    const absl::StatusOr<bool> wrong = IsWrong(command, action);
    if (!wrong.ok()) return wrong.status();
    return Judgement{*wrong ? Outcome::kIncident : Outcome::kReference, std::move(action)};
  };
}

// The command must tell the two records apart, or it can tell nothing.
absl::Status CheckJudge(const explain::Judge& judge, const schema::Event& incident,
                        const schema::Event& reference) {
  const auto wrong = judge(schema::ViewModelCall(incident));
  if (!wrong.ok()) return wrong.status();
  const auto right = judge(schema::ViewModelCall(reference));
  if (!right.ok()) return right.status();
  if (wrong->outcome == Outcome::kIncident && right->outcome == Outcome::kReference) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      std::string("--wrong says of the incident that it is ") +
      (wrong->outcome == Outcome::kIncident ? "wrong" : "not wrong") +
      ", and of the reference that " +
      (right->outcome == Outcome::kIncident ? "it is wrong" : "it is not wrong"));
}

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
    auto result = ReplayOnce(tape, with);
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
    return Report(runs, nullptr, ledger, 0, context);
  }
  const schema::Event& wrong_call = incident->events[runs.calls->incident];
  const schema::Event& right_call = reference->events[runs.calls->reference];
  runs.incident_action = explain::ActionOf(schema::ViewModelCall(wrong_call));
  runs.reference_action = explain::ActionOf(schema::ViewModelCall(right_call));
  runs.record = explain::EvidenceOf(wrong_call, right_call);

  ExperimentDoors doors;
  doors.judge = flags.wrong.empty() ? JudgeByAction(runs.incident_action, runs.reference_action)
                                    : JudgeByCommand(flags.wrong);
  if (const absl::Status judged = CheckJudge(doors.judge, wrong_call, right_call); !judged.ok()) {
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

  const Interruption interruption;  // What was found by then is reported.
  const auto begin = std::chrono::steady_clock::now();
  explain::RecordedExperiment experiment({&*incident, &*reference, *runs.calls}, runs.variables,
                                         std::move(doors));
  runs.explanation =
      Explain(runs.variables, runs.record, targets->now != nullptr ? &experiment : nullptr,
              {.unchanged_runs = flags.unchanged_runs});
  if (experiment.comes_to_recorded_request() == false) {
    runs.explanation.evidence.push_back(
        "the program makes another request of the incident's inputs than it did: its own code "
        "changed");
  }
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
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
}

}  // namespace reenact::tools
