// A recorded conversation whose model is left free: it is asked live with what it really answers,
// its tools answer from the tape, and nothing else is live. The program of the run does not run.
//
// As long as the model says what it said, the next request is the recorded one, which has in it
// whatever the program did beside. From the first answer that differs on, requests are composed:
// the last one, the answer, and what the tape has of the tools that it asks for.

#ifndef REENACT_REPLAYER_RERUN_FREE_RUN_H_
#define REENACT_REPLAYER_RERUN_FREE_RUN_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

#include "replayer/rerun/call_rerun.h"
#include "replayer/rerun/recorded_path.h"
#include "replayer/rerun/rerun_runner.h"
#include "replayer/rerun/target.h"
#include "schema/record.h"

namespace reenact::rerun {

struct FreeRunOptions {
  RerunOptions rerun;      // `count`: runs; `at_once`: of them; `step`: where they begin.
  int64_t max_steps = 32;  // Answers of the model in one run.
};

// Why a free run ended.
enum class FreeEnd : uint8_t {
  kFinished,         // The model asked for no tool.
  kRecordEnds,       // It did what the record ends with: a tool that no later request tells of.
  kToolNotRecorded,  // It asked for a tool, or with arguments, that nobody recorded.
  kToolUsedUp,       // The same, more often than it was recorded.
  kStepsSpent,       // max_steps.
  kBudgetSpent,      // The ledger's.
  kInterrupted,      // By the user.
  kUnanswered,       // The target gave no answer: the step's sample says how.
  kNotContinued,     // The dialect does not let a request be composed: see RequestAfter.
};
std::string_view ToString(FreeEnd end);  // "tool_not_recorded"

// One answer of the model.
struct FreeStep {
  std::optional<size_t> recorded;  // The recorded call whose request was sent: its event.
  Sample sample;
  std::string action;         // As ActionOf has it; empty: it was not answered.
  std::vector<size_t> tools;  // Events that hold what its tools answered: TapedAnswer::event.
};

// What a run did, against what the record did: each tool with its arguments, and the finish.
enum class FreeOutcome : uint8_t { kSame, kOther, kUndecided };
std::string_view ToString(FreeOutcome outcome);  // "same"

struct FreeRun {
  std::vector<FreeStep> steps;
  FreeEnd end = FreeEnd::kFinished;
  std::string end_detail;  // "issue_refund {\"amount_cents\":64500}"; may be empty.
  FreeOutcome outcome = FreeOutcome::kUndecided;
  // The first step whose answer is not the recorded one; nothing: all that were answered are.
  std::optional<size_t> left_at;
  bool left_by_action = false;  // By another tool, argument or finish, not by other words alone.
  TokenComparison left;         // There.

  int64_t answered() const;
  int64_t tools_from_tape() const;
};

struct FreeReport {
  RerunVerdict verdict = RerunVerdict::kInconclusive;
  std::string inconclusive_because;
  RecordedPath path;
  std::vector<CallRerun> calls;  // Recorded calls that were asked again, and all their answers.
  std::vector<FreeRun> runs;
  Abilities abilities;
  std::vector<schema::RecordedRun> derived;  // One for each run that was answered at all.

  int64_t Count(FreeOutcome outcome) const;
  // The run to tell of: the first with another outcome, else the first that left the record, else
  // the first.
  const FreeRun& Telling() const;
};

// Reproduced: every run came to the recorded outcome. Diverged: one came to another. Inconclusive:
// none did, and one ended before it was decided. Errors: those of RecordedPath::Of.
absl::StatusOr<FreeReport> RerunFree(const schema::RecordedRun& tape, Target* target,
                                     const FreeRunOptions& options);

}  // namespace reenact::rerun

#endif  // REENACT_REPLAYER_RERUN_FREE_RUN_H_
