// What a call is, by its path and its body: the one predicate of recorder, replay server and views.

#include "schema/dialect.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace reenact::schema {
namespace {

const std::string kChat = R"({"model":"m","messages":[]})";
const std::string kClaude =
    R"({"model":"claude-opus-5","max_tokens":9,"messages":[{"role":"user","content":"hi"}]})";

TEST(Dialect, EndpointDecidesThenTheShapeOfTheBody) {
  const auto kOpenAiChat = ModelDialect::kOpenAiChat;
  const auto kUnknown = ModelDialect::kUnknown;
  EXPECT_EQ(DialectOf("openai", "https://api.openai.com/v1/chat/completions", ""), kOpenAiChat);
  EXPECT_EQ(DialectOf("azure",
                      "https://r.openai.azure.com/openai/deployments/d/chat/completions"
                      "?api-version=2024-10-21",
                      "{}"),
            kOpenAiChat);
  EXPECT_EQ(DialectOf("openai", "https://api.openai.com/v1/responses", kChat),
            ModelDialect::kOpenAiResponses);
  EXPECT_EQ(DialectOf("openai", "https://api.openai.com/v1/completions", kChat),
            ModelDialect::kOpenAiCompletions);
  EXPECT_EQ(DialectOf("openai", "", kChat), kOpenAiChat);
  EXPECT_EQ(DialectOf("", "http://127.0.0.1:8000/", kChat), kOpenAiChat);
  EXPECT_EQ(DialectOf("openai", "", R"({"model":"m","input":"x"})"), kUnknown);
  EXPECT_EQ(DialectOf("openai", "", "not json"), kUnknown);
  EXPECT_EQ(DialectOf("cohere", "", kChat), kUnknown);
  EXPECT_EQ(DialectOf("", "", R"({"model":"m","system":"s","messages":[]})"), kUnknown);
}

// What an SDK's host recorded without a URL.
TEST(Dialect, ShapeTellsWhereThereIsNoEndpoint) {
  EXPECT_EQ(DialectOf("anthropic", "", kChat), ModelDialect::kAnthropicMessages);
  EXPECT_EQ(DialectOf("", "", R"({"model":"c","max_tokens":9,"system":"s","messages":[]})"),
            ModelDialect::kAnthropicMessages);
  EXPECT_EQ(DialectOf("bedrock", "", R"({"anthropic_version":"bedrock-2023-05-31"})"),
            ModelDialect::kAnthropicMessages);
  EXPECT_EQ(DialectOf("gemini", "", R"({"contents":[]})"), ModelDialect::kGemini);
  EXPECT_EQ(DialectOf("", "", R"({"contents":[{"parts":[{"text":"a"}]}]})"), ModelDialect::kGemini);
  EXPECT_EQ(DialectOf("ollama", "", R"({"model":"m","messages":[],"options":{"seed":1}})"),
            ModelDialect::kOllama);
  EXPECT_EQ(DialectOf("ollama", "", kChat), ModelDialect::kOpenAiChat);
  EXPECT_EQ(DialectOf("openai", "", R"({"model":"m","prompt":"a","max_tokens":1})"),
            ModelDialect::kOpenAiCompletions);
  EXPECT_EQ(DialectOf("openai", "", R"({"model":"m","input":"a","max_output_tokens":1})"),
            ModelDialect::kOpenAiResponses);
  EXPECT_EQ(DialectOf("openai", "", R"({"model":"text-embedding-3-small","input":"a"})"),
            ModelDialect::kOpenAiEmbeddings);
  // A picture is asked for with a prompt as well.
  EXPECT_EQ(DialectOf("openai", "", R"({"model":"gpt-image-1","prompt":"a cat","size":"1x1"})"),
            ModelDialect::kUnknown);
}

struct CallRow {
  HttpCall call;
  ModelDialect dialect;
  std::string provider;
  std::string name;
};

std::string Say(const CallKind& kind) {
  return std::string(ToString(kind.boundary)) + " " + std::string(ToString(kind.dialect)) + " by " +
         kind.provider + ": " + kind.name;
}

std::vector<CallRow> ModelCalls() {
  using D = ModelDialect;
  return {
      {{"POST", "api.openai.com", "", "/v1/chat/completions", kChat},
       D::kOpenAiChat,
       "openai",
       "chat"},
      {{"POST", "eu.api.openai.com", "", "/v1/responses", R"({"model":"m","input":"a"})"},
       D::kOpenAiResponses,
       "openai",
       "responses"},
      {{"POST", "127.0.0.1:9001", "openai", "/v1/embeddings", R"({"model":"m","input":"a"})"},
       D::kOpenAiEmbeddings,
       "openai",
       "embeddings"},
      {{"POST", "127.0.0.1:8000", "", "/v1/completions", R"({"model":"m","prompt":"a"})"},
       D::kOpenAiCompletions,
       "openai_compatible",
       "text_completion"},
      {{"POST", "r.openai.azure.com", "",
        "/openai/deployments/refunds/chat/completions?api-version=2024-10-21",
        R"({"messages":[]})"},
       D::kOpenAiChat,
       "azure",
       "chat"},
      {{"POST", "127.0.0.1:9002", "", "/openai/deployments/refunds/embeddings?api-version=1",
        R"({"input":"a"})"},
       D::kOpenAiEmbeddings,
       "azure",
       "embeddings"},
      {{"POST", "127.0.0.1:9002", "", "/openai/v1/responses", R"({"model":"m","input":"a"})"},
       D::kOpenAiResponses,
       "openai_compatible",
       "responses"},
      {{"POST", "api.anthropic.com", "", "/v1/messages?beta=true", kClaude},
       D::kAnthropicMessages,
       "anthropic",
       "messages"},
      {{"POST", "127.0.0.1:1", "", "/v1/messages/count_tokens", kClaude},
       D::kAnthropicMessages,
       "anthropic",
       "count_tokens"},
      {{"POST", "generativelanguage.googleapis.com", "",
        "/v1beta/models/gemini-2.5-flash:generateContent?key=k", R"({"contents":[]})"},
       D::kGemini,
       "gemini",
       "generate_content"},
      {{"POST", "127.0.0.1:2", "", "/v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse",
        R"({"contents":[]})"},
       D::kGemini,
       "gemini",
       "generate_content"},
      {{"POST", "us-central1-aiplatform.googleapis.com", "",
        "/v1/projects/p/locations/l/publishers/google/models/gemini-2.0-flash-001:generateContent",
        R"({"contents":[]})"},
       D::kGemini,
       "vertex",
       "generate_content"},
      {{"POST", "us-east5-aiplatform.googleapis.com", "",
        "/v1/projects/p/locations/l/publishers/anthropic/models/claude-opus-5:streamRawPredict",
        R"({"anthropic_version":"vertex-2023-10-16","messages":[]})"},
       D::kAnthropicMessages,
       "vertex",
       "messages"},
      {{"POST", "bedrock-runtime.us-east-1.amazonaws.com", "",
        "/model/anthropic.claude-sonnet-4-6/invoke-with-response-stream",
        R"({"anthropic_version":"bedrock-2023-05-31","messages":[]})"},
       D::kAnthropicMessages,
       "bedrock",
       "invoke_model"},
      {{"POST", "bedrock-runtime.us-east-1.amazonaws.com", "", "/model/amazon.nova/converse",
        R"({"messages":[]})"},
       D::kUnknown,
       "bedrock",
       "converse"},
      {{"POST", "localhost:11434", "", "/api/chat", kChat}, D::kOllama, "ollama", "chat"},
      {{"POST", "10.0.0.7", "", "/api/generate", R"({"model":"m","prompt":"a"})"},
       D::kOllama,
       "ollama",
       "generate"},
      {{"POST", "localhost:11434", "", "/v1/chat/completions", kChat},
       D::kOpenAiChat,
       "ollama",
       "chat"},
      {{"POST", "127.0.0.1:8080", "", "/completion", R"({"prompt":"a"})"},
       D::kUnknown,
       "llama.cpp",
       "completion"},
      {{"POST", "127.0.0.1:30000", "", "/generate", R"({"text":"a","sampling_params":{}})"},
       D::kUnknown,
       "sglang",
       "generate"},
      // Behind a gateway's own path, and as a proxy gets it: a whole URL.
      {{"POST", "", "", "http://models.internal/team-a/ask/", kChat},
       D::kOpenAiChat,
       "openai_compatible",
       "chat"},
      {{"GET", "api.openai.com", "", "/v1/responses/resp_1?stream=true&starting_after=4", ""},
       D::kOpenAiResponses,
       "openai",
       "retrieve_response"},
  };
}

TEST(ClassifyCall, CallsOfAModelAreTold) {
  for (const CallRow& row : ModelCalls()) {
    CallKind expected{Boundary::kModel, row.dialect, row.provider, row.name};
    EXPECT_EQ(Say(ClassifyCall(row.call)), Say(expected)) << row.call.target;
  }
}

// Recorder, replay server and views must agree: cases/replay.md 4.
TEST(ClassifyCall, ViewsSeeTheSameDialect) {
  for (const CallRow& row : ModelCalls()) {
    const CallKind kind = ClassifyCall(row.call);
    EXPECT_EQ(DialectOf(kind.provider, row.call.target, row.call.body), kind.dialect)
        << row.call.target;
    const std::string url = "https://" + std::string(row.call.host) + std::string(row.call.target);
    if (row.call.host.empty()) continue;
    EXPECT_EQ(DialectOf(kind.provider, url, row.call.body), kind.dialect) << url;
  }
}

// The server that answers from a tape listens elsewhere, and is told no route.
TEST(ClassifyCall, NameAndBoundaryOfAModelCallDoNotHangOnTheHost) {
  for (CallRow row : ModelCalls()) {
    if (row.provider == "bedrock" && row.dialect == ModelDialect::kUnknown) continue;
    const CallKind recorded = ClassifyCall(row.call);
    row.call.host = "127.0.0.1:40123";
    row.call.route = {};
    const CallKind served = ClassifyCall(row.call);
    EXPECT_EQ(served.name, recorded.name) << row.call.target;
    EXPECT_EQ(served.boundary, recorded.boundary) << row.call.target;
    EXPECT_EQ(served.dialect, recorded.dialect) << row.call.target;
  }
}

TEST(ClassifyCall, OtherTrafficIsPlainHttp) {
  const std::vector<HttpCall> calls = {
      {"GET", "api.openai.com", "", "/v1/models", ""},
      {"GET", "api.openai.com", "", "/v1/chat/completions", ""},
      {"POST", "api.openai.com", "", "/v1/files", "--x\r\n"},
      {"POST", "chat.internal", "", "/channels/7/messages", R"({"text":"hi"})"},
      {"POST", "app.internal", "", "/api/chat", R"({"id":"1","messages":[]})"},
      {"POST", "forms.internal", "", "/surveys/7/responses", R"({"answer":1})"},
      {"POST", "tool.internal", "", "/v1/search?q=http://x/v1/messages", R"({"q":"a"})"},
      {"POST", "tool.internal", "", "/generate", R"({"prompt":"a"})"},
      {"DELETE", "api.openai.com", "", "/v1/responses/resp_1", ""},
  };
  for (const HttpCall& call : calls) {
    const CallKind kind = ClassifyCall(call);
    EXPECT_EQ(kind.boundary, Boundary::kTool) << call.target;
    EXPECT_EQ(kind.provider, kPlainHttp) << call.target;
    EXPECT_EQ(kind.name, std::string(call.method) + " " + std::string(call.host)) << call.target;
    EXPECT_FALSE(kind.is_telemetry) << call.target;
  }
  EXPECT_EQ(ClassifyCall({"GET", "127.0.0.1:8081", "Orders", "/7", ""}).name, "GET Orders");
  EXPECT_EQ(ClassifyCall({"GET", "", "", "http://Orders.Internal:81/7", ""}).name,
            "GET orders.internal:81");
}

// cases/replay.md 38
TEST(ClassifyCall, TrafficOfExportersIsNamed) {
  EXPECT_TRUE(ClassifyCall({"POST", "collector:4318", "", "/v1/traces", "{}"}).is_telemetry);
  EXPECT_TRUE(ClassifyCall({"POST", "api.openai.com", "", "/v1/traces/ingest", "{}"}).is_telemetry);
  EXPECT_FALSE(ClassifyCall({"POST", "shop", "", "/v1/orders", "{}"}).is_telemetry);
}

TEST(ClassifyCall, CallsOfMcpToolsHaveTheToolsName) {
  const CallKind call = ClassifyCall(
      {"POST", "127.0.0.1:3000", "", "/mcp",
       R"({"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"get_weather"}})"});
  EXPECT_EQ(Say(call), "tool unknown by mcp: get_weather");
  EXPECT_EQ(ClassifyCall({"POST", "127.0.0.1:3000", "", "/mcp",
                          R"({"jsonrpc":"2.0","id":1,"method":"tools/list"})"})
                .name,
            "tools/list");
}

}  // namespace
}  // namespace reenact::schema
