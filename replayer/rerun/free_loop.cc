#include "replayer/rerun/free_loop.h"

#include <utility>

#include "absl/status/statusor.h"

#include "replayer/rerun/action.h"

namespace reenact::rerun {
namespace {

FreeEnd EndOf(SampleStatus status) {
  switch (status) {
    case SampleStatus::kOverBudget:
      return FreeEnd::kBudgetSpent;
    case SampleStatus::kInterrupted:
      return FreeEnd::kInterrupted;
    default:
      return FreeEnd::kUnanswered;
  }
}

}  // namespace

bool FreeLoop::End(FreeEnd end, std::string detail) {
  run_.end = end;
  run_.end_detail = std::move(detail);
  return false;
}

bool FreeLoop::Leaves(const FreeStep& step, const CallRerun& recorded) {
  if (!recorded.not_compared_because.empty()) return true;
  TokenComparison comparison = CompareAnswers(recorded.recorded, step.sample.view);
  if (comparison.equal) return false;
  run_.left_at = run_.steps.size();
  run_.left_by_action = step.action != ActionOf(recorded.recorded);
  run_.left = std::move(comparison);
  return true;
}

std::optional<FreeLoop::Missing> FreeLoop::TakeTools(const schema::Choice& answer, FreeStep* step,
                                                     std::vector<ToolMessage>* messages) {
  for (const schema::ToolCall& call : answer.tool_calls) {
    const std::string arguments = CanonicalArguments(call.arguments);
    size_t recorded = 0;
    const TapedAnswer* taped =
        ground_.tape->Find(call, occurrences_[{call.name, arguments}]++, &recorded);
    if (taped == nullptr) {
      const std::string what = call.name + " " + arguments;
      if (recorded == 0) return Missing{FreeEnd::kToolNotRecorded, what};
      return Missing{FreeEnd::kToolUsedUp, what + ", recorded " + std::to_string(recorded) +
                                               (recorded == 1 ? " time" : " times")};
    }
    step->tools.push_back(taped->event);
    messages->push_back(taped->message);
    messages->back().call_id = call.id;
  }
  return std::nullopt;
}

bool FreeLoop::Compose(const schema::Choice& answer, const std::vector<ToolMessage>& tools) {
  absl::StatusOr<std::string> request =
      RequestAfter(question_.dialect, question_.request, answer, tools);
  if (!request.ok()) return End(FreeEnd::kNotContinued, std::string(request.status().message()));
  question_.request = *std::move(request);
  return true;
}

bool FreeLoop::Answered(FreeStep* step) {
  const std::vector<std::string>& recorded = ground_.path->actions();
  const size_t ordinal = run_.steps.size();
  did_the_same_ = did_the_same_ && ordinal < recorded.size() && step->action == recorded[ordinal];
  const bool record_ends = did_the_same_ && ordinal + 1 == recorded.size();
  if (on_path_ && Leaves(*step, (*ground_.calls)[*on_path_])) on_path_.reset();
  const schema::Choice& answer = step->sample.view.choices.front();
  const bool next_is_recorded = on_path_ && !record_ends;
  if (answer.tool_calls.empty() && !next_is_recorded) return End(FreeEnd::kFinished);
  if (record_ends) return End(FreeEnd::kRecordEnds);
  std::vector<ToolMessage> messages;
  const std::optional<Missing> missing = TakeTools(answer, step, &messages);
  if (next_is_recorded) {
    // The recorded request has in it what the tools said.
    ++*on_path_;
    return true;
  }
  if (missing) return End(missing->end, missing->what);
  return Compose(answer, messages);
}

FreeRun FreeLoop::Run() {
  for (;;) {
    FreeStep step;
    if (on_path_) {
      const CallRerun& call = (*ground_.calls)[*on_path_];
      question_ = call.question;
      step.recorded = call.event_index;
    }
    if (static_cast<int64_t>(run_.steps.size()) >= ground_.max_steps) {
      End(FreeEnd::kStepsSpent, std::to_string(ground_.max_steps) + " answers");
      return std::move(run_);
    }
    step.sample = target_->Ask(question_);
    if (ground_.on_answer) ground_.on_answer();
    bool goes_on = false;
    if (step.sample.answered()) {
      step.action = ActionOf(step.sample.view);
      goes_on = Answered(&step);
    } else {
      End(EndOf(step.sample.status),
          std::string(ToString(step.sample.status)) +
              (step.sample.detail.empty() ? "" : ": " + step.sample.detail));
    }
    run_.steps.push_back(std::move(step));
    if (!goes_on) return std::move(run_);
  }
}

}  // namespace reenact::rerun
