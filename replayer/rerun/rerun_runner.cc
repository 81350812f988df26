#include "replayer/rerun/rerun_runner.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/status/status.h"

#include "replayer/rerun/derived_run.h"

namespace reenact::rerun {
namespace {

using schema::Event;

absl::StatusOr<std::vector<size_t>> CallsToAsk(const schema::RecordedRun& tape,
                                               const std::optional<size_t>& step) {
  if (step) {
    if (*step >= tape.events.size()) {
      return absl::InvalidArgumentError("there is no event #" + std::to_string(*step) +
                                        ": the run has " + std::to_string(tape.events.size()));
    }
    if (!IsAskable(tape.events[*step])) {
      return absl::InvalidArgumentError("event #" + std::to_string(*step) +
                                        " is no model call that can be asked again");
    }
    return std::vector<size_t>{*step};
  }
  std::vector<size_t> calls;
  for (size_t i = 0; i < tape.events.size(); ++i) {
    if (IsAskable(tape.events[i])) calls.push_back(i);
  }
  if (calls.empty())
    return absl::NotFoundError("the run has no model call that can be asked again");
  return calls;
}

CallRerun RerunCall(const Event& event, size_t index, Target* target, const RerunOptions& options,
                    const std::function<void(int64_t)>& on_progress) {
  CallRerun call = PrepareCall(event, index, options.edits);
  call.samples = AskRepeatedly(
      target, call.question,
      {.count = options.count, .at_once = options.at_once, .on_progress = on_progress});
  CompareSamples(target, &call);
  return call;
}

std::string CallName(const CallRerun& call) {
  return "call #" + std::to_string(call.event_index);
}

void Judge(RerunReport* report) {
  bool any_compared = false;
  std::set<std::string> relaxed;
  report->level = RerunLevel::kR4;
  report->verdict = RerunVerdict::kReproduced;
  for (const CallRerun& call : report->calls) {
    for (const TokenComparison& comparison : call.comparisons) {
      any_compared = true;
      report->level = std::min(report->level, comparison.level());
      if (!comparison.relaxed_by.empty()) {
        relaxed.insert(CallName(call) + ": " + comparison.relaxed_by);
      }
      if (!comparison.equal) report->verdict = RerunVerdict::kDiverged;
    }
    if (!call.comparisons.empty() || !report->inconclusive_because.empty()) continue;
    report->inconclusive_because = CallName(call) + " has nothing to compare: ";
    if (!call.not_compared_because.empty()) {
      report->inconclusive_because += call.not_compared_because;
    } else if (call.samples.empty()) {
      report->inconclusive_because += "it was not asked";
    } else {
      const Sample& sample = call.samples.front();
      report->inconclusive_because += std::string(ToString(sample.status)) +
                                      (sample.detail.empty() ? "" : " (" + sample.detail + ")");
    }
  }
  report->relaxed_by.assign(relaxed.begin(), relaxed.end());
  if (!any_compared) report->level = RerunLevel::kR2;
  if (report->verdict == RerunVerdict::kDiverged) report->inconclusive_because.clear();
  if (!report->inconclusive_because.empty()) report->verdict = RerunVerdict::kInconclusive;
}

// The tape with the answers of one repetition; nothing where none of its questions was answered.
std::optional<schema::RecordedRun> Derive(const schema::RecordedRun& tape,
                                          const RerunReport& report, const Target& target,
                                          schema::Moment now, size_t repetition) {
  std::vector<Event> events = tape.events;
  bool any = false;
  for (const CallRerun& call : report.calls) {
    if (repetition >= call.samples.size() || !call.samples[repetition].answered()) continue;
    any = true;
    Event& event = events[call.event_index];
    const Event old = std::exchange(event, call.samples[repetition].event);
    event.sequence = old.sequence;
    event.end_sequence = old.end_sequence;
    event.scope = old.scope;
  }
  if (!any) return std::nullopt;
  return DeriveRun(tape, std::move(events),
                   {.now = now,
                    .repetition = repetition,
                    .tags = {{"reenact.rerun", target.Name()},
                             {"reenact.level", std::string(ToString(report.level))},
                             {"reenact.verdict", std::string(ToString(report.verdict))}}});
}

}  // namespace

std::string_view ToString(RerunVerdict verdict) {
  switch (verdict) {
    case RerunVerdict::kReproduced:
      return "reproduced";
    case RerunVerdict::kDiverged:
      return "diverged";
    case RerunVerdict::kInconclusive:
      return "inconclusive";
  }
  return "inconclusive";
}

absl::StatusOr<RerunReport> Rerun(const schema::RecordedRun& tape, Target* target,
                                  const RerunOptions& options) {
  const absl::StatusOr<std::vector<size_t>> calls = CallsToAsk(tape, options.step);
  if (!calls.ok()) return calls.status();
  RerunReport report;
  const int64_t total = static_cast<int64_t>(calls->size()) * options.count;
  int64_t before = 0;
  for (const size_t index : *calls) {
    const auto on_progress = [&](int64_t done) {
      if (options.on_progress) options.on_progress(before + done, total);
    };
    report.calls.push_back(RerunCall(tape.events[index], index, target, options, on_progress));
    before += options.count;
  }
  report.abilities = target->abilities();
  Judge(&report);
  for (int64_t i = 0; i < options.count; ++i) {
    std::optional<schema::RecordedRun> derived =
        Derive(tape, report, *target, options.now, static_cast<size_t>(i));
    if (derived) report.derived.push_back(*std::move(derived));
  }
  return report;
}

}  // namespace reenact::rerun
