#include "schema/request_settings.h"

#include <initializer_list>

#include "schema/json_view.h"

namespace reenact::schema {
namespace {

using Names = std::initializer_list<std::string_view>;

// The first of these members that is a number.
JsonValue NumberOf(JsonValue object, Names names) {
  for (const std::string_view name : names) {
    if (const JsonValue value = object[name]; value.is_number()) return value;
  }
  return {};
}

// `logprobs` is a switch in chat requests, and a count (of which 0 asks for the chosen token's) in
// completions.
bool AsksForLogprobs(JsonValue root, JsonValue settings) {
  if (const JsonValue asked = root["logprobs"]; asked.is_present())
    return asked.is_bool() ? asked.AsBool() : asked.is_number();
  if (NumberOf(root, {"top_logprobs"}).is_present()) return true;
  if (settings["responseLogprobs"].AsBool()) return true;
  // OpenAI's responses name what they should include.
  const JsonValue include = root["include"];
  for (size_t i = 0; i < include.size() && include.is_array(); ++i) {
    if (include[i].AsString() == "message.output_text.logprobs") return true;
  }
  return false;
}

}  // namespace

RequestSettings SettingsOf(std::string_view request) {
  RequestSettings settings;
  const auto document = JsonDocument::Parse(request);
  if (document == nullptr || !document->root().is_object()) return settings;
  settings.readable = true;
  const JsonValue root = document->root();
  JsonValue place = root;
  for (const std::string_view name : {"generationConfig", "generation_config", "options"}) {
    if (root[name].is_object()) place = root[name];
  }
  settings.temperature = NumberOf(place, {"temperature"}).AsDouble();
  settings.top_p = NumberOf(place, {"top_p", "topP"}).AsDouble();
  settings.top_k = NumberOf(place, {"top_k", "topK"}).AsInt64();
  settings.seed = NumberOf(place, {"seed"}).AsInt64();
  settings.max_tokens = NumberOf(place, {"max_completion_tokens", "max_output_tokens", "max_tokens",
                                         "maxOutputTokens", "num_predict"})
                            .AsInt64();
  settings.logprobs = AsksForLogprobs(root, place);
  return settings;
}

}  // namespace reenact::schema
