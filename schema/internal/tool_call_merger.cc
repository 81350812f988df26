#include "schema/internal/tool_call_merger.h"

#include <string>
#include <utility>

namespace reenact::schema::internal {
namespace {

std::string ReadArguments(JsonValue value, AnomalyList* anomalies) {
  if (value.is_string()) return value.AsString();
  if (!value.is_present() || value.is_null()) return {};
  anomalies->Note("arguments_not_string");
  return std::string(value.raw());
}

}  // namespace

ToolCall ReadToolCall(JsonValue value, AnomalyList* anomalies) {
  ToolCall call;
  call.index = value["index"].AsInt64();
  call.id = value["id"].AsString();
  call.type = value["type"].AsString();
  if (const JsonValue custom = value["custom"]; custom.is_object()) {
    if (call.type.empty()) call.type = "custom";
    call.name = custom["name"].AsString();
    call.arguments = ReadArguments(custom["input"], anomalies);
  } else {
    const JsonValue function = value["function"];
    call.name = function["name"].AsString();
    call.arguments = ReadArguments(function["arguments"], anomalies);
  }
  return call;
}

void ToolCallMerger::ArgumentsScanner::Feed(std::string_view text) {
  for (const char c : text) {
    if (in_string_) {
      if (escaped_) {
        escaped_ = false;
      } else if (c == '\\') {
        escaped_ = true;
      } else if (c == '"') {
        in_string_ = false;
      }
    } else if (c == '"') {
      in_string_ = true;
    } else if (c == '{' || c == '[') {
      begun_ = true;
      ++depth_;
    } else if (c == '}' || c == ']') {
      --depth_;
    }
  }
}

void ToolCallMerger::Add(JsonValue fragments, AnomalyList* anomalies) {
  for (size_t i = 0; i < fragments.size(); ++i) {
    AddFragment(ReadToolCall(fragments[i], anomalies), anomalies);
  }
}

void ToolCallMerger::AddFunctionCall(JsonValue fragment, AnomalyList* anomalies) {
  if (!fragment.is_object()) return;
  ToolCall call;
  call.type = "function";
  call.name = fragment["name"].AsString();
  call.arguments = ReadArguments(fragment["arguments"], anomalies);
  if (function_call_slot_) {
    Extend(&slots_[*function_call_slot_], call);
    return;
  }
  const size_t slot = slots_.size();
  Begin(std::move(call), anomalies);
  if (slots_.size() > slot) function_call_slot_ = slot;
}

std::vector<ToolCall> ToolCallMerger::Take() {
  std::vector<ToolCall> calls;
  calls.reserve(slots_.size());
  for (Slot& slot : slots_) calls.push_back(std::move(slot.call));
  slots_.clear();
  function_call_slot_.reset();
  return calls;
}

void ToolCallMerger::AddFragment(ToolCall fragment, AnomalyList* anomalies) {
  if (fragment.index) {
    AddIndexed(std::move(fragment), anomalies);
  } else {
    AddUnindexed(std::move(fragment), anomalies);
  }
}

void ToolCallMerger::AddIndexed(ToolCall fragment, AnomalyList* anomalies) {
  std::vector<Slot*> same_index;
  for (Slot& slot : slots_) {
    if (slot.call.index != fragment.index) continue;
    same_index.push_back(&slot);
    if (!fragment.id.empty() && slot.call.id == fragment.id) {
      Extend(&slot, fragment);
      return;
    }
  }
  if (same_index.empty()) {
    Begin(std::move(fragment), anomalies);
    return;
  }
  if (same_index.size() == 1 && Continues(*same_index[0], fragment)) {
    const std::string& known_id = same_index[0]->call.id;
    if (!known_id.empty() && !fragment.id.empty()) anomalies->Note("tool_call_id_changed");
    Extend(same_index[0], fragment);
    return;
  }
  if (fragment.name.empty()) {
    Continue(same_index, fragment, anomalies);
    return;
  }
  anomalies->Note("index_collision");
  Begin(std::move(fragment), anomalies);
}

bool ToolCallMerger::Continues(const Slot& slot, const ToolCall& fragment) {
  // Only a call that begins has a name; but some servers repeat it in every fragment.
  if (fragment.name.empty() || slot.call.name.empty()) return true;
  if (!fragment.id.empty()) return false;
  return fragment.arguments.empty() || !slot.scanner.whole();
}

void ToolCallMerger::AddUnindexed(ToolCall fragment, AnomalyList* anomalies) {
  anomalies->Note("tool_index_missing");
  if (!fragment.id.empty()) {
    for (Slot& slot : slots_) {
      if (slot.call.id != fragment.id) continue;
      Extend(&slot, fragment);
      return;
    }
  }
  if (slots_.empty() || !fragment.id.empty() || !fragment.name.empty()) {
    Begin(std::move(fragment), anomalies);
    return;
  }
  std::vector<Slot*> all;
  for (Slot& slot : slots_) all.push_back(&slot);
  Continue(all, fragment, anomalies);
}

void ToolCallMerger::Continue(const std::vector<Slot*>& candidates, const ToolCall& fragment,
                              AnomalyList* anomalies) {
  Slot* only = candidates.size() == 1 ? candidates.front() : nullptr;
  if (only == nullptr) {
    for (Slot* slot : candidates) {
      if (slot->scanner.whole()) continue;
      if (only != nullptr) {
        only = nullptr;
        break;
      }
      only = slot;
    }
  }
  if (only == nullptr) {
    anomalies->Note("ambiguous_tool_delta");
    return;
  }
  Extend(only, fragment);
}

void ToolCallMerger::Begin(ToolCall call, AnomalyList* anomalies) {
  if (slots_.size() >= kMaxToolCalls) {
    anomalies->Note("too_many_tool_calls");
    return;
  }
  Slot slot;
  slot.scanner.Feed(call.arguments);
  slot.call = std::move(call);
  slots_.push_back(std::move(slot));
}

void ToolCallMerger::Extend(Slot* slot, const ToolCall& fragment) {
  if (!fragment.id.empty()) slot->call.id = fragment.id;
  if (!fragment.type.empty()) slot->call.type = fragment.type;
  if (!fragment.name.empty()) slot->call.name = fragment.name;
  slot->call.arguments += fragment.arguments;
  slot->scanner.Feed(fragment.arguments);
}

}  // namespace reenact::schema::internal
