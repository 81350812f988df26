// How a path gives a dialect away. Gateways put prefixes before the paths of the providers, so that
// only endings count; and an ending that programs use for other things too ("/messages") needs a
// body that looks like a call of a model, or a provider who is known.

#include "schema/dialect.h"

#include <algorithm>
#include <array>

#include "schema/internal/provider_names.h"
#include "schema/internal/request_shape.h"
#include "schema/internal/text_classes.h"
#include "schema/internal/url_parts.h"

namespace reenact::schema {
namespace {

using internal::Evidence;
using internal::RequestShape;

struct Endpoint {
  std::string_view ending;  // Of the path; of Google's, the word after the last colon.
  ModelDialect dialect = ModelDialect::kUnknown;
  std::string_view name;                // CallKind::name.
  std::string_view provider;            // Whose it is where the host tells nothing.
  Evidence evidence = Evidence::kNone;  // Where it is not `provider` who is called.
};

constexpr std::string_view kCompatible = "openai_compatible";

// The first that fits.
constexpr std::array<Endpoint, 28> kEndpoints = {{
    {"/chat/completions", ModelDialect::kOpenAiChat, "chat", kCompatible},
    {"/v1/completions", ModelDialect::kOpenAiCompletions, "text_completion", kCompatible},
    {"/completions", ModelDialect::kOpenAiCompletions, "text_completion", kCompatible,
     Evidence::kBarePrompt},
    {"/v1/responses", ModelDialect::kOpenAiResponses, "responses", kCompatible},
    {"/responses", ModelDialect::kOpenAiResponses, "responses", "openai", Evidence::kModel},
    {"/v1/embeddings", ModelDialect::kOpenAiEmbeddings, "embeddings", kCompatible},
    {"/api/embeddings", ModelDialect::kOllama, "embeddings", "ollama", Evidence::kPrompt},
    {"/embeddings", ModelDialect::kOpenAiEmbeddings, "embeddings", kCompatible,
     Evidence::kBareInput},
    {"/v1/messages", ModelDialect::kAnthropicMessages, "messages", "anthropic"},
    {"/messages/count_tokens", ModelDialect::kAnthropicMessages, "count_tokens", "anthropic"},
    {"/messages", ModelDialect::kAnthropicMessages, "messages", "anthropic", Evidence::kMessages},
    {"/api/chat", ModelDialect::kOllama, "chat", "ollama", Evidence::kChat},
    {"/api/generate", ModelDialect::kOllama, "generate", "ollama", Evidence::kModel},
    {"/api/embed", ModelDialect::kOllama, "embeddings", "ollama", Evidence::kInput},
    {"/invoke", ModelDialect::kAnthropicMessages, "invoke_model", "bedrock", Evidence::kClaude},
    {"/invoke-with-response-stream", ModelDialect::kAnthropicMessages, "invoke_model", "bedrock",
     Evidence::kClaude},
    {"/invoke", ModelDialect::kUnknown, "invoke_model", "bedrock", Evidence::kProvider},
    {"/invoke-with-response-stream", ModelDialect::kUnknown, "invoke_model", "bedrock",
     Evidence::kProvider},
    {"/converse", ModelDialect::kUnknown, "converse", "bedrock", Evidence::kChat},
    {"/converse-stream", ModelDialect::kUnknown, "converse", "bedrock", Evidence::kChat},
    {"/v2/chat", ModelDialect::kUnknown, "chat", "cohere", Evidence::kChat},
    {"/v1/chat", ModelDialect::kUnknown, "chat", "cohere", Evidence::kMessages},
    {"/completion", ModelDialect::kUnknown, "completion", "llama.cpp", Evidence::kBarePrompt},
    {"/generate", ModelDialect::kUnknown, "generate", "sglang", Evidence::kSampling},
    {"/audio/transcriptions", ModelDialect::kUnknown, "transcription", "openai", Evidence::kModel},
    {"/audio/speech", ModelDialect::kUnknown, "speech", "openai", Evidence::kInput},
    {"/images/generations", ModelDialect::kUnknown, "image_generation", "openai",
     Evidence::kPrompt},
    {"/moderations", ModelDialect::kUnknown, "moderation", "openai", Evidence::kInput},
}};

// "…/models/gemini-2.5-flash:generateContent"
constexpr std::array<Endpoint, 10> kGoogleEndpoints = {{
    {"generateContent", ModelDialect::kGemini, "generate_content", "gemini"},
    {"streamGenerateContent", ModelDialect::kGemini, "generate_content", "gemini"},
    {"countTokens", ModelDialect::kGemini, "count_tokens", "gemini"},
    {"embedContent", ModelDialect::kGemini, "embeddings", "gemini"},
    {"batchEmbedContents", ModelDialect::kGemini, "embeddings", "gemini"},
    {"rawPredict", ModelDialect::kAnthropicMessages, "messages", "vertex", Evidence::kClaude},
    {"streamRawPredict", ModelDialect::kAnthropicMessages, "messages", "vertex", Evidence::kClaude},
    {"rawPredict", ModelDialect::kUnknown, "predict", "vertex"},
    {"streamRawPredict", ModelDialect::kUnknown, "predict", "vertex"},
    {"predict", ModelDialect::kUnknown, "predict", "vertex"},
}};

// A response that the provider keeps, read again: the second half of a call that went on in the
// background. Its path ends in an id.
constexpr Endpoint kStoredResponse = {"/responses/", ModelDialect::kOpenAiResponses,
                                      "retrieve_response", "openai"};

constexpr std::array<std::string_view, 4> kTelemetryEndings = {"/v1/traces", "/v1/traces/ingest",
                                                               "/v1/metrics", "/v1/logs"};

bool Fits(const Endpoint& endpoint, std::string_view provider, RequestShape* shape) {
  if (shape->Has(endpoint.evidence)) return true;
  const bool is_owner = provider == endpoint.provider && provider != kCompatible;
  return is_owner && endpoint.evidence != Evidence::kClaude;
}

bool IsStoredResponse(std::string_view path) {
  const size_t at = path.rfind('/');
  return at != std::string_view::npos && path.substr(0, at + 1).ends_with("/responses/") &&
         path.substr(at + 1).starts_with("resp");
}

// Null where `path` is nobody's. `provider` in lower case.
const Endpoint* FindEndpoint(std::string_view provider, std::string_view path,
                             RequestShape* shape) {
  for (const Endpoint& endpoint : kEndpoints) {
    if (path.ends_with(endpoint.ending) && Fits(endpoint, provider, shape)) return &endpoint;
  }
  const size_t colon = path.rfind(':');
  const size_t models = path.rfind("models/");
  if (colon != std::string_view::npos && models != std::string_view::npos && models < colon) {
    for (const Endpoint& endpoint : kGoogleEndpoints) {
      if (path.substr(colon + 1) == endpoint.ending && Fits(endpoint, provider, shape)) {
        return &endpoint;
      }
    }
  }
  return IsStoredResponse(path) ? &kStoredResponse : nullptr;
}

// The path's own word on whose it is, where it says more than its ending does.
std::string_view ProviderOfPath(std::string_view path) {
  if (path.find("/openai/deployments/") != std::string_view::npos) return "azure";
  if (path.find("/publishers/") != std::string_view::npos) return "vertex";
  return {};
}

std::string ProviderOf(const HttpCall& call) {
  if (internal::IsProviderName(call.route)) return internal::LowerCase(call.route);
  const std::string_view authority = internal::AuthorityOf(call.target);
  const std::string_view owner =
      internal::ProviderOfHost(call.host.empty() ? authority : call.host);
  return std::string(owner.empty() ? ProviderOfPath(internal::PathOf(call.target)) : owner);
}

CallKind ModelCall(const Endpoint& endpoint, std::string provider) {
  CallKind kind;
  kind.boundary = Boundary::kModel;
  kind.dialect = endpoint.dialect;
  kind.name = endpoint.name;
  kind.provider = provider.empty() ? std::string(endpoint.provider) : std::move(provider);
  return kind;
}

// A call of MCP is a message of JSON-RPC.
bool IsMcp(RequestShape* shape) {
  return shape->root()["jsonrpc"].is_string() && shape->root()["method"].is_string();
}

CallKind McpCall(JsonValue message) {
  CallKind kind;
  kind.provider = kMcp;
  kind.name = message["method"].AsString();
  const JsonValue tool = message["params"]["name"];
  if (kind.name == "tools/call" && tool.is_string()) kind.name = tool.AsString();
  return kind;
}

CallKind PlainCall(const HttpCall& call) {
  CallKind kind;
  kind.provider = kPlainHttp;
  std::string_view where = call.route;
  if (where.empty()) where = call.host;
  if (where.empty()) where = internal::AuthorityOf(call.target);
  kind.name = std::string(call.method) + " " +
              (call.route.empty() ? internal::LowerCase(where) : std::string(where));
  const std::string_view path = internal::PathOf(call.target);
  kind.is_telemetry = std::any_of(kTelemetryEndings.begin(), kTelemetryEndings.end(),
                                  [&](std::string_view end) { return path.ends_with(end); });
  return kind;
}

// A model behind a path of its own, told by its request.
constexpr Endpoint EndpointOfShape(ModelDialect dialect) {
  switch (dialect) {
    case ModelDialect::kOpenAiChat:
      return {"", dialect, "chat", kCompatible};
    case ModelDialect::kAnthropicMessages:
      return {"", dialect, "messages", "anthropic"};
    default:
      return {};
  }
}

}  // namespace

std::string_view ToString(ModelDialect dialect) {
  constexpr std::array<std::string_view, 8> kNames = {"unknown",
                                                      "openai_chat",
                                                      "openai_completions",
                                                      "openai_responses",
                                                      "openai_embeddings",
                                                      "anthropic_messages",
                                                      "gemini",
                                                      "ollama"};
  const auto index = static_cast<size_t>(dialect);
  return index < kNames.size() ? kNames[index] : kNames[0];
}

ModelDialect DialectOf(std::string_view provider, std::string_view endpoint,
                       std::string_view request) {
  const std::string who = internal::LowerCase(provider);
  RequestShape shape(request);
  const Endpoint* known = FindEndpoint(who, internal::PathOf(endpoint), &shape);
  return known != nullptr ? known->dialect : shape.DialectFor(who);
}

CallKind ClassifyCall(const HttpCall& call) {
  const std::string provider = ProviderOf(call);
  const std::string_view path = internal::PathOf(call.target);
  RequestShape shape(call.body);
  if (call.method == "POST") {
    const Endpoint* endpoint = FindEndpoint(provider, path, &shape);
    if (endpoint != nullptr && endpoint != &kStoredResponse) return ModelCall(*endpoint, provider);
    if (IsMcp(&shape)) return McpCall(shape.root());
    if (shape.Has(Evidence::kChat)) {
      const Endpoint by_shape = EndpointOfShape(shape.DialectFor(provider));
      if (!by_shape.name.empty()) return ModelCall(by_shape, provider);
    }
  } else if (call.method == "GET" && IsStoredResponse(path)) {
    return ModelCall(kStoredResponse, provider);
  }
  return PlainCall(call);
}

}  // namespace reenact::schema
