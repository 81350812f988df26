#include "tools/reenact/causes/scheduled_call.h"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>

#include "absl/status/status.h"

#include "replayer/rerun/question.h"
#include "tools/engine_server/api_request.h"
#include "tools/engine_server/prepare_prompt.h"
#include "tools/engine_server/tool_call_text.h"

namespace reenact::tools {
namespace {

using explain::ScheduledAnswer;
using local_engine::StockSchedule;

constexpr int32_t kAlternatives = 2;

// `serve --profile stock` gives it as a member of its choice, in a stream of the last one.
std::optional<StockSchedule> RecordedSchedule(std::string_view body) {
  constexpr std::string_view kMember = "\"schedule\":";
  const size_t at = body.find(kMember);
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view rest = body.substr(at + kMember.size());
  const size_t end = rest.find("]]");
  if (end == std::string_view::npos) return std::nullopt;
  auto schedule = local_engine::StockScheduleFromJson(rest.substr(0, end + 2));
  if (!schedule.ok() || schedule->empty()) return std::nullopt;
  return *std::move(schedule);
}

// Of a drawn token it may be negative.
double MarginOfScore(const local_engine::TokenScore& score) {
  for (const local_engine::TokenLogprob& other : score.top) {
    if (other.token == score.chosen.token) continue;
    return static_cast<double>(score.chosen.logprob) - static_cast<double>(other.logprob);
  }
  return INFINITY;
}

}  // namespace

RecordedAnswer ReadRecordedAnswer(const schema::Event& call) {
  RecordedAnswer recorded;
  const schema::ModelView view = schema::ViewModelCall(call);
  if (view.choices.empty()) return recorded;
  const schema::Choice& choice = view.choices.front();
  recorded.token_ids = choice.token_ids;
  recorded.content = choice.content.value_or("");
  recorded.tool_calls = choice.tool_calls;
  recorded.schedule = RecordedSchedule(call.response.bytes);
  return recorded;
}

absl::StatusOr<ScheduledCall> ScheduledCall::Make(local_engine::Engine* engine,
                                                  const schema::Event& call) {
  ScheduledCall made(engine);
  const rerun::Question question = rerun::QuestionOf(call, {});
  const bool chat = question.dialect == schema::ModelDialect::kOpenAiChat;
  if (!chat && question.dialect != schema::ModelDialect::kOpenAiCompletions) {
    return absl::InvalidArgumentError("the local engine does not speak " +
                                      std::string(ToString(question.dialect)));
  }
  engine_server::ApiRequest request;
  auto error = engine_server::ReadRequest(
      chat ? engine_server::Endpoint::kChat : engine_server::Endpoint::kCompletions,
      question.request, &request);
  if (!error) error = engine_server::PreparePrompt(*engine, &request);
  if (error) return absl::InvalidArgumentError(error->message);
  made.tool_names_ = std::move(request.tool_names);
  made.request_ = std::move(request.engine_request);
  made.request_.sample_count = 1;
  made.request_.logprobs = true;
  made.request_.top_logprobs = std::max(made.request_.top_logprobs, kAlternatives);
  if (!made.request_.seed) made.request_.seed = 0;
  return made;
}

absl::StatusOr<ScheduledAnswer> ScheduledCall::Answer(const StockSchedule& schedule) const {
  local_engine::Request request = request_;
  request.schedule = schedule;
  const auto id = engine_->Submit(std::move(request));
  if (!id.ok()) return id.status();
  auto answer = engine_->RunToEnd(*id);
  if (!answer.ok()) return answer.status();
  local_engine::Completion& completion = answer->completions.front();
  if (!completion.status.ok()) return completion.status;
  ScheduledAnswer scheduled;
  for (const local_engine::TokenScore& score : completion.scores) {
    scheduled.margins.push_back(MarginOfScore(score));
  }
  scheduled.tokens = std::move(completion.tokens);
  scheduled.text = TextOf(scheduled.tokens);
  return scheduled;
}

schema::ModelView ScheduledCall::ViewOf(const ScheduledAnswer& answer) const {
  engine_server::ToolCallText reader(tool_names_);
  engine_server::ToolCallText::Piece piece = reader.Push(answer.text, "");
  engine_server::ToolCallText::Piece rest = reader.Finish();
  schema::Choice choice;
  choice.content = piece.content + rest.content;
  for (const auto* calls : {&piece.calls, &rest.calls}) {
    for (const auto& call : *calls) {
      schema::ToolCall made;
      made.name = call.name;
      made.arguments = call.arguments;
      choice.tool_calls.push_back(std::move(made));
    }
  }
  schema::ModelView view;
  view.end_state = schema::EndState::kComplete;
  view.choices.push_back(std::move(choice));
  return view;
}

bool ScheduledCall::Is(const ScheduledAnswer& answer, const RecordedAnswer& recorded) const {
  if (!recorded.token_ids.empty()) {
    std::vector<int64_t> ids(answer.tokens.begin(), answer.tokens.end());
    if (ids.size() == recorded.token_ids.size() + 1 && IsEnd(answer.tokens.back())) ids.pop_back();
    return ids == recorded.token_ids;
  }
  const schema::ModelView view = ViewOf(answer);
  const schema::Choice& choice = view.choices.front();
  return choice.content == recorded.content &&
         std::equal(choice.tool_calls.begin(), choice.tool_calls.end(), recorded.tool_calls.begin(),
                    recorded.tool_calls.end(), [](const auto& now, const auto& then) {
                      return now.name == then.name && now.arguments == then.arguments;
                    });
}

bool ScheduledCall::IsEnd(int32_t token) const {
  const std::vector<int32_t>& ends = engine_->end_tokens();
  return std::find(ends.begin(), ends.end(), token) != ends.end();
}

std::string ScheduledCall::TextOf(const std::vector<int32_t>& tokens) const {
  std::string text;
  for (const int32_t token : tokens) {
    if (!IsEnd(token)) text += engine_->BytesOf(token);
  }
  return text;
}

}  // namespace reenact::tools
