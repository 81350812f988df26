// A message is a list of blocks; a stream begins each one, adds to it by its index, and ends it.
// What is appended and what overwrites is the official accumulator's rule: text, thinking and the
// JSON of an input are appended, a signature is set, usage is a running total.

#include "schema/anthropic_messages.h"

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "schema/internal/chat_fields.h"
#include "schema/internal/surrogates.h"

namespace reenact::schema {
namespace {

using internal::AnomalyList;

constexpr size_t kMaxBlocks = 4096;

struct Block {
  std::string type;
  ToolCall call;
  std::string text;
  std::string thinking;
  std::string seal;  // A signature, or reasoning that came encrypted.
  std::string partial_input;
};

Block ReadBlock(JsonValue value) {
  Block block;
  block.type = value["type"].AsString();
  block.text = value["text"].AsString();
  block.thinking = value["thinking"].AsString();
  block.seal = value["signature"].AsString();
  if (block.type == "redacted_thinking") block.seal = value["data"].AsString();
  if (value["name"].is_string()) {
    block.call.type = block.type;
    block.call.id = value["id"].AsString();
    block.call.name = value["name"].AsString();
    block.call.arguments = std::string(value["input"].raw());
  }
  return block;
}

// Blocks that the view has a place for, or none for on purpose: results of the provider's own
// tools.
bool IsKnown(const Block& block) {
  return block.type == "text" || block.type == "thinking" || block.type == "redacted_thinking" ||
         !block.call.name.empty() || block.type.ends_with("_tool_result") ||
         block.type == "container_upload";
}

void AppendBlock(Block block, Choice* choice, AnomalyList* anomalies) {
  if (!IsKnown(block)) anomalies->Note("unknown_block");
  if (block.type == "text") {
    if (!choice->content) choice->content.emplace();
    *choice->content += block.text;
  }
  choice->reasoning += block.thinking;
  if (!block.seal.empty()) choice->sealed_reasoning.push_back(std::move(block.seal));
  if (block.call.name.empty()) return;
  if (!block.partial_input.empty()) {
    internal::JoinSurrogates(&block.partial_input);
    if (!JsonDocument::Parse(block.partial_input)) anomalies->Note("tool_input_invalid");
    block.call.arguments = std::move(block.partial_input);
  }
  choice->tool_calls.push_back(std::move(block.call));
}

// Totals as the provider counts them: its input is what came from no cache.
struct Totals {
  std::optional<int64_t> input;
  std::optional<int64_t> cache_write;
  std::optional<int64_t> cache_read;
  std::optional<int64_t> output;
  std::optional<int64_t> thinking;

  // A later value replaces an earlier one; null and absent leave it.
  void Read(JsonValue usage) {
    const auto take = [](JsonValue value, std::optional<int64_t>* total) {
      if (const std::optional<int64_t> count = value.AsInt64()) *total = count;
    };
    take(usage["input_tokens"], &input);
    take(usage["cache_creation_input_tokens"], &cache_write);
    take(usage["cache_read_input_tokens"], &cache_read);
    take(usage["output_tokens"], &output);
    take(usage["output_tokens_details"]["thinking_tokens"], &thinking);
  }

  Usage ToUsage() const {
    Usage usage;
    if (input) {
      // Of hostile numbers no sum.
      int64_t sum = *input;
      const bool overflows = __builtin_add_overflow(sum, cache_write.value_or(0), &sum) ||
                             __builtin_add_overflow(sum, cache_read.value_or(0), &sum);
      if (!overflows) usage.prompt_tokens = sum;
    }
    usage.completion_tokens = output;
    usage.cached_tokens = cache_read;
    usage.cache_write_tokens = cache_write;
    usage.reasoning_tokens = thinking;
    return usage;
  }
};

class AnthropicReader final : public internal::AnswerReader {
 public:
  using AnswerReader::AnswerReader;

  void ReadDocument(JsonValue document) override;
  void AddRecord(JsonValue record, std::string_view event) override;
  bool FinishStream() override;

  std::string_view end_mark_name() const override { return "message_stop"; }

 private:
  // A whole message, or the beginning of one.
  void ReadMessage(JsonValue message);
  void ReadEnd(JsonValue end);
  void ReadUsage(JsonValue usage);
  Block* BlockAt(JsonValue record);
  void AddDelta(JsonValue delta, Block* block);
  void TakeChoice();

  bool begun_ = false;
  std::map<int64_t, Block> blocks_;
  Choice choice_;
  Totals totals_;
};

void AnthropicReader::ReadDocument(JsonValue document) {
  internal::ReadTopLevelError(document, view());
  if (document["type"].AsString() == "error") internal::ReadError(document, view());
  const bool is_count = document["input_tokens"].is_number() && !document["content"].is_present();
  if (is_count) {
    view()->usage.prompt_tokens = document["input_tokens"].AsInt64();
    return;
  }
  if (document["content"].is_array()) {
    ReadMessage(document);
    if (choice_.finish_reason.empty()) {
      anomalies()->NoteAt("finish_reason_absent", "choice", 0);
    }
    TakeChoice();
  } else if (view()->error_kind.empty() && view()->http_status < 300) {
    anomalies()->Note("no_choices");
  }
}

void AnthropicReader::ReadMessage(JsonValue message) {
  if (begun_) anomalies()->Note("second_message_start");
  begun_ = true;
  internal::ReadIdentity(message, view(), anomalies());
  const JsonValue content = message["content"];
  for (size_t i = 0; i < content.size() && i < kMaxBlocks; ++i) {
    blocks_[static_cast<int64_t>(i)] = ReadBlock(content[i]);
  }
  ReadEnd(message);
  ReadUsage(message["usage"]);
}

void AnthropicReader::ReadEnd(JsonValue end) {
  if (end["stop_reason"].is_string()) choice_.finish_reason = end["stop_reason"].AsString();
  if (end["stop_sequence"].is_string()) choice_.stopped_at = end["stop_sequence"].AsString();
  const JsonValue details = end["stop_details"];
  if (details["type"].AsString() == "refusal") {
    choice_.refusal = details["explanation"].AsString();
    internal::NoteFacts("stop_details.category", details["category"], view());
  }
  internal::NoteFacts("container", end["container"]["id"], view());
  internal::NoteFacts("cache_miss_reason", end["diagnostics"]["cache_miss_reason"], view());
}

void AnthropicReader::ReadUsage(JsonValue usage) {
  if (!usage.is_object()) return;
  totals_.Read(usage);
  view()->usage = totals_.ToUsage();
  if (usage["service_tier"].is_string()) view()->service_tier = usage["service_tier"].AsString();
  for (const std::string_view name : {"speed", "inference_geo", "server_tool_use"}) {
    internal::NoteFacts(name, usage[name], view());
  }
}

void AnthropicReader::AddRecord(JsonValue record, std::string_view event) {
  const std::string type = record["type"].AsString();
  // The official client sees no record without the name of its event.
  if (event.empty()) anomalies()->Note("event_name_missing");
  if (type == "message_start") {
    ReadMessage(record["message"]);
  } else if (type == "content_block_start") {
    if (Block* block = BlockAt(record)) *block = ReadBlock(record["content_block"]);
  } else if (type == "content_block_delta") {
    if (Block* block = BlockAt(record)) AddDelta(record["delta"], block);
  } else if (type == "message_delta") {
    ReadEnd(record["delta"]);
    ReadUsage(record["usage"]);
  } else if (type == "message_stop") {
    view()->end_marker = true;
  } else if (type != "content_block_stop" && type != "ping" && type != "error") {
    anomalies()->Note("unknown_event");
  }
}

// Null where there is no telling which, or there are too many.
Block* AnthropicReader::BlockAt(JsonValue record) {
  const std::optional<int64_t> index = record["index"].AsInt64();
  const bool fits = index && (blocks_.size() < kMaxBlocks || blocks_.contains(*index));
  if (!fits) {
    anomalies()->Note("block_without_index");
    return nullptr;
  }
  begun_ = true;
  return &blocks_[*index];
}

void AnthropicReader::AddDelta(JsonValue delta, Block* block) {
  const std::string type = delta["type"].AsString();
  if (block->type.empty()) {
    anomalies()->Note("block_without_start");
    block->type = type == "text_delta" ? "text" : "thinking";
  }
  block->text += delta["text"].AsString();
  block->thinking += delta["thinking"].AsString();
  block->partial_input += delta["partial_json"].AsString();
  if (delta["signature"].is_string()) block->seal = delta["signature"].AsString();
  const bool is_known = type == "text_delta" || type == "thinking_delta" ||
                        type == "input_json_delta" || type == "signature_delta" ||
                        type == "citations_delta";
  if (!is_known) anomalies()->Note("unknown_delta");
}

void AnthropicReader::TakeChoice() {
  for (auto& [index, block] : blocks_) AppendBlock(std::move(block), &choice_, anomalies());
  if (choice_.content) internal::JoinSurrogates(&*choice_.content);
  internal::JoinSurrogates(&choice_.reasoning);
  view()->choices.push_back(std::move(choice_));
}

bool AnthropicReader::FinishStream() {
  if (!begun_) {
    if (view()->end_marker && view()->error_kind.empty()) anomalies()->Note("no_choices");
    return false;
  }
  const bool has_reason = !choice_.finish_reason.empty();
  if (!has_reason && view()->end_marker && view()->error_kind.empty()) {
    anomalies()->NoteAt("finish_reason_absent", "choice", 0);
  }
  TakeChoice();
  return has_reason;
}

// A result of a tool is a message of its own in the view: each belongs to another call.
void ReadMessageParts(JsonValue message, ModelView* view) {
  RequestMessage said;
  said.role = message["role"].AsString();
  const JsonValue content = message["content"];
  std::vector<RequestMessage> results;
  bool has_text = !content.is_array() || content.size() == 0;
  if (content.is_string()) said.text = content.AsString();
  for (size_t i = 0; content.is_array() && i < content.size(); ++i) {
    const JsonValue part = content[i];
    const std::string type = part["type"].AsString();
    if (type == "tool_result") {
      results.push_back({.role = said.role,
                         .text = internal::ReadText(part["content"]),
                         .tool_call_id = part["tool_use_id"].AsString()});
      continue;
    }
    has_text = true;
    Block block = ReadBlock(part);
    if (!block.call.name.empty()) {
      said.tool_calls.push_back(std::move(block.call));
      continue;
    }
    if (!said.text.empty()) said.text += '\n';
    said.text += type == "text" ? block.text : "[" + type + "]";
  }
  for (RequestMessage& result : results) view->messages.push_back(std::move(result));
  if (has_text) view->messages.push_back(std::move(said));
}

}  // namespace

int64_t ReadAnthropicRequest(JsonValue request, ModelView* view, AnomalyList* /*anomalies*/) {
  view->asked_model = request["model"].AsString();
  view->stream = request["stream"].AsBool();
  const JsonValue system = request["system"];
  if (system.is_string() || system.is_array()) {
    view->messages.push_back({.role = "system", .text = internal::ReadText(system)});
  }
  const JsonValue messages = request["messages"];
  for (size_t i = 0; i < messages.size(); ++i) ReadMessageParts(messages[i], view);
  return 1;
}

std::unique_ptr<internal::AnswerReader> MakeAnthropicReader(int64_t /*choices_asked*/,
                                                            ModelView* view,
                                                            AnomalyList* anomalies) {
  return std::make_unique<AnthropicReader>(view, anomalies);
}

}  // namespace reenact::schema
