#include "schema/internal/request_shape.h"

#include <algorithm>

namespace reenact::schema::internal {

JsonValue RequestShape::root() {
  if (!parsed_) document_ = JsonDocument::Parse(body_);
  parsed_ = true;
  return document_ != nullptr ? document_->root() : JsonValue();
}

bool RequestShape::HasAny(std::initializer_list<std::string_view> keys) {
  return std::any_of(keys.begin(), keys.end(),
                     [&](std::string_view key) { return root()[key].is_present(); });
}

bool RequestShape::Has(Evidence evidence) {
  const bool has_model = root()["model"].is_string();
  const bool has_chat = has_model && root()["messages"].is_array();
  switch (evidence) {
    case Evidence::kNone:
      return true;
    case Evidence::kChat:
      return has_chat;
    case Evidence::kMessages:
      return has_chat && root()["max_tokens"].is_number();
    case Evidence::kPrompt:
      return has_model && HasAny({"prompt"});
    case Evidence::kBarePrompt:
      return HasAny({"prompt"});
    case Evidence::kInput:
      return has_model && HasAny({"input"});
    case Evidence::kBareInput:
      return HasAny({"input"});
    case Evidence::kModel:
      return has_model;
    case Evidence::kSampling:
      return HasAny({"text", "input_ids"}) && HasAny({"sampling_params"});
    case Evidence::kClaude:
      return HasAny({"anthropic_version"});
    case Evidence::kProvider:
      return false;
  }
  return false;
}

ModelDialect RequestShape::DialectFor(std::string_view provider) {
  const JsonValue request = root();
  if (HasAny({"anthropic_version"})) return ModelDialect::kAnthropicMessages;
  const bool has_messages = request["messages"].is_array();
  if (provider == "anthropic") {
    return has_messages ? ModelDialect::kAnthropicMessages : ModelDialect::kUnknown;
  }
  const bool has_contents = request["contents"].is_array() || request["contents"].is_object();
  if (provider == "gemini" || provider == "google" || provider == "vertex") {
    return has_contents ? ModelDialect::kGemini : ModelDialect::kUnknown;
  }
  if (provider == "bedrock" || provider == "aws" || provider == "cohere") {
    return ModelDialect::kUnknown;
  }
  if (has_messages) {
    // Ollama's shim speaks OpenAI's dialect; these members are of its own.
    if (provider == "ollama" && HasAny({"options", "keep_alive", "think"})) {
      return ModelDialect::kOllama;
    }
    // The system prompt stands beside the messages at Anthropic only.
    if (!HasAny({"system"})) return ModelDialect::kOpenAiChat;
    return HasAny({"max_tokens"}) ? ModelDialect::kAnthropicMessages : ModelDialect::kUnknown;
  }
  if (has_contents && request["contents"][0]["parts"].is_array()) return ModelDialect::kGemini;
  if (Has(Evidence::kPrompt)) {
    if (provider == "ollama") return ModelDialect::kOllama;
    // Images are asked for with a prompt too.
    return HasAny({"max_tokens", "logprobs", "echo", "suffix", "best_of", "stop"})
               ? ModelDialect::kOpenAiCompletions
               : ModelDialect::kUnknown;
  }
  if (!Has(Evidence::kInput)) return ModelDialect::kUnknown;
  if (HasAny({"instructions", "max_output_tokens", "reasoning", "include", "previous_response_id",
              "tools", "text"})) {
    return ModelDialect::kOpenAiResponses;
  }
  const bool embeds = request["model"].AsString().find("embed") != std::string::npos;
  return embeds || HasAny({"encoding_format", "dimensions"}) ? ModelDialect::kOpenAiEmbeddings
                                                             : ModelDialect::kUnknown;
}

}  // namespace reenact::schema::internal
