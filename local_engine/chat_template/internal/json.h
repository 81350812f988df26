// JSON to values and back, as Python's json module reads and writes it.

#ifndef REENACT_LOCAL_ENGINE_CHAT_TEMPLATE_INTERNAL_JSON_H_
#define REENACT_LOCAL_ENGINE_CHAT_TEMPLATE_INTERNAL_JSON_H_

#include <optional>
#include <string>
#include <string_view>

#include "local_engine/chat_template/internal/value.h"

namespace reenact::local_engine {

// Keeps member order and integers of any size. Throws TemplateError for what is not JSON in UTF-8.
Value ParseJson(std::string_view json);

struct JsonStyle {
  bool ensure_ascii = false;
  bool sort_keys = false;
  std::optional<std::string> indent;  // One level of it; absent for one line.
  std::string item_separator = ", ";  // "," where indent is given and nothing else was asked for.
  std::string key_separator = ": ";
};

// Throws TemplateError for values that JSON has no form for.
std::string WriteJson(const Value& value, const JsonStyle& style);

}  // namespace reenact::local_engine

#endif  // REENACT_LOCAL_ENGINE_CHAT_TEMPLATE_INTERNAL_JSON_H_
