#include "schema/internal/response_items.h"

#include <array>

#include "schema/internal/surrogates.h"

namespace reenact::schema::internal {
namespace {

// Calls, and what of them is the argument. Those of the provider's own tools have no name but their
// type.
struct CallForm {
  std::string_view type;
  std::string_view arguments;
};

constexpr std::array<CallForm, 11> kCalls = {{
    {"function_call", "arguments"},
    {"custom_tool_call", "input"},
    {"mcp_call", "arguments"},
    {"mcp_approval_request", "arguments"},
    {"web_search_call", "action"},
    {"file_search_call", "queries"},
    {"code_interpreter_call", "code"},
    {"computer_call", "action"},
    {"local_shell_call", "action"},
    {"shell_call", "action"},
    {"apply_patch_call", "operation"},
}};

ToolCall ReadCall(JsonValue item, const std::string& type) {
  ToolCall call;
  std::string_view arguments_name;
  bool is_call = type.ends_with("_call");
  for (const CallForm& form : kCalls) {
    if (form.type != type) continue;
    is_call = true;
    arguments_name = form.arguments;
  }
  if (!is_call) return call;
  call.type = type;
  // Results come back under the call's id, not under the item's.
  call.id = item["call_id"].is_string() ? item["call_id"].AsString() : item["id"].AsString();
  call.name = item["name"].is_string() ? item["name"].AsString() : type;
  const JsonValue arguments = item[arguments_name];
  if (!arguments.is_null()) {
    call.arguments = arguments.is_string() ? arguments.AsString() : std::string(arguments.raw());
  }
  return call;
}

void SetTexts(JsonValue list, ItemText kind, ResponseItem* item) {
  for (size_t i = 0; i < list.size(); ++i) {
    item->pieces.try_emplace({kind, static_cast<int64_t>(i)}, false).first->second.text =
        list[i]["text"].AsString();
  }
}

}  // namespace

void SetPart(JsonValue part, int64_t index, bool logprobs_asked, ResponseItem* item) {
  const bool is_refusal = part["type"].AsString() == "refusal";
  const ItemText kind = is_refusal ? ItemText::kRefusal : ItemText::kContent;
  ItemPiece piece(logprobs_asked && !is_refusal);
  piece.text = part[is_refusal ? "refusal" : "text"].AsString();
  if (!is_refusal) {
    piece.logprobs.Add({.logprobs = part, .list_name = "logprobs", .text = piece.text});
  }
  item->pieces.insert_or_assign({kind, index}, std::move(piece));
}

ResponseItem ReadItem(JsonValue value, bool logprobs_asked) {
  ResponseItem item;
  item.type = value["type"].AsString();
  item.sealed = value["encrypted_content"].AsString();
  const JsonValue content = value["content"];
  if (item.type == "message") {
    for (size_t i = 0; i < content.size(); ++i) {
      SetPart(content[i], static_cast<int64_t>(i), logprobs_asked, &item);
    }
  } else if (item.type == "reasoning") {
    SetTexts(content, ItemText::kReasoning, &item);
    SetTexts(value["summary"], ItemText::kSummary, &item);
  } else {
    item.call = ReadCall(value, item.type);
  }
  return item;
}

void AppendItem(ResponseItem item, Choice* choice) {
  for (auto& [place, piece] : item.pieces) {
    JoinSurrogates(&piece.text);
    switch (place.first) {
      case ItemText::kContent: {
        if (!choice->content) choice->content.emplace();
        *choice->content += piece.text;
        LogprobSeries series = piece.logprobs.Take();
        for (TokenLogprob& token : series.tokens)
          choice->logprobs.tokens.push_back(std::move(token));
        for (std::string& finding : series.anomalies) {
          choice->logprobs.anomalies.push_back(std::move(finding));
        }
        break;
      }
      case ItemText::kRefusal:
        choice->refusal += piece.text;
        break;
      case ItemText::kReasoning:
      case ItemText::kSummary:
        choice->reasoning += piece.text;
        break;
      case ItemText::kArguments:
        break;
    }
  }
  if (!item.sealed.empty()) choice->sealed_reasoning.push_back(std::move(item.sealed));
  if (item.call.type.empty()) return;
  JoinSurrogates(&item.call.arguments);
  choice->tool_calls.push_back(std::move(item.call));
}

}  // namespace reenact::schema::internal
