// How a stream of chunks becomes one answer. The rules are those of the official accumulators
// (text is appended, names overwrite, tool calls go by index, choices interleave), except where
// those lose something: reasoning is appended too, and colliding tool calls stay apart.

#include <algorithm>
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

constexpr std::string_view kEndMark = "[DONE]";
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

class ChatStreamReader {
 public:
  ChatStreamReader(ModelView* view, AnomalyList* anomalies) : view_(view), anomalies_(anomalies) {}

  void Read(std::string_view bytes);
  ChatEnding Finish(int64_t choices_asked);

 private:
  // False when the record could not be read.
  bool AddRecord(const SseEvent& event, int64_t event_index);
  void AddChunk(JsonValue chunk);

  ModelView* view_;
  AnomalyList* anomalies_;
  std::map<int64_t, ChoiceBuilder> choices_;
  bool cut_inside_record_ = false;
};

void ChatStreamReader::Read(std::string_view bytes) {
  const SseStream stream = ParseSse(bytes);
  anomalies_->NoteAll(stream.anomalies);
  bool last_was_read = false;
  size_t read_end = 0;
  for (size_t i = 0; i < stream.events.size(); ++i) {
    const SseEvent& event = stream.events[i];
    if (view_->end_marker) {
      // Official clients stop at the end mark.
      anomalies_->Note("records_after_done");
      return;
    }
    last_was_read = AddRecord(event, static_cast<int64_t>(i));
    read_end = event.end_offset;
  }
  // A last record that lacks only its blank line is whole.
  const bool all_read = last_was_read && read_end == bytes.size();
  cut_inside_record_ = stream.missing_final_blank && !all_read;
}

bool ChatStreamReader::AddRecord(const SseEvent& event, int64_t event_index) {
  const bool is_error = event.event == "error";
  if (event.data.empty()) {
    if (is_error) internal::ReadError(JsonValue(), view_);
    return is_error;
  }
  if (std::string_view(event.data).starts_with(kEndMark)) {
    if (event.data != kEndMark) anomalies_->Note("done_suffix");
    view_->end_marker = true;
    return true;
  }
  const auto document = JsonDocument::Parse(event.data);
  if (!document) {
    anomalies_->NoteAt("json_error", "event", event_index);
    if (is_error && view_->error_kind.empty()) {
      view_->error_kind = "error";
      view_->error_message = event.data;
    }
    return is_error;
  }
  anomalies_->NoteAll(document->anomalies());
  const JsonValue root = document->root();
  if (internal::IsTruthy(root["error"])) {
    internal::ReadError(root["error"], view_);
  } else if (is_error || root["object"].AsString() == "error") {
    internal::ReadError(root, view_);
  } else if (!root.is_object()) {
    anomalies_->NoteAt("unexpected_record", "event", event_index);
  }
  AddChunk(root);
  return true;
}

void ChatStreamReader::AddChunk(JsonValue chunk) {
  const JsonValue choices = chunk["choices"];
  if (choices.is_array()) internal::ReadIdentity(chunk, view_, anomalies_);
  internal::ReadUsage(chunk["usage"], &view_->usage);
  for (size_t i = 0; i < choices.size(); ++i) {
    const JsonValue value = choices[i];
    const std::optional<int64_t> sent_index = value["index"].AsInt64();
    if (!sent_index) anomalies_->Note("choice_without_index");
    const int64_t index = sent_index.value_or(static_cast<int64_t>(i));
    if (choices_.size() >= kMaxChoices && !choices_.contains(index)) {
      anomalies_->Note("too_many_choices");
      continue;
    }
    choices_.try_emplace(index, index, view_->logprobs_asked).first->second.Add(value, anomalies_);
    if (internal::IsTruthy(value["error"])) internal::ReadError(value["error"], view_);
  }
}

ChatEnding ChatStreamReader::Finish(int64_t choices_asked) {
  bool all_finished = !choices_.empty();
  const bool failed = !view_->error_kind.empty();
  for (auto& [index, builder] : choices_) {
    if (!builder.finished()) {
      all_finished = false;
      if (view_->end_marker && !failed) anomalies_->NoteAt("finish_reason_absent", "choice", index);
    }
    view_->choices.push_back(builder.Take(anomalies_));
  }
  if (static_cast<int64_t>(choices_.size()) < choices_asked) all_finished = false;

  if (view_->end_marker) {
    if (choices_.empty() && !failed) anomalies_->Note("no_choices");
    return {.whole = true};
  }
  if (cut_inside_record_) return {.detail = "cut_inside_record"};
  if (all_finished) {
    anomalies_->Note("missing_done");
    return {.whole = true};
  }
  anomalies_->Note("no_terminal_event");
  return {.detail = "no_terminal_event"};
}

}  // namespace

ChatEnding ReadChatStream(std::string_view bytes, int64_t choices_asked, ModelView* view,
                          AnomalyList* anomalies) {
  ChatStreamReader reader(view, anomalies);
  reader.Read(bytes);
  return reader.Finish(choices_asked);
}

}  // namespace reenact::schema
