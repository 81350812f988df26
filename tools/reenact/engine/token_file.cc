#include "tools/reenact/engine/token_file.h"

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "absl/status/status.h"

namespace reenact::tools {
namespace {

using Json = nlohmann::json;

bool ToToken(const Json& json, int32_t* token) {
  if (!json.is_number_unsigned()) return false;
  const auto number = json.get<uint64_t>();
  if (number > static_cast<uint64_t>(std::numeric_limits<int32_t>::max())) return false;
  *token = static_cast<int32_t>(number);
  return true;
}

absl::StatusOr<std::vector<int32_t>> ToTokens(const Json& json, const std::string& name) {
  std::vector<int32_t> tokens;
  bool fits = json.is_array();
  for (size_t i = 0; fits && i < json.size(); ++i) {
    fits = ToToken(json[i], &tokens.emplace_back());
  }
  if (!fits) return absl::InvalidArgumentError(name + " is not a list of token ids");
  return tokens;
}

// {"tokens": [{"token": 407, "bits": "0xbc8f7800"}, ...]}, as `generate` prints it.
absl::StatusOr<TokenSample> ToSample(const Json& json) {
  const absl::Status wrong = absl::InvalidArgumentError("a sample is not one of engine generate");
  if (!json.is_object() || !json.contains("tokens") || !json["tokens"].is_array()) return wrong;
  TokenSample sample;
  for (const Json& token : json["tokens"]) {
    const bool fits = token.is_object() && token.contains("token") && token.contains("bits") &&
                      token["bits"].is_string() &&
                      ToToken(token["token"], &sample.tokens.emplace_back());
    if (!fits) return wrong;
    sample.bits.push_back(token["bits"].get<std::string>());
  }
  return sample;
}

absl::StatusOr<TokenFile> FromObject(const Json& json) {
  TokenFile file;
  const absl::StatusOr<std::vector<int32_t>> prompt =
      ToTokens(json.value("prompt_tokens", Json()), "prompt_tokens");
  if (!prompt.ok()) return prompt.status();
  file.prompt = *prompt;
  if (json.contains("samples") && json["samples"].is_array()) {
    for (const Json& entry : json["samples"]) {
      absl::StatusOr<TokenSample> sample = ToSample(entry);
      if (!sample.ok()) return sample.status();
      file.samples.push_back(*std::move(sample));
    }
    const Json engine = json.value("engine", Json());
    if (engine.is_object() && engine.value("fingerprint", Json()).is_string()) {
      file.fingerprint = engine["fingerprint"].get<std::string>();
    }
    return file;
  }
  absl::StatusOr<std::vector<int32_t>> tokens = ToTokens(json.value("tokens", Json()), "tokens");
  if (!tokens.ok()) return tokens.status();
  file.samples.push_back({*std::move(tokens), {}});
  return file;
}

}  // namespace

absl::StatusOr<TokenFile> ReadTokenFile(std::string_view text) {
  const Json json = Json::parse(text, nullptr, false);
  if (json.is_object()) return FromObject(json);
  if (!json.is_array()) {
    return absl::InvalidArgumentError(
        "a list of token ids is wanted, or what engine generate --json printed");
  }
  absl::StatusOr<std::vector<int32_t>> tokens = ToTokens(json, "the file");
  if (!tokens.ok()) return tokens.status();
  if (tokens->size() < 2) {
    return absl::InvalidArgumentError("two tokens at least are wanted: the first has no score");
  }
  TokenFile file;
  file.prompt = {tokens->front()};
  file.samples.push_back({{tokens->begin() + 1, tokens->end()}, {}});
  return file;
}

}  // namespace reenact::tools
