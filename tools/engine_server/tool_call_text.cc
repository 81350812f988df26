#include "tools/engine_server/tool_call_text.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "tools/engine_server/json_bounds.h"

namespace reenact::engine_server {
namespace {

using nlohmann::ordered_json;

constexpr std::string_view kHermesBegin = "<tool_call>";
constexpr std::string_view kHermesEnd = "</tool_call>";
constexpr std::string_view kMistralBegin = "[TOOL_CALLS]";
constexpr std::string_view kMistralArguments = "[ARGS]";
constexpr std::string_view kPythonTag = "<|python_tag|>";
constexpr std::string_view kMarkers[] = {kHermesBegin, kHermesEnd, kMistralBegin, kMistralArguments,
                                         kPythonTag};
constexpr std::string_view kSpace = " \t\r\n";

std::string_view Trimmed(std::string_view text) {
  const size_t begin = text.find_first_not_of(kSpace);
  if (begin == std::string_view::npos) return "";
  return text.substr(begin, text.find_last_not_of(kSpace) - begin + 1);
}

// The end of the JSON object or array that begins at `begin`; npos when it does not end.
size_t EndOfJson(std::string_view text, size_t begin) {
  int depth = 0;
  for (size_t i = begin; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"') {
      for (++i; i < text.size() && text[i] != '"'; ++i) {
        if (text[i] == '\\') ++i;
      }
    } else if (c == '{' || c == '[') {
      ++depth;
    } else if (c == '}' || c == ']') {
      if (--depth == 0) return i + 1;
    }
  }
  return std::string_view::npos;
}

std::optional<ordered_json> ParseJson(std::string_view text) {
  if (!ExceededBound(text).empty()) return std::nullopt;
  ordered_json json = ordered_json::parse(text, nullptr, false);
  if (json.is_discarded()) return std::nullopt;
  return json;
}

std::optional<ToolCall> ToCall(const ordered_json& json) {
  if (!json.is_object() || !json.contains("name") || !json["name"].is_string()) return std::nullopt;
  ToolCall call{json["name"].get<std::string>(), "{}"};
  for (const char* key : {"arguments", "parameters"}) {
    const auto found = json.find(key);
    if (found == json.end()) continue;
    if (found->is_string()) {
      call.arguments = found->get<std::string>();
    } else if (found->is_object()) {
      call.arguments = found->dump();
    } else {
      return std::nullopt;
    }
    break;
  }
  return call;
}

// One object, or a list of them. Empty when anything in it is no call.
std::vector<ToolCall> CallsOfJson(std::string_view text) {
  const std::optional<ordered_json> json = ParseJson(text);
  if (!json.has_value()) return {};
  std::vector<ToolCall> calls;
  const auto add = [&calls](const ordered_json& object) {
    std::optional<ToolCall> call = ToCall(object);
    if (call.has_value()) calls.push_back(*std::move(call));
    return call.has_value();
  };
  if (!json->is_array()) {
    add(*json);
    return calls;
  }
  for (const ordered_json& object : *json) {
    if (!add(object)) return {};
  }
  return calls;
}

// Objects with semicolons between them.
std::vector<ToolCall> CallsOfLlama(std::string_view text) {
  std::vector<ToolCall> calls;
  for (text = Trimmed(text); !text.empty();) {
    const size_t end = EndOfJson(text, 0);
    if (text[0] != '{' || end == std::string_view::npos) return {};
    std::vector<ToolCall> call = CallsOfJson(text.substr(0, end));
    if (call.size() != 1) return {};
    calls.push_back(std::move(call[0]));
    text = Trimmed(text.substr(end));
    if (text.empty()) break;
    if (text[0] != ';') return {};
    text = Trimmed(text.substr(1));
  }
  return calls;
}

// After the marker: a list, or name and arguments, the latter any number of times.
std::vector<ToolCall> CallsOfMistral(std::string_view text) {
  std::vector<ToolCall> calls;
  for (text = Trimmed(text); !text.empty();) {
    if (text.starts_with(kMistralBegin)) text = Trimmed(text.substr(kMistralBegin.size()));
    const size_t open = text.find_first_of("{[");
    if (open == 0) {
      const size_t end = EndOfJson(text, 0);
      if (end == std::string_view::npos) return {};
      std::vector<ToolCall> listed = CallsOfJson(text.substr(0, end));
      if (listed.empty()) return {};
      std::move(listed.begin(), listed.end(), std::back_inserter(calls));
      text = Trimmed(text.substr(end));
      continue;
    }
    if (open == std::string_view::npos) return {};
    const std::string name(Trimmed(text.substr(0, open)));
    text = text.substr(open);
    if (text.starts_with(kMistralArguments)) text = Trimmed(text.substr(kMistralArguments.size()));
    const size_t end = text.starts_with("{") ? EndOfJson(text, 0) : std::string_view::npos;
    if (end == std::string_view::npos) return {};
    const std::optional<ordered_json> arguments = ParseJson(text.substr(0, end));
    if (!arguments.has_value()) return {};
    calls.push_back({name, arguments->dump()});
    text = Trimmed(text.substr(end));
  }
  return calls;
}

// Bytes at the end of `text` that may belong to a marker or to the white space before one.
size_t Undecided(std::string_view text) {
  size_t size = 0;
  for (const std::string_view marker : {kHermesBegin, kMistralBegin}) {
    for (size_t part = std::min(text.size(), marker.size() - 1); part > size; --part) {
      if (text.ends_with(marker.substr(0, part))) size = part;
    }
  }
  const std::string_view before = text.substr(0, text.size() - size);
  const size_t last = before.find_last_not_of(kSpace);
  return text.size() - (last == std::string_view::npos ? 0 : last + 1);
}

}  // namespace

bool ToolCallText::IsTool(const std::string& name) const {
  return std::find(tool_names_.begin(), tool_names_.end(), name) != tool_names_.end();
}

ToolCallText::Piece ToolCallText::Push(std::string_view text, std::string_view token_name) {
  Piece piece;
  if (tool_names_.empty()) {
    piece.content = text;
    return piece;
  }
  held_ += text;
  for (const std::string_view marker : kMarkers) {
    if (token_name == marker && !text.ends_with(marker)) held_ += marker;
  }
  Release(/*is_last=*/false, &piece);
  return piece;
}

ToolCallText::Piece ToolCallText::Finish() {
  Piece piece;
  Release(/*is_last=*/true, &piece);
  if (!held_.empty() && form_ != Form::kText) ReleaseWhole(&piece);
  return piece;
}

void ToolCallText::Release(bool is_last, Piece* piece) {
  for (bool more = true; more;) {
    switch (form_) {
      case Form::kText:
        more = ReleaseText(is_last, piece);
        break;
      case Form::kHermes:
        more = ReleaseHermes(is_last, piece);
        break;
      case Form::kMistral:
      case Form::kLlama:
        more = false;
    }
  }
}

// Whether the form changed, and there may be more to release.
bool ToolCallText::ReleaseText(bool is_last, Piece* piece) {
  if (!began_) {
    const std::string_view text = Trimmed(held_);
    const bool may_be_tag = !text.empty() && kPythonTag.starts_with(text) && !is_last;
    if (text.empty() || may_be_tag) {
      if (is_last) piece->content += std::exchange(held_, "");
      return false;
    }
    began_ = true;
    if (text[0] == '{' || text.starts_with(kPythonTag)) {
      form_ = Form::kLlama;
      return false;
    }
  }
  const size_t hermes = held_.find(kHermesBegin);
  const size_t mistral = held_.find(kMistralBegin);
  const size_t begin = std::min(hermes, mistral);
  std::string text = held_.substr(0, begin);
  const bool found = begin != std::string::npos;
  size_t keep = 0;
  if (found) {
    text.erase(text.find_last_not_of(kSpace) + 1);
  } else if (!is_last) {
    keep = Undecided(text);
    text.erase(text.size() - keep);
  }
  if (after_call_) text.erase(0, std::min(text.find_first_not_of(kSpace), text.size()));
  if (!text.empty()) after_call_ = false;
  piece->content += text;
  held_.erase(0, found ? begin : held_.size() - keep);
  if (found) form_ = begin == hermes ? Form::kHermes : Form::kMistral;
  return found;
}

bool ToolCallText::ReleaseHermes(bool is_last, Piece* piece) {
  const size_t end = held_.find(kHermesEnd);
  if (end == std::string::npos && !is_last) return false;
  // A model that ends its answer in place of the last marker has made its call.
  const size_t inner_end = std::min(end, held_.size());
  const size_t whole = end == std::string::npos ? held_.size() : end + kHermesEnd.size();
  const std::string_view inner =
      std::string_view(held_).substr(kHermesBegin.size(), inner_end - kHermesBegin.size());
  std::vector<ToolCall> calls = CallsOfJson(Trimmed(inner));
  if (calls.empty()) {
    piece->content += held_.substr(0, whole);
  } else {
    std::move(calls.begin(), calls.end(), std::back_inserter(piece->calls));
    after_call_ = true;
  }
  held_.erase(0, whole);
  form_ = Form::kText;
  return true;
}

void ToolCallText::ReleaseWhole(Piece* piece) {
  std::string_view text = Trimmed(held_);
  std::vector<ToolCall> calls;
  if (form_ == Form::kMistral) {
    calls = CallsOfMistral(text);
  } else {
    if (text.starts_with(kPythonTag)) text.remove_prefix(kPythonTag.size());
    calls = CallsOfLlama(text);
    const bool known = std::all_of(calls.begin(), calls.end(),
                                   [this](const ToolCall& call) { return IsTool(call.name); });
    if (!known) calls.clear();
  }
  if (calls.empty()) piece->content += held_;
  std::move(calls.begin(), calls.end(), std::back_inserter(piece->calls));
  held_.clear();
}

}  // namespace reenact::engine_server
