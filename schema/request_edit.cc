#include "schema/request_edit.h"

#include <charconv>
#include <cstddef>
#include <memory>
#include <utility>

#include "schema/json_view.h"

namespace reenact::schema {
namespace {

// One step of a path: a member, or an element.
struct PathStep {
  std::string key;
  std::optional<size_t> index;
};

// "[3]" or "[\"odd key\"]", from the bracket on. Nothing: it is neither.
std::optional<PathStep> TakeBracket(std::string_view* path) {
  const size_t close = path->starts_with("[\"") ? path->find("\"]", 2) : path->find(']');
  if (close == std::string_view::npos) return std::nullopt;
  PathStep step;
  if (path->starts_with("[\"")) {
    const std::string text(path->substr(1, close));
    const std::unique_ptr<JsonDocument> key = JsonDocument::Parse(text);
    if (!key || !key->root().is_string()) return std::nullopt;
    step.key = key->root().AsString();
    path->remove_prefix(close + 2);
    return step;
  }
  size_t index = 0;
  const auto [end, error] = std::from_chars(path->data() + 1, path->data() + close, index);
  if (error != std::errc() || end != path->data() + close) return std::nullopt;
  step.index = index;
  path->remove_prefix(close + 1);
  return step;
}

// Empty: it is no path.
std::vector<PathStep> ParsePath(std::string_view path) {
  std::vector<PathStep> steps;
  while (!path.empty()) {
    if (path.front() == '[') {
      std::optional<PathStep> step = TakeBracket(&path);
      if (!step) return {};
      steps.push_back(*std::move(step));
      continue;
    }
    if (!steps.empty()) {
      if (path.front() != '.') return {};
      path.remove_prefix(1);
    }
    const std::string_view key = path.substr(0, path.find_first_of(".["));
    if (key.empty()) return {};
    steps.push_back({std::string(key), std::nullopt});
    path.remove_prefix(key.size());
  }
  return steps;
}

// The place of the last member of this key, which is the one that counts.
std::optional<size_t> PlaceOf(const JsonValue& object, std::string_view key) {
  for (size_t i = object.size(); i-- > 0;) {
    if (object.KeyAt(i) == key) return i;
  }
  return std::nullopt;
}

JsonValue Follow(const JsonValue& value, const PathStep& step) {
  if (!step.index) return value.is_object() ? value[std::string_view(step.key)] : JsonValue();
  return value.is_array() && *step.index < value.size() ? value[*step.index] : JsonValue();
}

// What holds the last step of the path.
JsonValue HolderOf(JsonValue value, const std::vector<PathStep>& steps) {
  for (size_t i = 0; i + 1 < steps.size(); ++i) value = Follow(value, steps[i]);
  return value;
}

std::string Replace(std::string_view text, size_t begin, size_t end, std::string_view with) {
  std::string out(text.substr(0, begin));
  out += with;
  out += text.substr(end);
  return out;
}

std::string WithoutMember(std::string_view json, const JsonValue& object, size_t place) {
  const auto begin_of_key = [&](size_t i) {
    return static_cast<size_t>(object.RawKeyAt(i).data() - json.data());
  };
  if (place > 0) {
    return Replace(json, object[place - 1].end_offset(), object[place].end_offset(), "");
  }
  const size_t end = object.size() > 1 ? begin_of_key(1) : object[0].end_offset();
  return Replace(json, begin_of_key(0), end, "");
}

// Nothing: it cannot be taken back.
std::optional<std::string> TakeBack(std::string_view json, const RequestEdit& edit) {
  if (edit.before) {
    RequestEdit back{.path = edit.path, .value = *edit.before};
    return ApplyEdit(json, &back);
  }
  const std::vector<PathStep> steps = ParsePath(edit.path);
  const std::unique_ptr<JsonDocument> document = JsonDocument::Parse(json);
  if (!document || steps.empty() || steps.back().index) return std::nullopt;
  const JsonValue object = HolderOf(document->root(), steps);
  if (!object.is_object()) return std::nullopt;
  const std::optional<size_t> place = PlaceOf(object, steps.back().key);
  return place ? std::optional(WithoutMember(json, object, *place)) : std::nullopt;
}

std::vector<RequestEdit> DecodeEdits(std::string_view text) {
  std::vector<RequestEdit> edits;
  const std::unique_ptr<JsonDocument> document = JsonDocument::Parse(text);
  if (!document) return edits;
  for (size_t i = 0; i < document->root().size(); ++i) {
    const JsonValue member = document->root()[i];
    RequestEdit edit{.path = member["path"].AsString(),
                     .value = std::string(member["value"].raw())};
    if (member["before"].is_present()) edit.before = std::string(member["before"].raw());
    edits.push_back(std::move(edit));
  }
  return edits;
}

}  // namespace

std::string QuotedJson(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    if (static_cast<unsigned char>(c) >= 0x20) {
      quoted += c;
      continue;
    }
    constexpr std::string_view kDigits = "0123456789abcdef";
    quoted += "\\u00";
    quoted += kDigits[static_cast<unsigned char>(c) >> 4];
    quoted += kDigits[static_cast<unsigned char>(c) & 15];
  }
  return quoted + '"';
}

std::optional<RequestEdit> ParseRequestEdit(std::string_view text) {
  const size_t equals = text.find('=');
  if (equals == std::string_view::npos) return std::nullopt;
  RequestEdit edit{.path = std::string(text.substr(0, equals)),
                   .value = std::string(text.substr(equals + 1))};
  if (ParsePath(edit.path).empty()) return std::nullopt;
  if (!JsonDocument::Parse(edit.value)) edit.value = QuotedJson(edit.value);
  return edit;
}

std::optional<std::string> ApplyEdit(std::string_view json, RequestEdit* edit) {
  const std::vector<PathStep> steps = ParsePath(edit->path);
  const std::unique_ptr<JsonDocument> document = JsonDocument::Parse(json);
  if (!document || steps.empty()) return std::nullopt;
  const JsonValue holder = HolderOf(document->root(), steps);
  const JsonValue old = Follow(holder, steps.back());
  if (old.is_present()) {
    edit->before = std::string(old.raw());
    return Replace(json, old.begin_offset(), old.end_offset(), edit->value);
  }
  if (!holder.is_object() || steps.back().index) return std::nullopt;
  edit->before.reset();
  const size_t close = holder.end_offset() - 1;
  const std::string comma = holder.size() > 0 ? "," : "";
  return Replace(json, close, close, comma + QuotedJson(steps.back().key) + ":" + edit->value);
}

std::string EncodeEdits(const std::vector<RequestEdit>& edits) {
  std::string out = "[";
  for (const RequestEdit& edit : edits) {
    if (out.size() > 1) out += ',';
    out += "{\"path\":" + QuotedJson(edit.path) + ",\"value\":" + edit.value;
    if (edit.before) out += ",\"before\":" + *edit.before;
    out += '}';
  }
  return out + ']';
}

std::string WithoutEdits(std::string_view request, const Tags& facts) {
  std::string original(request);
  for (const auto& [name, value] : facts) {
    if (name != kRequestEditsFact) continue;
    const std::vector<RequestEdit> edits = DecodeEdits(value);
    for (auto edit = edits.rbegin(); edit != edits.rend(); ++edit) {
      if (std::optional<std::string> back = TakeBack(original, *edit)) original = *std::move(back);
    }
  }
  return original;
}

}  // namespace reenact::schema
