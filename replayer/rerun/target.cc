#include "replayer/rerun/target.h"

namespace reenact::rerun {

std::string_view ToString(SampleStatus status) {
  switch (status) {
    case SampleStatus::kAnswered:
      return "answered";
    case SampleStatus::kTruncated:
      return "truncated";
    case SampleStatus::kRefused:
      return "refused";
    case SampleStatus::kRateLimited:
      return "rate_limited";
    case SampleStatus::kServerError:
      return "server_error";
    case SampleStatus::kNoAnswer:
      return "no_answer";
    case SampleStatus::kUnreachable:
      return "unreachable";
    case SampleStatus::kTimedOut:
      return "timed_out";
    case SampleStatus::kOverBudget:
      return "over_budget";
    case SampleStatus::kInterrupted:
      return "interrupted";
    case SampleStatus::kUnsupported:
      return "unsupported";
    case SampleStatus::kRepeated:
      return "repeated";
  }
  return "unknown";
}

std::string_view ToString(Ability ability) {
  switch (ability) {
    case Ability::kUnknown:
      return "unknown";
    case Ability::kShown:
      return "shown";
    case Ability::kAbsent:
      return "absent";
  }
  return "unknown";
}

ForcedScores Target::Force(const Question&, std::span<const int64_t>, std::span<const int64_t>) {
  return {.status = SampleStatus::kUnsupported, .detail = "the target forces no tokens"};
}

void ReadAnswer(Sample* sample) {
  sample->view = schema::ViewModelCall(sample->event);
  const schema::ModelView& view = sample->view;
  sample->cost.prompt_tokens = view.usage.prompt_tokens.value_or(0);
  sample->cost.completion_tokens = view.usage.completion_tokens.value_or(0);
  if (!view.usage.prompt_tokens && !view.usage.completion_tokens) {
    ++sample->cost.uncounted_answers;
  }
  switch (view.end_state) {
    case schema::EndState::kProviderError:
      sample->status = SampleStatus::kServerError;
      sample->detail = view.error_kind;
      return;
    case schema::EndState::kComplete:
      break;
    default:
      sample->status =
          sample->event.response.bytes.empty() ? SampleStatus::kNoAnswer : SampleStatus::kTruncated;
      sample->detail = schema::DescribeEnd(view.end_state, view.end_detail);
      return;
  }
  if (view.choices.empty()) {
    sample->status = SampleStatus::kNoAnswer;
    sample->detail = view.anomalies.empty() ? "no_choices" : view.anomalies.front();
    return;
  }
  sample->status = SampleStatus::kAnswered;
  sample->detail.clear();
}

namespace {

// What one answer says of an ability: shown once is shown.
void Learn(bool asked, bool had, Ability* ability) {
  if (had) {
    *ability = Ability::kShown;
  } else if (asked && *ability == Ability::kUnknown) {
    *ability = Ability::kAbsent;
  }
}

}  // namespace

void LearnAbilities(const Question& question, const schema::ModelView& view, Abilities* abilities) {
  bool logprobs = false;
  bool ids = false;
  for (const schema::Choice& choice : view.choices) {
    for (const schema::TokenLogprob& token : choice.logprobs.tokens) {
      logprobs = logprobs || !token.chosen.censored;
    }
    ids = ids || !choice.token_ids.empty();
  }
  const bool asked_ids = question.request.find("\"return_token_ids\"") != std::string::npos;
  Learn(view.logprobs_asked, logprobs, &abilities->logprobs);
  Learn(asked_ids, ids, &abilities->token_ids);
  Learn(true, view.fingerprint_presence == schema::Presence::kValue, &abilities->fingerprint);
}

}  // namespace reenact::rerun
