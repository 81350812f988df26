#include "replayer/rerun/call_rerun.h"

#include <cmath>
#include <optional>
#include <set>
#include <utility>

#include "schema/json_view.h"

namespace reenact::rerun {
namespace {

using schema::Event;

// Why the recorded answer is nothing to compare with; empty: it is.
std::string WhyNotCompared(const Event& event, const schema::ModelView& view) {
  if (event.response.cut) return "the record holds only part of the answer";
  if (view.end_state != schema::EndState::kComplete) {
    return "the recorded answer is none: " + schema::DescribeEnd(view.end_state, view.end_detail);
  }
  if (view.choices.empty()) return "the recorded answer says nothing";
  return "";
}

// Servers that make up a seed tell it (our own does): with it the same draws are made again.
std::optional<uint64_t> SeedOfAnswer(const schema::ModelView& recorded, const Event& event) {
  for (const auto& [name, value] : recorded.facts) {
    if (name != "seed") continue;
    const auto document = schema::JsonDocument::Parse(event.request.bytes);
    if (document == nullptr || document->root()["seed"].is_number()) return std::nullopt;
    const auto number = schema::JsonDocument::Parse(value);
    if (number == nullptr) return std::nullopt;
    return number->root().AsUint64();
  }
  return std::nullopt;
}

// Where the recorded token was not among the alternatives that the new answer lists, a target that
// forces tokens says how likely it was there: after the tokens that both answers share.
void WeighRecordedToken(const Question& question, const schema::ModelView& now, Target* target,
                        TokenComparison* comparison) {
  if (!comparison->parting) return;
  Parting& parting = *comparison->parting;
  if (parting.new_margin || !parting.token_index || !parting.recorded.id) return;
  if (now.prompt_token_ids.empty() || now.choices.empty()) return;
  const auto shared = static_cast<size_t>(*parting.token_index);
  std::vector<int64_t> tokens = now.choices.front().token_ids;
  if (tokens.size() < shared) return;
  tokens.resize(shared);
  tokens.push_back(*parting.recorded.id);
  const ForcedScores scores = target->Force(question, now.prompt_token_ids, tokens);
  if (scores.status != SampleStatus::kAnswered || scores.tokens.size() != tokens.size()) return;
  if (scores.tokens.back().chosen.censored) return;
  parting.recorded.new_logprob = scores.tokens.back().chosen.logprob;
  if (!parting.now.new_logprob) return;
  parting.new_margin = *parting.now.new_logprob - *parting.recorded.new_logprob;
  parting.near_tie = parting.near_tie || std::abs(*parting.new_margin) < schema::kNearTieNats;
}

}  // namespace

bool IsAskable(const Event& event) {
  if (event.boundary != schema::Boundary::kModel) return false;
  switch (schema::DialectOf(event.provider, event.endpoint, event.request.bytes)) {
    case schema::ModelDialect::kOpenAiChat:
    case schema::ModelDialect::kOpenAiCompletions:
    case schema::ModelDialect::kOpenAiResponses:
    case schema::ModelDialect::kAnthropicMessages:
      return true;
    default:
      return false;
  }
}

const TokenComparison* CallRerun::Telling() const {
  for (const TokenComparison& comparison : comparisons) {
    if (!comparison.equal) return &comparison;
  }
  return comparisons.empty() ? nullptr : &comparisons.front();
}

CallRerun PrepareCall(const Event& event, size_t index, RequestEdits edits) {
  CallRerun call;
  call.event_index = index;
  call.recorded = schema::ViewModelCall(event);
  call.not_compared_because = WhyNotCompared(event, call.recorded);
  if (!edits.seed) edits.seed = SeedOfAnswer(call.recorded, event);
  call.question = QuestionOf(event, edits);
  return call;
}

void CompareSamples(Target* target, CallRerun* call) {
  std::set<std::string> texts;
  for (const Sample* sample : Answered(call->samples)) {
    const bool is_new = texts.insert(AnswerText(sample->view)).second;
    if (!call->not_compared_because.empty()) continue;
    TokenComparison comparison = CompareAnswers(call->recorded, sample->view);
    if (is_new) WeighRecordedToken(call->question, sample->view, target, &comparison);
    call->agreed += comparison.equal;
    call->comparisons.push_back(std::move(comparison));
  }
  call->unique = static_cast<int64_t>(texts.size());
  call->broken_promises = FindBrokenPromises(call->question, call->samples);
}

}  // namespace reenact::rerun
