#include "schema/openai_chat.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "schema/internal/chat_fields.h"
#include "schema/internal/logprob_reader.h"
#include "schema/internal/tool_call_merger.h"

namespace reenact::schema {
namespace {

using internal::AnomalyList;

// Every call of a whole message, in the order written; the form before tools last.
std::vector<ToolCall> ReadToolCalls(JsonValue message, AnomalyList* anomalies) {
  std::vector<ToolCall> calls;
  const JsonValue tool_calls = message["tool_calls"];
  for (size_t i = 0; i < tool_calls.size(); ++i) {
    calls.push_back(internal::ReadToolCall(tool_calls[i], anomalies));
  }
  if (message["function_call"].is_object()) {
    internal::ToolCallMerger merger;
    merger.AddFunctionCall(message["function_call"], anomalies);
    for (ToolCall& call : merger.Take()) calls.push_back(std::move(call));
  }
  return calls;
}

LogprobSeries ReadLogprobs(JsonValue choice, std::string_view list_name, std::string_view text,
                           bool asked) {
  internal::LogprobMerger merger(asked);
  internal::LogprobPiece piece{
      .logprobs = choice["logprobs"], .list_name = list_name, .text = text};
  // vLLM's ids are those of all generated tokens; they belong to the content's list.
  if (list_name == "content") piece.token_ids = choice["token_ids"];
  merger.Add(piece);
  return merger.Take();
}

Choice ReadChoice(JsonValue value, size_t position, bool logprobs_asked, AnomalyList* anomalies) {
  Choice choice;
  const std::optional<int64_t> index = value["index"].AsInt64();
  if (!index) anomalies->Note("choice_without_index");
  choice.index = index.value_or(static_cast<int64_t>(position));
  const JsonValue message = value["message"];
  const JsonValue content = message["content"];
  if (content.is_array()) anomalies->Note("content_parts");
  if (content.is_string() || content.is_array()) choice.content = internal::ReadText(content);
  choice.reasoning = internal::ReadReasoning(message);
  choice.refusal = message["refusal"].AsString();
  choice.tool_calls = ReadToolCalls(message, anomalies);
  choice.finish_reason = value["finish_reason"].AsString();
  choice.stopped_at = internal::ReadStop(value);
  internal::AppendTokenIds(value["token_ids"], &choice.token_ids);
  if (choice.finish_reason.empty()) {
    anomalies->NoteAt("finish_reason_absent", "choice", choice.index);
  }
  choice.logprobs =
      ReadLogprobs(value, "content", choice.content.value_or(std::string()), logprobs_asked);
  choice.refusal_logprobs = ReadLogprobs(value, "refusal", choice.refusal, logprobs_asked);
  internal::NoteLogprobFindings(choice, anomalies);
  return choice;
}

}  // namespace

int64_t ReadChatRequest(JsonValue root, ModelView* view, AnomalyList* anomalies) {
  view->asked_model = root["model"].AsString();
  view->stream = root["stream"].AsBool();
  view->logprobs_asked = root["logprobs"].AsBool();
  AnomalyList in_messages;
  const JsonValue messages = root["messages"];
  view->messages.reserve(messages.size());
  for (size_t i = 0; i < messages.size(); ++i) {
    const JsonValue value = messages[i];
    RequestMessage message;
    message.role = value["role"].AsString();
    message.text = internal::ReadText(value["content"]);
    message.tool_call_id = value["tool_call_id"].AsString();
    message.tool_calls = ReadToolCalls(value, &in_messages);
    view->messages.push_back(std::move(message));
  }
  for (const std::string& anomaly : in_messages.Take()) anomalies->Note("request:" + anomaly);
  return std::max<int64_t>(1, root["n"].AsInt64().value_or(1));
}

void ReadChatDocument(JsonValue document, ModelView* view, AnomalyList* anomalies) {
  // Google's compatible endpoint wraps its errors in a list.
  if (document.is_array() && internal::IsTruthy(document[0]["error"])) document = document[0];
  internal::ReadIdentity(document, view, anomalies);
  internal::ReadUsage(document["usage"], &view->usage);
  internal::ReadServerExtras(document, view, anomalies);
  const JsonValue choices = document["choices"];
  view->choices.reserve(choices.size());
  for (size_t i = 0; i < choices.size(); ++i) {
    view->choices.push_back(ReadChoice(choices[i], i, view->logprobs_asked, anomalies));
    if (internal::IsTruthy(choices[i]["error"])) internal::ReadError(choices[i]["error"], view);
  }
  std::stable_sort(view->choices.begin(), view->choices.end(),
                   [](const Choice& a, const Choice& b) { return a.index < b.index; });

  internal::ReadTopLevelError(document, view);
  const bool failed = !view->error_kind.empty() || view->http_status >= 300;
  if (choices.size() == 0 && !failed) anomalies->Note("no_choices");
}

}  // namespace reenact::schema
