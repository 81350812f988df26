// What of a URL belongs to the key, and which members of a body do not, dialect by dialect.

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "schema/dialect.h"
#include "schema/request_key.h"

namespace reenact::schema {
namespace {

CallRequest Plain(std::string_view endpoint, std::string_view body = {}) {
  return {Boundary::kTool, kPlainHttp, endpoint, body};
}

CallRequest Model(std::string_view provider, std::string_view endpoint, std::string_view body) {
  return {Boundary::kModel, provider, endpoint, body};
}

std::vector<std::string> Paths(const CallRequest& a, const CallRequest& b) {
  std::vector<std::string> paths;
  for (const JsonDifference& difference : DiffRequests(a, b)) paths.push_back(difference.path);
  return paths;
}

using Strings = std::vector<std::string>;

TEST(RequestTarget, PathAndQueryOfPlainHttpCount) {
  const CallRequest recorded = Plain("http://orders:81/orders/7?unit=eur&lang=de");
  EXPECT_EQ(KeyOf(recorded), KeyOf(Plain("http://127.0.0.1:9/orders/7?lang=de&unit=eur")));
  EXPECT_EQ(KeyOf(recorded), KeyOf(Plain("/orders/7?lang=de&unit=%65ur")));
  EXPECT_NE(KeyOf(recorded), KeyOf(Plain("/orders/8?unit=eur&lang=de")));
  EXPECT_NE(KeyOf(recorded), KeyOf(Plain("/orders/7?unit=usd&lang=de")));
  EXPECT_NE(KeyOf(recorded), KeyOf(Plain("/orders/7?unit=eur")));
  EXPECT_NE(KeyOf(Plain("/a?x=1&x=2")), KeyOf(Plain("/a?x=2&x=1")));
  EXPECT_EQ(Paths(recorded, Plain("/orders/8?unit=usd&city=Oslo")),
            (Strings{"(path)", "(query).lang", "(query).unit", "(query).city"}));
}

// cases/replay.md 16
TEST(RequestTarget, CredentialsOfAQueryDoNotCount) {
  EXPECT_EQ(KeyOf(Plain("/a?q=1&key=AIza-one")), KeyOf(Plain("/a?q=1&key=AIza-two")));
  EXPECT_EQ(KeyOf(Plain("/a?q=1&key=AIza-one")), KeyOf(Plain("/a?q=1")));
  EXPECT_EQ(Paths(Plain("/a?api_key=1"), Plain("/a?api_key=2")), Strings{});
}

TEST(RequestTarget, NothingCountsOfAnEndpointThatOnlySaysWhere) {
  const std::string chat = R"({"model":"m","messages":[]})";
  EXPECT_EQ(KeyOf(Model("openai", "https://api.openai.com/v1/chat/completions", chat)),
            KeyOf(Boundary::kModel, "openai", chat));
  EXPECT_EQ(KeyOf({Boundary::kTool, "", "http://host/a", "{}"}), KeyOf(Boundary::kTool, "", "{}"));
}

TEST(RequestTarget, TheModelInThePathCounts) {
  const std::string body = R"({"contents":[{"parts":[{"text":"hi"}]}]})";
  const auto gemini = [&](std::string_view target) { return KeyOf(Model("gemini", target, body)); };
  EXPECT_EQ(
      gemini("https://generativelanguage.googleapis.com/v1beta/models/g-1:generateContent?key=a"),
      gemini("/v1/models/g-1:generateContent"));
  EXPECT_NE(gemini("/v1/models/g-1:generateContent"), gemini("/v1/models/g-2:generateContent"));
  EXPECT_NE(gemini("/v1/models/g-1:streamGenerateContent"),
            gemini("/v1/models/g-1:streamGenerateContent?alt=sse"));
  EXPECT_EQ(Paths(Model("gemini", "/v1/models/g-1:generateContent", body),
                  Model("gemini", "/v1/models/g-2:generateContent", body)),
            Strings{"(path)"});
  const auto azure = [](std::string_view deployment) {
    const std::string url = "https://r.openai.azure.com/openai/deployments/" +
                            std::string(deployment) + "/chat/completions?api-version=2024-10-21";
    return KeyOf(Model("azure", url, R"({"messages":[]})"));
  };
  EXPECT_EQ(azure("a"), azure("a"));
  EXPECT_NE(azure("a"), azure("b"));
  EXPECT_NE(KeyOf(Model("bedrock", "/model/a/converse", "{}")),
            KeyOf(Model("bedrock", "/model/b/converse", "{}")));
  EXPECT_NE(KeyOf(Model("openai", "/v1/responses/resp_1", "")),
            KeyOf(Model("openai", "/v1/responses/resp_2", "")));
}

struct Pair {
  const char* provider;
  const char* endpoint;
  std::string recorded;
  std::string again;
};

// Requests of a second run: other ids, other keepers and payers, the same question.
std::vector<Pair> Reruns() {
  return {
      {"openai", "/v1/responses",
       R"({"model":"m","input":[{"type":"function_call","id":"fc_1","call_id":"call_1","name":"f",
           "arguments":"{}"},{"type":"function_call_output","call_id":"call_1","output":"4"}],
           "previous_response_id":"resp_1","prompt_cache_key":"a","store":true})",
       R"({"model":"m","input":[{"type":"function_call","id":"fc_9","call_id":"call_9","name":"f",
           "arguments":"{}"},{"type":"function_call_output","call_id":"call_9","output":"4"}],
           "previous_response_id":"resp_9","safety_identifier":"s"})"},
      {"anthropic", "/v1/messages",
       R"({"model":"c","max_tokens":1,"metadata":{"user_id":"u1"},"messages":[
           {"role":"assistant","content":[{"type":"tool_use","id":"toolu_1","name":"f","input":{}}]},
           {"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":"4"}]}]})",
       R"({"model":"c","max_tokens":1,"container":"c","diagnostics":{"previous_message_id":"m"},
           "messages":[
           {"role":"assistant","content":[{"type":"tool_use","id":"toolu_2","name":"f","input":{}}]},
           {"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_2","content":"4"}]}]})"},
      {"gemini", "/v1/models/g:generateContent",
       R"({"contents":[{"parts":[{"functionCall":{"id":"a","name":"f"}}]},
           {"parts":[{"functionResponse":{"id":"a","name":"f","response":{}}}]}],"labels":{"a":"b"}})",
       R"({"contents":[{"parts":[{"functionCall":{"id":"b","name":"f"}}]},
           {"parts":[{"functionResponse":{"id":"b","name":"f","response":{}}}]}]})"},
      {"ollama", "/api/chat",
       R"({"model":"m","messages":[{"role":"tool","tool_call_id":"a","content":"4"}],"keep_alive":1})",
       R"({"model":"m","messages":[{"role":"tool","tool_call_id":"b","content":"4"}]})"},
      {"openai", "/v1/embeddings", R"({"model":"m","input":"a","user":"u1"})",
       R"({"model":"m","input":"a","user":"u2"})"},
      {"openai_compatible", "/v1/completions",
       R"({"model":"m","prompt":"a","request_id":"r1","cache_salt":"x","priority":1})",
       R"({"model":"m","prompt":"a","rid":"r2","session_id":"s"})"},
  };
}

TEST(RequestTarget, WhatARerunDrawsAnewDoesNotCount) {
  for (const Pair& pair : Reruns()) {
    const CallRequest a = Model(pair.provider, pair.endpoint, pair.recorded);
    const CallRequest b = Model(pair.provider, pair.endpoint, pair.again);
    EXPECT_EQ(KeyOf(a), KeyOf(b)) << pair.endpoint;
    EXPECT_EQ(Paths(a, b), Strings{}) << pair.endpoint;
    // Where nothing is known of the dialect every member counts.
    EXPECT_NE(KeyOf(Boundary::kTool, "", pair.recorded), KeyOf(Boundary::kTool, "", pair.again));
  }
}

TEST(RequestTarget, CrossedToolResultsAreAnotherRequest) {
  const auto with = [](std::string_view first, std::string_view second) {
    return R"({"model":"c","max_tokens":1,"messages":[{"role":"assistant","content":[
        {"type":"tool_use","id":"a","name":"f","input":{}},{"type":"tool_use","id":"b","name":"g","input":{}}]},
        {"role":"user","content":[{"type":"tool_result","tool_use_id":")" +
           std::string(first) + R"(","content":"1"},{"type":"tool_result","tool_use_id":")" +
           std::string(second) + R"(","content":"2"}]}]})";
  };
  const std::string straight = with("a", "b");
  const std::string crossed = with("b", "a");
  EXPECT_NE(KeyOf(Model("anthropic", "/v1/messages", straight)),
            KeyOf(Model("anthropic", "/v1/messages", crossed)));
}

TEST(RequestTarget, ThatThereIsAHistoryCounts) {
  EXPECT_NE(KeyOf(Model("openai", "/v1/responses", R"({"model":"m","input":"a"})")),
            KeyOf(Model("openai", "/v1/responses",
                        R"({"model":"m","input":"a","previous_response_id":"resp_1"})")));
}

TEST(RequestTarget, SignaturesOfReasoningCount) {
  const auto with = [](std::string_view signature) {
    return R"({"model":"c","max_tokens":1,"messages":[{"role":"assistant","content":[
        {"type":"thinking","thinking":"t","signature":")" +
           std::string(signature) + R"("}]}]})";
  };
  EXPECT_NE(KeyOf(Model("anthropic", "/v1/messages", with("EqQB"))),
            KeyOf(Model("anthropic", "/v1/messages", with("EqQC"))));
}

TEST(RequestTarget, NumberAndMetaOfAnMcpMessageDoNotCount) {
  const auto call = [](std::string_view body, std::string_view endpoint = "/mcp") {
    return CallRequest{Boundary::kTool, kMcp, endpoint, body};
  };
  const std::string_view recorded =
      R"({"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"_meta":{"progressToken":"a"},"name":"f","arguments":{"x":1}}})";
  const std::string_view again =
      R"({"jsonrpc":"2.0","id":8,"method":"tools/call","params":{"name":"f","arguments":{"x":1}}})";
  EXPECT_EQ(KeyOf(call(recorded)), KeyOf(call(again)));
  EXPECT_NE(KeyOf(call(again)), KeyOf(call(again, "/other/mcp")));
  EXPECT_EQ(Paths(call(recorded), call(R"({"jsonrpc":"2.0","id":8,"method":"tools/call",
                           "params":{"name":"f","arguments":{"x":2}}})")),
            Strings{"params.arguments.x"});
}

TEST(RequestTarget, TheBoundaryOfAFormIsNoPartOfIt) {
  const auto form = [](std::string_view boundary, std::string_view value) {
    const std::string line = "--" + std::string(boundary);
    return line + "\r\nContent-Disposition: form-data; name=\"model\"\r\n\r\n" +
           std::string(value) + "\r\n" + line + "--\r\n";
  };
  const std::string recorded = form("----form-8412", "whisper-1");
  const std::string again = form("----form-0035", "whisper-1");
  EXPECT_EQ(KeyOf(Plain("/v1/x", recorded)), KeyOf(Plain("/v1/x", again)));
  EXPECT_TRUE(DiffRequests(Plain("/v1/x", recorded), Plain("/v1/x", again)).empty());
  EXPECT_NE(KeyOf(Plain("/v1/x", recorded)), KeyOf(Plain("/v1/x", form("b", "whisper-2"))));
  // Text that begins with dashes is no form.
  EXPECT_NE(KeyOf(Plain("/v1/x", "--a\r\nx")), KeyOf(Plain("/v1/x", "--b\r\nx")));
}

// cases/replay.md 4: every recorded request matches itself, and what matches differs in nothing.
TEST(RequestTarget, KeysAreEqualExactlyWhenNothingDiffers) {
  std::mt19937 random(5);
  const auto pick = [&](std::initializer_list<const char*> list) {
    return std::string(list.begin()[random() % list.size()]);
  };
  const auto make = [&] {
    return std::pair(pick({"http://a", "", "https://b:81"}) + pick({"/x", "/y", "/v1/responses"}) +
                         pick({"", "?", "?q=1", "?q=1&r=2", "?r=2&q=1", "?r=2&&q=1&key=s"}),
                     pick({"", "{}", R"({"a":1})", R"({ "a":1.0})", "text"}));
  };
  int equal = 0;
  for (int i = 0; i < 3000; ++i) {
    const auto [url_a, body_a] = make();
    const auto [url_b, body_b] = make();
    const CallRequest a = Plain(url_a, body_a);
    const CallRequest b = Plain(url_b, body_b);
    ASSERT_EQ(KeyOf(a), KeyOf(a));
    ASSERT_EQ(KeyOf(a) == KeyOf(b), DiffRequests(a, b).empty()) << url_a << " " << url_b;
    if (KeyOf(a) == KeyOf(b)) ++equal;
  }
  EXPECT_GT(equal, 50);
  EXPECT_LT(equal, 2000);
}

}  // namespace
}  // namespace reenact::schema
