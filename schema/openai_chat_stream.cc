// How a stream of chunks becomes one answer. The rules are those of the official accumulators
// (text is appended, names overwrite, tool calls go by index, choices interleave), except where
// those lose something: reasoning is appended too, and colliding tool calls stay apart.

#include <map>
#include <memory>
#include <utility>

#include "schema/internal/chat_fields.h"
#include "schema/internal/logprob_reader.h"
#include "schema/internal/surrogates.h"
#include "schema/internal/tool_call_merger.h"
#include "schema/openai_chat.h"

namespace reenact::schema {
namespace {

using internal::AnomalyList;

constexpr size_t kMaxChoices = 128;  // What OpenAI allows for "n".

class ChoiceBuilder {
 public:
  ChoiceBuilder(int64_t index, bool logprobs_asked)
      : content_logprobs_(logprobs_asked), refusal_logprobs_(logprobs_asked) {
    choice_.index = index;
  }

  bool finished() const { return !choice_.finish_reason.empty(); }

  void Add(JsonValue chunk_choice, AnomalyList* anomalies) {
    JsonValue delta = chunk_choice["delta"];
    if (!delta.is_object() && chunk_choice["message"].is_object()) {
      // A whole answer sent as a stream of one, or a repetition of what was streamed.
      anomalies->Note("message_in_stream");
      if (!has_text_) delta = chunk_choice["message"];
    }
    if (std::string reason = chunk_choice["finish_reason"].AsString(); !reason.empty()) {
      choice_.finish_reason = std::move(reason);
    }
    if (std::string stop = internal::ReadStop(chunk_choice); !stop.empty()) {
      choice_.stopped_at = std::move(stop);
    }
    internal::AppendTokenIds(chunk_choice["token_ids"], &choice_.token_ids);

    const JsonValue content = delta["content"];
    if (content.is_array()) anomalies->Note("content_parts");
    const std::string text = internal::ReadText(content);
    const std::string refusal = delta["refusal"].AsString();
    const std::string reasoning = internal::ReadReasoning(delta);
    const JsonValue tool_calls = delta["tool_calls"];
    if (content.is_string() || content.is_array()) {
      if (!choice_.content) choice_.content.emplace();
      *choice_.content += text;
    }
    choice_.refusal += refusal;
    choice_.reasoning += reasoning;
    tools_.Add(tool_calls, anomalies);
    tools_.AddFunctionCall(delta["function_call"], anomalies);
    has_text_ = has_text_ || !text.empty() || !refusal.empty() || !tools_.empty();

    content_logprobs_.Add({.logprobs = chunk_choice["logprobs"],
                           .list_name = "content",
                           .text = text,
                           .other_text_size = reasoning.size() + tool_calls.raw().size(),
                           .token_ids = chunk_choice["token_ids"]});
    refusal_logprobs_.Add(
        {.logprobs = chunk_choice["logprobs"], .list_name = "refusal", .text = refusal});
  }

  Choice Take(AnomalyList* anomalies) {
    choice_.tool_calls = tools_.Take();
    choice_.logprobs = content_logprobs_.Take();
    choice_.refusal_logprobs = refusal_logprobs_.Take();
    internal::NoteLogprobFindings(choice_, anomalies);
    // One character may arrive as two escapes in two deltas.
    if (choice_.content) internal::JoinSurrogates(&*choice_.content);
    internal::JoinSurrogates(&choice_.reasoning);
    internal::JoinSurrogates(&choice_.refusal);
    for (ToolCall& call : choice_.tool_calls) internal::JoinSurrogates(&call.arguments);
    return std::move(choice_);
  }

 private:
  Choice choice_;
  internal::ToolCallMerger tools_;
  internal::LogprobMerger content_logprobs_;
  internal::LogprobMerger refusal_logprobs_;
  bool has_text_ = false;
};

class ChatReader final : public internal::AnswerReader {
 public:
  ChatReader(int64_t choices_asked, ModelView* view, AnomalyList* anomalies)
      : AnswerReader(view, anomalies), choices_asked_(choices_asked) {}

  void ReadDocument(JsonValue document) override {
    ReadChatDocument(document, view(), anomalies());
  }

  void AddRecord(JsonValue chunk, std::string_view event) override;
  bool FinishStream() override;

  std::string_view end_mark_name() const override { return "done"; }

 private:
  int64_t choices_asked_;
  std::map<int64_t, ChoiceBuilder> choices_;
};

void ChatReader::AddRecord(JsonValue chunk, std::string_view /*event*/) {
  const JsonValue choices = chunk["choices"];
  if (choices.is_array()) internal::ReadIdentity(chunk, view(), anomalies());
  internal::ReadUsage(chunk["usage"], &view()->usage);
  internal::ReadServerExtras(chunk, view(), anomalies());
  for (size_t i = 0; i < choices.size(); ++i) {
    const JsonValue value = choices[i];
    const std::optional<int64_t> sent_index = value["index"].AsInt64();
    if (!sent_index) anomalies()->Note("choice_without_index");
    const int64_t index = sent_index.value_or(static_cast<int64_t>(i));
    if (choices_.size() >= kMaxChoices && !choices_.contains(index)) {
      anomalies()->Note("too_many_choices");
      continue;
    }
    choices_.try_emplace(index, index, view()->logprobs_asked)
        .first->second.Add(value, anomalies());
    if (internal::IsTruthy(value["error"])) internal::ReadError(value["error"], view());
  }
}

bool ChatReader::FinishStream() {
  bool all_finished = !choices_.empty();
  const bool failed = !view()->error_kind.empty();
  for (auto& [index, builder] : choices_) {
    if (!builder.finished()) {
      all_finished = false;
      if (view()->end_marker && !failed)
        anomalies()->NoteAt("finish_reason_absent", "choice", index);
    }
    view()->choices.push_back(builder.Take(anomalies()));
  }
  if (view()->end_marker && choices_.empty() && !failed) anomalies()->Note("no_choices");
  return all_finished && static_cast<int64_t>(choices_.size()) >= choices_asked_;
}

}  // namespace

std::unique_ptr<internal::AnswerReader> MakeChatReader(int64_t choices_asked, ModelView* view,
                                                       AnomalyList* anomalies) {
  return std::make_unique<ChatReader>(choices_asked, view, anomalies);
}

}  // namespace reenact::schema
