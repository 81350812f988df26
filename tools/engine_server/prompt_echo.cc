#include "tools/engine_server/prompt_echo.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "tools/engine_server/token_logprobs.h"

namespace reenact::engine_server {
namespace {

using nlohmann::ordered_json;

std::string PromptText(const ApiRequest& request, const local_engine::Engine& engine) {
  if (request.prompt_text.has_value()) return *request.prompt_text;
  std::string text;
  for (const int32_t token : request.engine_request.prompt) text += engine.BytesOf(token);
  return text;
}

// In characters, for each token; a token that the text does not go on with has no width.
std::vector<int64_t> OffsetsOf(const std::vector<int32_t>& tokens,
                               const local_engine::Engine& engine, const std::string& text) {
  std::vector<int64_t> offsets;
  size_t at = 0;
  int64_t characters = 0;
  for (const int32_t token : tokens) {
    offsets.push_back(characters);
    const std::string bytes = engine.BytesOf(token);
    if (text.compare(at, bytes.size(), bytes) != 0) continue;
    at += bytes.size();
    characters += CharacterCount(bytes);
  }
  return offsets;
}

ordered_json PromptLogprobs(const ApiRequest& request, const local_engine::Engine& engine,
                            const local_engine::Answer& answer, const std::string& text) {
  const std::vector<int32_t>& prompt = request.engine_request.prompt;
  const std::vector<int64_t> offsets = OffsetsOf(prompt, engine, text);
  ordered_json logprobs = EmptyCompletionLogprobs();
  for (size_t i = 0; i < prompt.size(); ++i) {
    int64_t offset = offsets[i];
    if (i > 0 && i <= answer.prompt_scores.size()) {
      AddCompletionLogprob(engine, answer.prompt_scores[i - 1], &offset, &logprobs);
      continue;
    }
    AddCompletionLogprob(engine, {.chosen = {prompt[i], 0}, .top = {}}, &offset, &logprobs);
    logprobs["token_logprobs"].back() = nullptr;
    logprobs["top_logprobs"].back() = nullptr;
  }
  return logprobs;
}

}  // namespace

void PutPromptBefore(const ApiRequest& request, const local_engine::Engine& engine,
                     const local_engine::Answer& answer, ordered_json* choice) {
  const std::string text = PromptText(request, engine);
  (*choice)["text"] = text + (*choice)["text"].get<std::string>();
  ordered_json& of_output = (*choice)["logprobs"];
  if (of_output.is_null()) return;
  ordered_json logprobs = PromptLogprobs(request, engine, answer, text);
  const int64_t shift = CharacterCount(text);
  for (ordered_json& offset : of_output["text_offset"]) offset = offset.get<int64_t>() + shift;
  for (auto& [name, list] : logprobs.items()) {
    for (ordered_json& entry : of_output[name]) list.push_back(std::move(entry));
  }
  of_output = std::move(logprobs);
}

}  // namespace reenact::engine_server
