#include "schema/openai_responses.h"

#include <array>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "schema/internal/chat_fields.h"
#include "schema/internal/response_items.h"

namespace reenact::schema {
namespace {

using internal::AnomalyList;
using internal::ItemText;
using internal::ResponseItem;

constexpr size_t kMaxItems = 4096;   // Of an answer.
constexpr size_t kMaxPieces = 4096;  // Of an item.

// Events that bring text piece by piece (".delta"), and once more as a whole (".done").
struct TextEvents {
  std::string_view prefix;
  ItemText kind;
  std::string_view index_name;
  std::string_view whole_name;
};

constexpr std::array<TextEvents, 8> kTextEvents = {{
    {"response.output_text", ItemText::kContent, "content_index", "text"},
    {"response.refusal", ItemText::kRefusal, "content_index", "refusal"},
    {"response.reasoning_text", ItemText::kReasoning, "content_index", "text"},
    {"response.reasoning_summary_text", ItemText::kSummary, "summary_index", "text"},
    {"response.function_call_arguments", ItemText::kArguments, "", "arguments"},
    {"response.mcp_call_arguments", ItemText::kArguments, "", "arguments"},
    {"response.custom_tool_call_input", ItemText::kArguments, "", "input"},
    {"response.code_interpreter_call_code", ItemText::kArguments, "", "code"},
}};

bool IsTerminal(std::string_view type) {
  return type == "response.completed" || type == "response.incomplete" ||
         type == "response.failed" || type == "response.cancelled";
}

bool HasEnded(std::string_view status) {
  return status != "in_progress" && status != "queued";
}

Choice ToChoice(std::map<int64_t, ResponseItem> items) {
  Choice choice;
  for (auto& [index, item] : items) internal::AppendItem(std::move(item), &choice);
  return choice;
}

class ResponsesReader final : public internal::AnswerReader {
 public:
  using AnswerReader::AnswerReader;

  void ReadDocument(JsonValue document) override;
  void AddRecord(JsonValue record, std::string_view event) override;
  bool FinishStream() override;

  std::string_view end_mark_name() const override { return {}; }

 private:
  // Who answered, how it stands, what it cost.
  void ReadResponse(JsonValue response);
  void ReadStatus(JsonValue response);
  std::map<int64_t, ResponseItem> ReadOutput(JsonValue output);
  void CheckSequence(JsonValue number);
  void AddItemEvent(std::string_view type, JsonValue record);
  // False where it is no event that brings text.
  bool AddTextEvent(std::string_view type, JsonValue record);
  void AddText(const TextEvents& form, bool is_whole, JsonValue record);
  ResponseItem* ItemAt(JsonValue record);
  void Finish(JsonValue response);
  void TakeChoice(Choice choice);

  std::map<int64_t, ResponseItem> items_;
  std::string finish_reason_;
  std::optional<int64_t> last_sequence_;
  bool begun_ = false;
  bool taken_ = false;
};

void ResponsesReader::ReadDocument(JsonValue document) {
  internal::ReadTopLevelError(document, view());
  ReadResponse(document);
  if (document["output"].is_array()) {
    TakeChoice(ToChoice(ReadOutput(document["output"])));
    if (finish_reason_.empty()) anomalies()->NoteAt("finish_reason_absent", "choice", 0);
  } else if (view()->error_kind.empty() && view()->http_status < 300) {
    anomalies()->Note("no_choices");
  }
}

void ResponsesReader::ReadResponse(JsonValue response) {
  if (!response.is_object()) return;
  internal::ReadIdentity(response, view(), anomalies());
  ReadStatus(response);
  internal::NoteFacts("conversation", response["conversation"]["id"], view());
  if (response["input_transformations"].size() > 0) anomalies()->Note("input_transformed");
  const JsonValue usage = response["usage"];
  if (!usage.is_object()) return;
  Usage* out = &view()->usage;
  out->prompt_tokens = usage["input_tokens"].AsInt64();
  out->completion_tokens = usage["output_tokens"].AsInt64();
  out->total_tokens = usage["total_tokens"].AsInt64();
  out->cached_tokens = usage["input_tokens_details"]["cached_tokens"].AsInt64();
  out->cache_write_tokens = usage["input_tokens_details"]["cache_write_tokens"].AsInt64();
  out->reasoning_tokens = usage["output_tokens_details"]["reasoning_tokens"].AsInt64();
}

void ResponsesReader::ReadStatus(JsonValue response) {
  const std::string status = response["status"].AsString();
  if (status.empty()) return;
  const std::string why = response["incomplete_details"]["reason"].AsString();
  finish_reason_ = !why.empty() ? why : status;
  if (status == "failed" && view()->error_kind.empty()) {
    internal::ReadError(response["error"], view());
    // A code tells more than the want of one.
    if (view()->error_kind == "error") view()->error_kind = "failed";
  }
}

std::map<int64_t, ResponseItem> ResponsesReader::ReadOutput(JsonValue output) {
  std::map<int64_t, ResponseItem> items;
  for (size_t i = 0; i < output.size() && i < kMaxItems; ++i) {
    items[static_cast<int64_t>(i)] = internal::ReadItem(output[i], view()->logprobs_asked);
  }
  if (output.size() > kMaxItems) anomalies()->Note("too_many_items");
  return items;
}

void ResponsesReader::AddRecord(JsonValue record, std::string_view event) {
  const std::string type = record["type"].AsString();
  if (event.empty()) anomalies()->Note("event_name_missing");
  CheckSequence(record["sequence_number"]);
  if (IsTerminal(type)) {
    Finish(record["response"]);
  } else if (type == "response.created" || type == "response.in_progress" ||
             type == "response.queued") {
    begun_ = true;
    ReadResponse(record["response"]);
  } else if (record["output_index"].is_present()) {
    if (!AddTextEvent(type, record)) AddItemEvent(type, record);
  } else if (type != "keepalive" && type != "error" && !type.starts_with("response.")) {
    anomalies()->Note("unknown_event");
  }
}

void ResponsesReader::CheckSequence(JsonValue number) {
  const std::optional<int64_t> sequence = number.AsInt64();
  if (!sequence) return;
  const bool follows = !last_sequence_ || *sequence - 1 == *last_sequence_;
  if (!follows) anomalies()->Note("sequence_gap");
  last_sequence_ = sequence;
}

void ResponsesReader::AddItemEvent(std::string_view type, JsonValue record) {
  const bool asked = view()->logprobs_asked;
  if (type == "response.output_item.added" || type == "response.output_item.done") {
    if (ResponseItem* item = ItemAt(record)) *item = internal::ReadItem(record["item"], asked);
  } else if (type == "response.content_part.added" || type == "response.content_part.done") {
    const int64_t index = record["content_index"].AsInt64().value_or(0);
    ResponseItem* item = ItemAt(record);
    if (item == nullptr || item->pieces.size() >= kMaxPieces) return;
    // Reasoning has parts too; its text comes in events of its own.
    if (record["part"]["type"].AsString() != "reasoning_text") {
      internal::SetPart(record["part"], index, asked, item);
    }
  }
}

bool ResponsesReader::AddTextEvent(std::string_view type, JsonValue record) {
  for (const TextEvents& form : kTextEvents) {
    if (!type.starts_with(form.prefix)) continue;
    const std::string_view step = type.substr(form.prefix.size());
    if (step != ".delta" && step != ".done") continue;
    AddText(form, step == ".done", record);
    return true;
  }
  return false;
}

void ResponsesReader::AddText(const TextEvents& form, bool is_whole, JsonValue record) {
  ResponseItem* item = ItemAt(record);
  if (item == nullptr) return;
  const JsonValue brought = record[is_whole ? form.whole_name : std::string_view("delta")];
  const std::string text = brought.is_string() ? brought.AsString() : std::string(brought.raw());
  if (form.kind == ItemText::kArguments) {
    std::string* arguments = &item->call.arguments;
    if (item->call.type.empty()) item->call.type = "function_call";
    if (is_whole) arguments->clear();
    *arguments += text;
    return;
  }
  const int64_t index = record[form.index_name].AsInt64().value_or(0);
  if (item->pieces.size() >= kMaxPieces && !item->pieces.contains({form.kind, index})) return;
  const bool asked = view()->logprobs_asked && form.kind == ItemText::kContent;
  internal::ItemPiece& piece = item->pieces.try_emplace({form.kind, index}, asked).first->second;
  if (!is_whole) {
    piece.text += text;
    piece.logprobs.Add({.logprobs = record, .list_name = "logprobs", .text = text});
    return;
  }
  piece.text = text;
  if (record["logprobs"].size() > 0) {
    piece.logprobs = internal::LogprobMerger(asked);
    piece.logprobs.Add({.logprobs = record, .list_name = "logprobs", .text = text});
  }
}

// Null where there are too many.
ResponseItem* ResponsesReader::ItemAt(JsonValue record) {
  begun_ = true;
  const int64_t index = record["output_index"].AsInt64().value_or(0);
  if (items_.size() >= kMaxItems && !items_.contains(index)) {
    anomalies()->Note("too_many_items");
    return nullptr;
  }
  return &items_[index];
}

// The last event holds the whole answer, which decides; some servers leave the output out of it.
void ResponsesReader::Finish(JsonValue response) {
  view()->end_marker = true;
  ReadResponse(response);
  Choice streamed = ToChoice(std::exchange(items_, {}));
  if (response["output"].size() == 0) return TakeChoice(std::move(streamed));
  Choice whole = ToChoice(ReadOutput(response["output"]));
  if (begun_ && whole.content != streamed.content) anomalies()->Note("final_text_differs");
  TakeChoice(std::move(whole));
}

void ResponsesReader::TakeChoice(Choice choice) {
  taken_ = true;
  choice.finish_reason = finish_reason_;
  if (!HasEnded(finish_reason_)) anomalies()->Note("response_not_finished");
  internal::NoteLogprobFindings(choice, anomalies());
  view()->choices.push_back(std::move(choice));
}

bool ResponsesReader::FinishStream() {
  if (taken_ || !begun_) return false;
  // "in_progress" is where it stood, not why it ended.
  finish_reason_.clear();
  if (view()->end_marker && view()->error_kind.empty()) {
    anomalies()->NoteAt("finish_reason_absent", "choice", 0);
  }
  TakeChoice(ToChoice(std::exchange(items_, {})));
  return false;
}

void ReadInputItem(JsonValue item, ModelView* view) {
  RequestMessage message;
  message.role = item["role"].AsString();
  const std::string type = item["type"].AsString();
  if (!message.role.empty()) {
    message.text = internal::ReadText(item["content"]);
  } else if (type.ends_with("_output")) {
    message.role = "tool";
    message.tool_call_id = item["call_id"].AsString();
    message.text = internal::ReadText(item["output"]);
  } else {
    ResponseItem read = internal::ReadItem(item, false);
    Choice said;
    internal::AppendItem(std::move(read), &said);
    message.role = said.tool_calls.empty() ? type : "assistant";
    message.text = said.reasoning;
    message.tool_calls = std::move(said.tool_calls);
  }
  view->messages.push_back(std::move(message));
}

}  // namespace

int64_t ReadResponsesRequest(JsonValue request, ModelView* view, AnomalyList* anomalies) {
  view->asked_model = request["model"].AsString();
  view->stream = request["stream"].AsBool();
  const JsonValue include = request["include"];
  for (size_t i = 0; i < include.size(); ++i) {
    if (include[i].AsString() == "message.output_text.logprobs") view->logprobs_asked = true;
  }
  for (const std::string_view kept : {"previous_response_id", "conversation", "prompt"}) {
    if (request[kept].is_present() && !request[kept].is_null()) {
      anomalies->Note("not_self_contained:" + std::string(kept));
    }
  }
  if (request["instructions"].is_string()) {
    view->messages.push_back({.role = "system", .text = request["instructions"].AsString()});
  }
  const JsonValue input = request["input"];
  if (input.is_string()) view->messages.push_back({.role = "user", .text = input.AsString()});
  for (size_t i = 0; input.is_array() && i < input.size(); ++i) ReadInputItem(input[i], view);
  return 1;
}

std::unique_ptr<internal::AnswerReader> MakeResponsesReader(int64_t /*choices_asked*/,
                                                            ModelView* view,
                                                            AnomalyList* anomalies) {
  return std::make_unique<ResponsesReader>(view, anomalies);
}

}  // namespace reenact::schema
