// One line of JSON for a whole answer, or one for every piece of it. Lines look alike: the last one
// says "done", and how much was counted.

#include "schema/ollama.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "schema/internal/chat_fields.h"
#include "schema/internal/logprob_reader.h"
#include "schema/internal/surrogates.h"
#include "schema/internal/tool_call_merger.h"

namespace reenact::schema {
namespace {

using internal::AnomalyList;

// Arguments are objects here, which is no oddity.
ToolCall ReadOllamaCall(JsonValue value) {
  AnomalyList objects;
  return internal::ReadToolCall(value, &objects);
}

std::string ReadThinking(JsonValue message) {
  const std::string thinking = message["thinking"].AsString();
  return thinking.empty() ? internal::ReadReasoning(message) : thinking;
}

class OllamaReader final : public internal::AnswerReader {
 public:
  OllamaReader(ModelView* view, AnomalyList* anomalies)
      : AnswerReader(view, anomalies), logprobs_(view->logprobs_asked) {}

  void ReadDocument(JsonValue document) override;
  void AddRecord(JsonValue record, std::string_view event) override;
  bool FinishStream() override;

  std::string_view end_mark_name() const override { return "done"; }

 private:
  void AddText(JsonValue record, JsonValue text);
  void ReadEnd(JsonValue record);
  void TakeChoice();

  bool begun_ = false;
  Choice choice_;
  internal::LogprobMerger logprobs_;
};

void OllamaReader::ReadDocument(JsonValue document) {
  internal::ReadTopLevelError(document, view());
  AddRecord(document, {});
  const JsonValue many = document["embeddings"];
  const JsonValue one = document["embedding"];
  if (many.is_array()) view()->facts.emplace_back("embeddings", std::to_string(many.size()));
  const JsonValue vector = one.is_array() ? one : many[0];
  if (vector.is_array()) {
    view()->facts.emplace_back("dimensions", std::to_string(vector.size()));
    ReadEnd(document);
    return;
  }
  const bool failed = !view()->error_kind.empty() || view()->http_status >= 300;
  if (begun_) {
    TakeChoice();
  } else if (!failed) {
    anomalies()->Note("no_choices");
  }
}

void OllamaReader::AddRecord(JsonValue record, std::string_view /*event*/) {
  const JsonValue message = record["message"];
  if (view()->served_model.empty()) view()->served_model = record["model"].AsString();
  if (message.is_object()) {
    AddText(record, message["content"]);
    choice_.reasoning += ReadThinking(message);
    const JsonValue calls = message["tool_calls"];
    for (size_t i = 0; i < calls.size(); ++i) {
      if (choice_.tool_calls.size() >= internal::kMaxToolCalls) {
        anomalies()->Note("too_many_tool_calls");
        break;
      }
      choice_.tool_calls.push_back(ReadOllamaCall(calls[i]));
    }
  } else if (record["response"].is_string()) {
    AddText(record, record["response"]);
    choice_.reasoning += ReadThinking(record);
  }
  if (record["done"].AsBool()) {
    ReadEnd(record);
    view()->end_marker = true;
  }
}

void OllamaReader::AddText(JsonValue record, JsonValue text) {
  begun_ = true;
  const std::string added = text.AsString();
  if (text.is_string()) {
    if (!choice_.content) choice_.content.emplace();
    *choice_.content += added;
  }
  logprobs_.Add({.logprobs = record, .list_name = "logprobs", .text = added});
}

void OllamaReader::ReadEnd(JsonValue record) {
  choice_.finish_reason = record["done_reason"].AsString();
  Usage* usage = &view()->usage;
  usage->prompt_tokens = record["prompt_eval_count"].AsInt64();
  usage->completion_tokens = record["eval_count"].AsInt64();
  for (const std::string_view name : {"total_duration", "load_duration", "prompt_eval_duration",
                                      "eval_duration", "remote_model", "remote_host"}) {
    internal::NoteFacts(name, record[name], view());
  }
}

void OllamaReader::TakeChoice() {
  choice_.logprobs = logprobs_.Take();
  internal::NoteLogprobFindings(choice_, anomalies());
  if (choice_.content) internal::JoinSurrogates(&*choice_.content);
  internal::JoinSurrogates(&choice_.reasoning);
  view()->choices.push_back(std::move(choice_));
}

bool OllamaReader::FinishStream() {
  const bool failed = !view()->error_kind.empty();
  const bool has_reason = !choice_.finish_reason.empty();
  if (begun_) {
    // Older servers give none.
    if (view()->end_marker && !has_reason && !failed) {
      anomalies()->NoteAt("finish_reason_absent", "choice", 0);
    }
    TakeChoice();
  } else if (view()->end_marker && !failed) {
    anomalies()->Note("no_choices");
  }
  return has_reason;
}

}  // namespace

int64_t ReadOllamaRequest(JsonValue request, ModelView* view, AnomalyList* /*anomalies*/) {
  view->asked_model = request["model"].AsString();
  view->logprobs_asked = request["logprobs"].AsBool();
  const JsonValue stream = request["stream"];
  const bool is_embedding = request["input"].is_present();
  view->stream = stream.is_bool() ? stream.AsBool() : !is_embedding;
  if (request["system"].is_string()) {
    view->messages.push_back({.role = "system", .text = request["system"].AsString()});
  }
  const JsonValue messages = request["messages"];
  for (size_t i = 0; i < messages.size(); ++i) {
    RequestMessage message;
    message.role = messages[i]["role"].AsString();
    message.text = internal::ReadText(messages[i]["content"]);
    message.tool_call_id = messages[i]["tool_call_id"].AsString();
    if (message.tool_call_id.empty()) message.tool_call_id = messages[i]["tool_name"].AsString();
    const JsonValue calls = messages[i]["tool_calls"];
    for (size_t k = 0; k < calls.size(); ++k)
      message.tool_calls.push_back(ReadOllamaCall(calls[k]));
    view->messages.push_back(std::move(message));
  }
  internal::ReadInputs(request["prompt"], "prompt", view);
  internal::ReadInputs(request["input"], "input", view);
  return 1;
}

std::unique_ptr<internal::AnswerReader> MakeOllamaReader(int64_t /*choices_asked*/, ModelView* view,
                                                         AnomalyList* anomalies) {
  return std::make_unique<OllamaReader>(view, anomalies);
}

}  // namespace reenact::schema
