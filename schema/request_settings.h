// How a model was asked: the settings of one request that decide what can be said about its answer
// afterwards, whatever the dialect calls them. Derived from raw bytes; never stored as the record.

#ifndef REENACT_SCHEMA_REQUEST_SETTINGS_H_
#define REENACT_SCHEMA_REQUEST_SETTINGS_H_

#include <cstdint>
#include <optional>
#include <string_view>

namespace reenact::schema {

// What the request does not state is absent: a provider's default is not known here.
struct RequestSettings {
  bool readable = false;  // The request was a JSON object.
  std::optional<double> temperature;
  std::optional<double> top_p;
  std::optional<int64_t> top_k;
  std::optional<int64_t> seed;
  std::optional<int64_t> max_tokens;
  bool logprobs = false;  // Those of the answer's tokens were asked for.
};

// Never fails. Reads OpenAI's names at the top of the request, Gemini's in `generationConfig` and
// Ollama's in `options`.
// Cost: parses the request once.
RequestSettings SettingsOf(std::string_view request);

}  // namespace reenact::schema

#endif  // REENACT_SCHEMA_REQUEST_SETTINGS_H_
