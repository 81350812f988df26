#include "tools/engine_server/request_fields.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

namespace reenact::engine_server {
namespace {

using nlohmann::ordered_json;

std::string NumberText(double number) {
  return ordered_json(number).dump();
}

}  // namespace

RequestFields::RequestFields(const ordered_json& object, std::string prefix)
    : object_(object), prefix_(std::move(prefix)) {}

const ordered_json* RequestFields::Find(const std::string& name) {
  known_.insert(name);
  const auto found = object_.find(name);
  return found == object_.end() || found->is_null() ? nullptr : &*found;
}

std::optional<bool> RequestFields::Bool(const std::string& name) {
  const ordered_json* value = Find(name);
  if (value == nullptr) return std::nullopt;
  if (value->is_boolean()) return value->get<bool>();
  Refuse(name, "is not true or false");
  return std::nullopt;
}

std::optional<int64_t> RequestFields::Integer(const std::string& name, int64_t low, int64_t high) {
  const ordered_json* value = Find(name);
  if (value == nullptr) return std::nullopt;
  bool fits = value->is_number_integer();
  if (value->is_number_unsigned()) {
    fits = value->get<uint64_t>() <= static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
  }
  const int64_t number = fits ? value->get<int64_t>() : 0;
  if (fits && number >= low && number <= high) return number;
  Refuse(name, "is not an integer from " + std::to_string(low) + " to " + std::to_string(high));
  return std::nullopt;
}

std::optional<double> RequestFields::Number(const std::string& name, double low, double high) {
  const ordered_json* value = Find(name);
  if (value == nullptr) return std::nullopt;
  const double number = value->is_number() ? value->get<double>() : 0;
  if (value->is_number() && number >= low && number <= high) return number;
  Refuse(name, "is not a number from " + NumberText(low) + " to " + NumberText(high));
  return std::nullopt;
}

std::optional<std::string> RequestFields::Text(const std::string& name) {
  const ordered_json* value = Find(name);
  if (value == nullptr) return std::nullopt;
  if (value->is_string()) return value->get<std::string>();
  Refuse(name, "is not a string");
  return std::nullopt;
}

std::vector<std::string> RequestFields::Texts(const std::string& name, size_t most) {
  const ordered_json* value = Find(name);
  if (value == nullptr) return {};
  if (value->is_string()) return {value->get<std::string>()};
  bool fits = value->is_array() && value->size() <= most;
  std::vector<std::string> texts;
  if (fits) {
    for (const ordered_json& text : *value) {
      fits = fits && text.is_string();
      if (fits) texts.push_back(text.get<std::string>());
    }
  }
  if (fits) return texts;
  Refuse(name, "is not a string or a list of at most " + std::to_string(most) + " strings");
  return {};
}

void RequestFields::Ignore(std::initializer_list<const char*> names) {
  known_.insert(names.begin(), names.end());
}

void RequestFields::Refuse(const std::string& name, const std::string& what,
                           const std::string& code) {
  if (error_.has_value()) return;
  const std::string param = prefix_ + name;
  error_ = ApiError{400, param + " " + what, param, code};
}

std::optional<ApiError> RequestFields::Finish() {
  for (const auto& [name, value] : object_.items()) {
    if (known_.contains(name)) continue;
    Refuse(name, "is no field that this server knows", "unknown_parameter");
  }
  return error_;
}

}  // namespace reenact::engine_server
