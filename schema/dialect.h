// Which wire dialect a call speaks, and as what it is recorded: one predicate for those who record,
// those who serve a tape over HTTP and those who read, so that a call has the same address in all
// three. Pure; decides by the path where that is clear, else by the body.

#ifndef REENACT_SCHEMA_DIALECT_H_
#define REENACT_SCHEMA_DIALECT_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "schema/record.h"

namespace reenact::schema {

enum class ModelDialect : uint8_t {
  kUnknown,     // No model call, or one of which only status, model and bytes are known.
  kOpenAiChat,  // /v1/chat/completions, Azure's and those of vLLM, SGLang, llama.cpp, Ollama.
  kOpenAiCompletions,  // /v1/completions.
  kOpenAiResponses,    // /v1/responses.
  kOpenAiEmbeddings,   // /v1/embeddings.
  kAnthropicMessages,  // /v1/messages and its count_tokens; also on Bedrock and Vertex.
  kGemini,             // models/M:generateContent, :streamGenerateContent, :countTokens, …
  kOllama,             // /api/chat, /api/generate, /api/embed: lines of JSON.
};

std::string_view ToString(ModelDialect dialect);  // "openai_chat", "unknown"

// The dialect of a model call. The endpoint (a URL or a path) decides where it is one that is
// known; else the shape of the request, as far as it is not `provider` who tells. For `endpoint`
// and `provider` as an Event has them; both may be empty.
ModelDialect DialectOf(std::string_view provider, std::string_view endpoint,
                       std::string_view request);

// The provider of calls that are no model calls but plain HTTP, and of MCP's over HTTP. With them
// the URL's path and query are part of the request's key; see request_key.h.
inline constexpr std::string_view kPlainHttp = "http";
inline constexpr std::string_view kMcp = "mcp";

// An HTTP request as a proxy or a server sees it. All but `method` and `target` may be empty.
struct HttpCall {
  std::string_view method;  // "POST"
  std::string_view host;    // Of the upstream: "api.openai.com", "127.0.0.1:11434".
  std::string_view route;   // The name under which the upstream was configured: "openai", "orders".
  std::string_view target;  // Path and query, or a whole URL. The prefix of a route taken off.
  std::string_view body;    // Not encoded.
};

// How such a call is recorded.
struct CallKind {
  Boundary boundary = Boundary::kTool;  // kModel or kTool.
  ModelDialect dialect = ModelDialect::kUnknown;
  // Model calls: a route of a provider's name, else who owns the host, else what the path gives
  // away ("azure", "ollama"), else "openai_compatible". Others: kPlainHttp or kMcp.
  std::string provider;
  // Model calls: the endpoint's name, whoever serves it: "chat", "messages", "responses",
  // "text_completion", "embeddings", "generate_content", "count_tokens", … MCP: the tool's name for
  // tools/call, else the method. Plain HTTP: "GET orders", by the route or else by the host.
  std::string name;
  // An exporter's traffic (OTLP, agent traces): not the application's, and not to be recorded as if
  // it were.
  bool is_telemetry = false;
};

// Only requests that ask for an answer of a model are model calls: a list of models or a file
// upload at the same host is plain HTTP. DialectOf of the result's provider, the same target and
// body is the result's dialect.
// Cost: parses `body` only where the path alone does not decide.
CallKind ClassifyCall(const HttpCall& call);

}  // namespace reenact::schema

#endif  // REENACT_SCHEMA_DIALECT_H_
