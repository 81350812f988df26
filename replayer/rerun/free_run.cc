#include "replayer/rerun/free_run.h"

#include <algorithm>
#include <mutex>
#include <set>
#include <thread>
#include <utility>

#include "replayer/rerun/derived_run.h"
#include "replayer/rerun/free_loop.h"

namespace reenact::rerun {
namespace {

using schema::Event;

std::vector<FreeRun> RunAll(const FreeGround& ground, Target* target, const RerunOptions& options) {
  std::vector<FreeRun> runs(static_cast<size_t>(options.count));
  std::mutex mutex;  // Guards what follows.
  size_t next = 0;
  int64_t done = 0;
  const auto run_some = [&] {
    for (;;) {
      size_t place = 0;
      {
        const std::lock_guard<std::mutex> lock(mutex);
        if (next == runs.size()) return;
        place = next++;
      }
      FreeRun run = FreeLoop(ground, target).Run();
      const std::lock_guard<std::mutex> lock(mutex);
      runs[place] = std::move(run);
      ++done;
      if (options.on_progress) options.on_progress(done, options.count);
    }
  };
  std::vector<std::thread> threads;
  const int64_t others = std::min(options.at_once, options.count) - 1;
  for (int64_t i = 0; i < others; ++i) threads.emplace_back(run_some);
  run_some();
  for (std::thread& thread : threads) thread.join();
  return runs;
}

// An answer that came before, by its id: a cache spoke, and says nothing of the model.
void MarkRepeats(std::vector<FreeRun>* runs) {
  std::set<std::string> seen;
  for (FreeRun& run : *runs) {
    for (FreeStep& step : run.steps) {
      const std::string& id = step.sample.view.response_id;
      if (!step.sample.answered() || id.empty() || seen.insert(id).second) continue;
      step.sample.status = SampleStatus::kRepeated;
      step.sample.detail = "response id " + id;
      run.end = FreeEnd::kUnanswered;
      run.end_detail = "repeated: " + step.sample.detail;
    }
  }
}

FreeOutcome OutcomeOf(const FreeRun& run, const RecordedPath& path) {
  const std::vector<std::string>& was = path.actions();
  const auto count = static_cast<size_t>(run.answered());
  for (size_t i = 0; i < std::min(was.size(), run.steps.size()); ++i) {
    if (!run.steps[i].sample.answered()) return FreeOutcome::kUndecided;
    if (!was[i].empty() && run.steps[i].action != was[i]) return FreeOutcome::kOther;
  }
  if (!path.is_whole() || count < was.size()) return FreeOutcome::kUndecided;
  if (count > was.size()) return FreeOutcome::kOther;
  const bool has_ended = run.end == FreeEnd::kFinished || run.end == FreeEnd::kRecordEnds;
  return has_ended ? FreeOutcome::kSame : FreeOutcome::kUndecided;
}

void Judge(FreeReport* report) {
  for (FreeRun& run : report->runs) run.outcome = OutcomeOf(run, report->path);
  if (report->Count(FreeOutcome::kOther) > 0) {
    report->verdict = RerunVerdict::kDiverged;
    return;
  }
  if (report->Count(FreeOutcome::kUndecided) == 0) {
    report->verdict = RerunVerdict::kReproduced;
    return;
  }
  for (size_t i = 0; i < report->runs.size(); ++i) {
    const FreeRun& run = report->runs[i];
    if (run.outcome != FreeOutcome::kUndecided) continue;
    report->inconclusive_because = "run " + std::to_string(i + 1) +
                                   " ended before its outcome: " + std::string(ToString(run.end)) +
                                   (run.end_detail.empty() ? "" : " (" + run.end_detail + ")");
    if (!report->path.is_whole()) {
      report->inconclusive_because = "the record does not say what the conversation came to";
    }
    return;
  }
}

// All answers to each recorded call, together.
void GatherCalls(Target* target, FreeReport* report) {
  for (CallRerun& call : report->calls) {
    for (const FreeRun& run : report->runs) {
      for (const FreeStep& step : run.steps) {
        if (step.recorded == call.event_index) call.samples.push_back(step.sample);
      }
    }
    CompareSamples(target, &call);
  }
  std::erase_if(report->calls, [](const CallRerun& call) { return call.samples.empty(); });
}

// What the tape has before the conversation, then the run: its answers, and its tools where they
// are events.
std::optional<schema::RecordedRun> Derive(const schema::RecordedRun& tape, const FreeRun& run,
                                          const FreeReport& report, const Derivation& derivation) {
  if (run.answered() == 0) return std::nullopt;
  const size_t start = report.path.calls().front();
  std::vector<Event> events(tape.events.begin(),
                            tape.events.begin() + static_cast<std::ptrdiff_t>(start));
  for (const FreeStep& step : run.steps) {
    if (!step.sample.answered()) continue;
    events.push_back(step.sample.event);
    events.back().scope = tape.events[step.recorded.value_or(start)].scope;
    for (const size_t tool : step.tools) {
      if (tape.events[tool].boundary == schema::Boundary::kModel) continue;
      events.push_back(tape.events[tool]);
    }
  }
  for (size_t i = 0; i < events.size(); ++i) {
    events[i].sequence = 2 * i + 1;
    if (events[i].end_state != schema::EndState::kIncomplete) events[i].end_sequence = 2 * i + 2;
  }
  return DeriveRun(tape, std::move(events), derivation);
}

}  // namespace

std::string_view ToString(FreeEnd end) {
  static constexpr std::string_view kNames[] = {"finished",     "record_ends", "tool_not_recorded",
                                                "tool_used_up", "steps_spent", "budget_spent",
                                                "interrupted",  "unanswered",  "not_continued"};
  return kNames[static_cast<size_t>(end)];
}

std::string_view ToString(FreeOutcome outcome) {
  static constexpr std::string_view kNames[] = {"same", "other", "undecided"};
  return kNames[static_cast<size_t>(outcome)];
}

int64_t FreeRun::answered() const {
  return std::count_if(steps.begin(), steps.end(),
                       [](const FreeStep& step) { return step.sample.answered(); });
}

int64_t FreeRun::tools_from_tape() const {
  int64_t count = 0;
  for (const FreeStep& step : steps) count += static_cast<int64_t>(step.tools.size());
  return count;
}

int64_t FreeReport::Count(FreeOutcome outcome) const {
  return std::count_if(runs.begin(), runs.end(),
                       [&](const FreeRun& run) { return run.outcome == outcome; });
}

const FreeRun& FreeReport::Telling() const {
  for (const FreeRun& run : runs) {
    if (run.outcome == FreeOutcome::kOther) return run;
  }
  for (const FreeRun& run : runs) {
    if (run.left_at) return run;
  }
  return runs.front();
}

absl::StatusOr<FreeReport> RerunFree(const schema::RecordedRun& tape, Target* target,
                                     const FreeRunOptions& options) {
  absl::StatusOr<RecordedPath> path = RecordedPath::Of(tape, options.rerun.step);
  if (!path.ok()) return path.status();
  const ToolTape tools(tape, *path);
  FreeReport report{.path = *std::move(path)};
  for (const size_t index : report.path.calls()) {
    report.calls.push_back(PrepareCall(tape.events[index], index, options.rerun.edits));
  }
  const FreeGround ground{
      .path = &report.path, .tape = &tools, .calls = &report.calls, .max_steps = options.max_steps};
  report.runs = RunAll(ground, target, options.rerun);
  MarkRepeats(&report.runs);
  GatherCalls(target, &report);
  report.abilities = target->abilities();
  Judge(&report);
  for (size_t i = 0; i < report.runs.size(); ++i) {
    const FreeRun& run = report.runs[i];
    std::optional<schema::RecordedRun> derived =
        Derive(tape, run, report,
               {.now = options.rerun.now,
                .repetition = i,
                .tags = {{"reenact.rerun", target->Name()},
                         {"reenact.free", std::string(ToString(run.end))},
                         {"reenact.verdict", std::string(ToString(report.verdict))}}});
    if (derived) report.derived.push_back(*std::move(derived));
  }
  return report;
}

}  // namespace reenact::rerun
