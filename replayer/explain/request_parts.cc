#include "replayer/explain/request_parts.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <set>
#include <utility>

#include "replayer/rerun/question.h"
#include "schema/canonical_json.h"
#include "schema/json_view.h"

namespace reenact::explain {
namespace {

using schema::JsonDocument;
using schema::JsonValue;

// Members that decide nothing of an answer's tokens.
constexpr std::array<std::string_view, 14> kMeaningless = {
    "user",     "metadata",        "stream",       "stream_options",   "store",
    "logprobs", "top_logprobs",    "service_tier", "return_token_ids", "safety_identifier",
    "include",  "prompt_logprobs", "timeout",      "prompt_cache_key"};
// What a program composes, whatever its type.
constexpr std::array<std::string_view, 6> kComposed = {"prompt", "system",   "instructions",
                                                       "input",  "messages", "tools"};

template <typename List>
bool IsIn(const List& list, std::string_view word) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

std::string Written(JsonValue value) {
  return value.is_present() ? std::string(value.raw()) : std::string();
}

void AddPart(std::string name, bool is_setting, JsonValue incident, JsonValue reference,
             std::vector<PartDifference>* parts) {
  if (schema::CanonicalJson(incident) == schema::CanonicalJson(reference)) return;
  parts->push_back({std::move(name), Written(incident), Written(reference), is_setting});
}

// The member and the element of "messages[3]"; no element in "temperature".
std::pair<std::string_view, std::optional<size_t>> Parse(std::string_view name) {
  const size_t bracket = name.find('[');
  if (bracket == std::string_view::npos) return {name, std::nullopt};
  size_t element = 0;
  std::from_chars(name.data() + bracket + 1, name.data() + name.size() - 1, element);
  return {name.substr(0, bracket), element};
}

}  // namespace

std::vector<PartDifference> DifferingParts(std::string_view incident, std::string_view reference) {
  std::vector<PartDifference> parts;
  const auto a = JsonDocument::Parse(incident);
  const auto b = JsonDocument::Parse(reference);
  if (a == nullptr || b == nullptr || !a->root().is_object() || !b->root().is_object())
    return parts;
  std::set<std::string> keys;
  for (const JsonValue root : {a->root(), b->root()}) {
    for (size_t i = 0; i < root.size(); ++i) keys.insert(root.KeyAt(i));
  }
  for (const std::string& key : keys) {
    if (IsIn(kMeaningless, key)) continue;
    const JsonValue x = a->root()[key];
    const JsonValue y = b->root()[key];
    const bool is_setting = !IsIn(kComposed, key);
    if (!x.is_array() || !y.is_array() || x.size() != y.size()) {
      AddPart(key, is_setting, x, y, &parts);
      continue;
    }
    for (size_t i = 0; i < x.size(); ++i) {
      AddPart(key + "[" + std::to_string(i) + "]", is_setting, x[i], y[i], &parts);
    }
  }
  return parts;
}

std::optional<std::string> WithPart(std::string_view request, std::string_view from,
                                    std::string_view name) {
  const auto source = JsonDocument::Parse(from);
  if (source == nullptr || !source->root().is_object()) return std::nullopt;
  const auto [key, element] = Parse(name);
  const JsonValue member = source->root()[key];
  const auto target = JsonDocument::Parse(request);
  if (target == nullptr) return std::nullopt;
  if (!element) {
    if (member.is_present()) return rerun::WithMember(request, key, member.raw());
    if (!target->root()[key].is_present()) return std::string(request);
    return rerun::WithMember(request, key, "null");
  }
  const JsonValue old = target->root()[key][*element];
  const JsonValue now = member[*element];
  if (!old.is_present() || !now.is_present()) return std::nullopt;
  std::string text(request);
  text.replace(old.begin_offset(), old.end_offset() - old.begin_offset(), now.raw());
  return text;
}

}  // namespace reenact::explain
