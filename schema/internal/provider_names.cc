#include "schema/internal/provider_names.h"

#include <algorithm>
#include <array>
#include <string>

#include "schema/internal/text_classes.h"

namespace reenact::schema::internal {
namespace {

struct HostRule {
  std::string_view ending;  // Of the host's name: the whole of it, or what follows a dot.
  std::string_view provider;
};

// Regional hosts ("eu.api.openai.com", "mtls.api.openai.com") end like the one they stand for.
constexpr std::array<HostRule, 20> kHosts = {{
    {"api.openai.com", "openai"},
    {"openai.azure.com", "azure"},
    {"cognitiveservices.azure.com", "azure"},
    {"services.ai.azure.com", "azure"},
    {"api.anthropic.com", "anthropic"},
    {"generativelanguage.googleapis.com", "gemini"},
    {"aiplatform.googleapis.com", "vertex"},
    {"amazonaws.com", "bedrock"},
    {"api.aws", "bedrock"},
    {"api.mistral.ai", "mistral"},
    {"openrouter.ai", "openrouter"},
    {"api.groq.com", "groq"},
    {"api.deepseek.com", "deepseek"},
    {"api.x.ai", "xai"},
    {"api.cohere.com", "cohere"},
    {"api.cohere.ai", "cohere"},
    {"api.perplexity.ai", "perplexity"},
    {"api.together.xyz", "together"},
    {"api.fireworks.ai", "fireworks"},
    {"ollama.com", "ollama"},
}};

constexpr std::string_view kOllamaPort = "11434";

constexpr std::array<std::string_view, 12> kOthers = {
    "google",    "vertexai", "azure_openai", "aws", "vllm",     "sglang",
    "llama.cpp", "llamacpp", "llama-server", "tgi", "lmstudio", "openai_compatible"};

bool EndsIn(std::string_view host, std::string_view ending) {
  if (!host.ends_with(ending)) return false;
  const size_t rest = host.size() - ending.size();
  // "us-central1-aiplatform.googleapis.com": Google puts the region before a dash.
  return rest == 0 || host[rest - 1] == '.' || host[rest - 1] == '-';
}

}  // namespace

std::string_view ProviderOfHost(std::string_view authority) {
  const std::string lower = LowerCase(authority);
  const std::string_view whole = lower;
  const size_t colon = whole.rfind(':');
  const std::string_view host = whole.substr(0, colon);
  for (const HostRule& rule : kHosts) {
    if (EndsIn(host, rule.ending)) return rule.provider;
  }
  const bool is_ollama = colon != std::string_view::npos && whole.substr(colon + 1) == kOllamaPort;
  return is_ollama ? "ollama" : "";
}

bool IsProviderName(std::string_view word) {
  const std::string lower = LowerCase(word);
  const auto is_provider = [&](const HostRule& rule) { return rule.provider == lower; };
  return std::any_of(kHosts.begin(), kHosts.end(), is_provider) ||
         std::find(kOthers.begin(), kOthers.end(), lower) != kOthers.end();
}

}  // namespace reenact::schema::internal
