// Requests, answers that are one document, and errors.

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

#include "schema/model_view.h"
#include "tests/schema/chat_call.h"

namespace reenact::schema {
namespace {

const ChatCall kJson = {
    .request = R"({"model":"gpt-4o","messages":[{"role":"user","content":"hi"}]})",
    .headers = {{"Content-Type", "application/json"}}};

const ChatCall kJsonLogprobs = {.request = R"({"model":"gpt-4o","logprobs":true,"messages":[]})",
                                .headers = {{"Content-Type", "application/json"}}};

ChatCall Failed(int32_t status, std::string type = "application/json") {
  ChatCall call = kJson;
  call.status = status;
  call.headers = {{"content-type", std::move(type)}};
  return call;
}

std::string OneChoice(std::string_view message, std::string_view rest = {}) {
  return R"({"id":"c","choices":[{"index":0,"finish_reason":"stop","message":{)" +
         std::string(message) + "}" + std::string(rest) + "}]}";
}

TEST(ChatDocument, WholeAnswerIsRead) {
  const ModelView view = View(
      R"({"id":"chatcmpl-1","object":"chat.completion","created":1764400000,"model":"gpt-4o-2024-08-06",)"
      R"("choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"H\u00e9","refusal":null,"annotations":[]},)"
      R"("logprobs":{"content":[{"token":"H","logprob":-0.01,"bytes":[72],"top_logprobs":[{"token":"H","logprob":-0.01,"bytes":[72]}]},)"
      R"({"token":"\\xc3","logprob":-0.2,"bytes":[195],"top_logprobs":[]},{"token":"\\xa9","logprob":0.0,"bytes":[169],"top_logprobs":[]}],"refusal":null}}],)"
      R"("usage":{"prompt_tokens":9,"completion_tokens":3,"total_tokens":12,"prompt_tokens_details":{"cached_tokens":4},)"
      R"("completion_tokens_details":{"reasoning_tokens":2}},"service_tier":"default","system_fingerprint":"fp_44709d6fcb"})",
      kJson);
  EXPECT_EQ(view.dialect, ModelDialect::kOpenAiChat);
  EXPECT_EQ(view.asked_model, "gpt-4o");
  EXPECT_EQ(view.served_model, "gpt-4o-2024-08-06");
  EXPECT_EQ(view.response_id, "chatcmpl-1");
  EXPECT_EQ(view.fingerprint_presence, Presence::kValue);
  EXPECT_EQ(view.system_fingerprint, "fp_44709d6fcb");
  EXPECT_EQ(view.service_tier, "default");
  EXPECT_EQ(view.http_status, 200);
  EXPECT_EQ(view.first_byte_ns, 2'000);
  EXPECT_TRUE(view.end_marker);
  EXPECT_EQ(view.end_state, EndState::kComplete);
  ASSERT_EQ(view.choices.size(), 1u);
  const Choice& choice = view.choices[0];
  EXPECT_EQ(choice.content, "H\xc3\xa9");
  EXPECT_EQ(choice.finish_reason, "stop");
  ASSERT_EQ(choice.logprobs.tokens.size(), 3u);
  std::string joined;
  for (const TokenLogprob& token : choice.logprobs.tokens) joined += *token.chosen.bytes;
  EXPECT_EQ(joined, "H\xc3\xa9");
  EXPECT_EQ(choice.logprobs.tokens[0].top.size(), 1u);
  EXPECT_EQ(view.usage.prompt_tokens, 9);
  EXPECT_EQ(view.usage.completion_tokens, 3);
  EXPECT_EQ(view.usage.total_tokens, 12);
  EXPECT_EQ(view.usage.cached_tokens, 4);
  EXPECT_EQ(view.usage.reasoning_tokens, 2);
  EXPECT_TRUE(view.anomalies.empty()) << view.anomalies[0];
}

TEST(ChatDocument, RequestIsRead) {
  ChatCall call = kJson;
  call.request =
      R"({"model":"m","stream":false,"logprobs":true,"messages":[{"role":"system","content":"be kind"},)"
      R"({"role":"user","content":[{"type":"text","text":"look"},{"type":"image_url","image_url":{"url":"data:x"}}]},)"
      R"({"role":"assistant","content":null,"tool_calls":[{"id":"call_1","type":"function","function":{"name":"f","arguments":"{\"a\":1"}}]},)"
      R"({"role":"tool","tool_call_id":"call_1","content":"42"}]})";
  const ModelView view = View(OneChoice(R"("content":"x")"), call);
  EXPECT_TRUE(view.logprobs_asked);
  EXPECT_FALSE(view.stream);
  ASSERT_EQ(view.messages.size(), 4u);
  EXPECT_EQ(view.messages[0].role, "system");
  EXPECT_EQ(view.messages[0].text, "be kind");
  EXPECT_EQ(view.messages[1].text, "look\n[image_url]");
  ASSERT_EQ(view.messages[2].tool_calls.size(), 1u);
  EXPECT_EQ(view.messages[2].tool_calls[0].arguments, R"({"a":1)");
  EXPECT_EQ(view.messages[3].tool_call_id, "call_1");
  EXPECT_EQ(view.messages[3].text, "42");
}

// cases/reports.md 37
TEST(ChatDocument, ServedModelIsNeverTakenFromTheRequest) {
  EXPECT_EQ(View(OneChoice(R"("content":"x")"), kJson).served_model, "");
  EXPECT_EQ(View(R"({"model":"fast-2025-08-07","choices":[]})", kJson).served_model,
            "fast-2025-08-07");
}

// cases/reports.md 41
TEST(ChatDocument, FourStatesOfTheFingerprintAreKeptApart) {
  EXPECT_EQ(View(R"({"choices":[]})", kJson).fingerprint_presence, Presence::kAbsent);
  EXPECT_EQ(View(R"({"system_fingerprint":null,"choices":[]})", kJson).fingerprint_presence,
            Presence::kNull);
  EXPECT_EQ(View(R"({"system_fingerprint":"","choices":[]})", kJson).fingerprint_presence,
            Presence::kEmpty);
  EXPECT_EQ(View(R"({"system_fingerprint":"fp_a","choices":[]})", kJson).fingerprint_presence,
            Presence::kValue);
}

TEST(ChatDocument, ToolCallsKeepTheirArgumentsVerbatim) {
  const ModelView view = View(
      OneChoice(
          R"("content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{\"order_id\":9007199254740993123,"}},)"
          R"({"id":"b","type":"custom","custom":{"name":"g","input":"free text"}},)"
          R"({"id":"c","type":"function","function":{"name":"h","arguments":{"a":1}}}])"),
      kJson);
  ASSERT_EQ(view.choices.size(), 1u);
  EXPECT_FALSE(view.choices[0].content.has_value());
  const auto& calls = view.choices[0].tool_calls;
  ASSERT_EQ(calls.size(), 3u);
  EXPECT_EQ(calls[0].arguments, R"({"order_id":9007199254740993123,)");
  EXPECT_EQ(calls[1].type, "custom");
  EXPECT_EQ(calls[1].name, "g");
  EXPECT_EQ(calls[1].arguments, "free text");
  EXPECT_EQ(calls[2].arguments, R"({"a":1})");
  EXPECT_TRUE(Has(view.anomalies, "arguments_not_string"));
}

TEST(ChatDocument, FunctionCallOfTheOldFormIsAToolCall) {
  const ModelView view =
      View(OneChoice(R"("content":null,"function_call":{"name":"f","arguments":"{}"})"), kJson);
  ASSERT_EQ(view.choices[0].tool_calls.size(), 1u);
  EXPECT_EQ(view.choices[0].tool_calls[0].name, "f");
  EXPECT_EQ(view.choices[0].tool_calls[0].id, "");
}

TEST(ChatDocument, ReasoningIsReadInAllSpellings) {
  EXPECT_EQ(View(OneChoice(R"("content":"x","reasoning":"why")"), kJson).choices[0].reasoning,
            "why");
  EXPECT_EQ(
      View(OneChoice(R"("content":"x","reasoning_content":"why")"), kJson).choices[0].reasoning,
      "why");
  EXPECT_EQ(
      View(OneChoice(R"("content":"x","reasoning_details":[{"type":"reasoning.text","text":"wh"},)"
                     R"({"type":"reasoning.summary","summary":"y"}])"),
           kJson)
          .choices[0]
          .reasoning,
      "why");
  // One text under two names is one text.
  EXPECT_EQ(View(OneChoice(R"("content":"x","reasoning":"why","reasoning_content":"why")"), kJson)
                .choices[0]
                .reasoning,
            "why");
}

TEST(ChatDocument, RefusalHasItsOwnLogprobs) {
  const ModelView view = View(
      OneChoice(
          R"("content":null,"refusal":"No.")",
          R"(,"logprobs":{"content":null,"refusal":[{"token":"No","logprob":-1,"bytes":[78,111],"top_logprobs":[]},)"
          R"({"token":".","logprob":-1,"bytes":[46],"top_logprobs":[]}]})"),
      kJsonLogprobs);
  EXPECT_EQ(view.choices[0].refusal, "No.");
  EXPECT_EQ(view.choices[0].refusal_logprobs.tokens.size(), 2u);
  EXPECT_TRUE(view.choices[0].logprobs.tokens.empty());
  EXPECT_TRUE(view.anomalies.empty());
}

TEST(ChatDocument, ChoicesAreOrderedByIndex) {
  const ModelView view = View(
      R"({"choices":[{"index":1,"finish_reason":"stop","message":{"content":"b"}},{"index":0,"finish_reason":"length","message":{"content":"a"}}]})",
      kJson);
  ASSERT_EQ(view.choices.size(), 2u);
  EXPECT_EQ(view.choices[0].content, "a");
  EXPECT_EQ(view.choices[0].finish_reason, "length");
  EXPECT_EQ(view.choices[1].content, "b");
}

TEST(ChatDocument, SglangKeepsReasoningTokensAtTheTopOfUsage) {
  const ModelView view =
      View(R"({"choices":[],"usage":{"prompt_tokens":1,"reasoning_tokens":5}})", kJson);
  EXPECT_EQ(view.usage.reasoning_tokens, 5);
  EXPECT_FALSE(view.usage.completion_tokens.has_value());
}

// ---- logprobs

std::string WithLogprobs(std::string_view content, std::string_view entries) {
  return OneChoice(R"("content":")" + std::string(content) + "\"",
                   R"(,"logprobs":{"content":[)" + std::string(entries) + "]}");
}

TEST(ChatLogprobs, SentinelsAreCensored) {
  const ModelView view = View(
      WithLogprobs(
          "abc",
          R"({"token":"a","logprob":-9999.0,"bytes":[97],"top_logprobs":[]},)"
          R"({"token":"b","logprob":-3.4028234663852886e+38,"bytes":[98],"top_logprobs":[]},)"
          R"({"token":"c","logprob":null,"bytes":[99],"top_logprobs":[{"token":"c","logprob":-1}]})"),
      kJsonLogprobs);
  const auto& tokens = view.choices[0].logprobs.tokens;
  ASSERT_EQ(tokens.size(), 3u);
  EXPECT_TRUE(tokens[0].chosen.censored);
  EXPECT_TRUE(tokens[1].chosen.censored);
  EXPECT_EQ(tokens[1].chosen.logprob, static_cast<double>(std::numeric_limits<float>::lowest()));
  EXPECT_TRUE(tokens[2].chosen.censored);
  EXPECT_FALSE(tokens[2].top[0].censored);
  EXPECT_TRUE(Has(view.anomalies, "logprob_not_a_number"));
}

TEST(ChatLogprobs, BytesMayBeNullAndIdsMayBeOffered) {
  const ModelView view = View(
      WithLogprobs("x", R"({"token":"<eos>","logprob":-1,"bytes":null,"id":2,"top_logprobs":[]},)"
                        R"({"token":"","logprob":-1,"bytes":[],"top_logprobs":[]},)"
                        R"({"token":"x","logprob":-1,"bytes":[300],"top_logprobs":[]})"),
      kJsonLogprobs);
  const auto& tokens = view.choices[0].logprobs.tokens;
  ASSERT_EQ(tokens.size(), 3u);
  EXPECT_FALSE(tokens[0].chosen.bytes.has_value());
  EXPECT_EQ(tokens[0].chosen.id, 2);
  EXPECT_EQ(tokens[1].chosen.bytes, "");
  EXPECT_FALSE(tokens[2].chosen.bytes.has_value());
  EXPECT_TRUE(Has(view.anomalies, "bytes_invalid"));
}

// cases/reports.md 43
TEST(ChatLogprobs, PartsOfACharacterAreExactOrNamedUnreliable) {
  std::string exact;
  std::string lossy;
  for (const int byte : {240, 159, 152, 138}) {
    if (!exact.empty()) exact += ",";
    exact += R"({"token":"\\x","logprob":-1,"bytes":[)" + std::to_string(byte) +
             R"(],"top_logprobs":[]})";
    if (!lossy.empty()) lossy += ",";
    lossy += R"({"token":"\ufffd","logprob":-1,"bytes":[239,191,189],"top_logprobs":[]})";
  }
  const ModelView good = View(WithLogprobs("\xf0\x9f\x98\x8a", exact), kJsonLogprobs);
  ASSERT_EQ(good.choices[0].logprobs.tokens.size(), 4u);
  std::string joined;
  for (const TokenLogprob& token : good.choices[0].logprobs.tokens) joined += *token.chosen.bytes;
  EXPECT_EQ(joined, "\xf0\x9f\x98\x8a");
  EXPECT_FALSE(Has(good.anomalies, "bytes_unreliable"));
  const ModelView bad = View(WithLogprobs("\xf0\x9f\x98\x8a", lossy), kJsonLogprobs);
  EXPECT_EQ(bad.choices[0].logprobs.tokens.size(), 4u);
  EXPECT_TRUE(Has(bad.choices[0].logprobs.anomalies, "bytes_unreliable"));
  EXPECT_TRUE(Has(bad.anomalies, "bytes_unreliable"));
}

// cases/reports.md 44
TEST(ChatLogprobs, EmptyAlternativesAreKeptApart) {
  const ModelView view = View(
      WithLogprobs(
          "x",
          R"({"token":"x","logprob":-0.1,"bytes":[120],"top_logprobs":[{"token":"","logprob":-1.5},{"token":"","logprob":-2.5}]})"),
      kJsonLogprobs);
  const auto& top = view.choices[0].logprobs.tokens[0].top;
  ASSERT_EQ(top.size(), 2u);
  EXPECT_EQ(top[0].logprob, -1.5);
  EXPECT_EQ(top[1].logprob, -2.5);
}

// cases/reports.md 46
TEST(ChatLogprobs, PositiveLogprobIsNamedImpossible) {
  EXPECT_TRUE(Has(
      View(WithLogprobs(" was", R"({"token":" was","logprob":1.322,"bytes":null})"), kJsonLogprobs)
          .anomalies,
      "impossible_logprob"));
  EXPECT_FALSE(
      Has(View(WithLogprobs("a", R"({"token":"a","logprob":1e-7,"bytes":[97]})"), kJsonLogprobs)
              .anomalies,
          "impossible_logprob"));
}

// cases/reports.md 47
TEST(ChatLogprobs, NumbersOfIdsAndLogprobsMustAgree) {
  const auto body = [](int ids, int logprobs) {
    std::string entries;
    for (int i = 0; i < logprobs; ++i) {
      entries += (i > 0 ? "," : "") + std::string(R"({"token":"a","logprob":-1,"bytes":[97]})");
    }
    std::string list;
    for (int i = 0; i < ids; ++i) list += (i > 0 ? "," : "") + std::to_string(i + 10);
    return OneChoice(R"("content":"aaaaa")",
                     R"(,"logprobs":{"content":[)" + entries + R"(]},"token_ids":[)" + list + "]");
  };
  const ModelView more = View(body(5, 6), kJsonLogprobs);
  EXPECT_TRUE(Has(more.anomalies, "misaligned:ids=5,logprobs=6"));
  EXPECT_EQ(more.choices[0].logprobs.tokens.size(), 6u);
  const ModelView fewer = View(body(5, 4), kJsonLogprobs);
  EXPECT_TRUE(Has(fewer.anomalies, "misaligned:ids=5,logprobs=4"));
  EXPECT_EQ(fewer.choices[0].logprobs.tokens.size(), 4u);
  const ModelView equal = View(body(5, 5), kJsonLogprobs);
  EXPECT_TRUE(equal.anomalies.empty());
  EXPECT_EQ(equal.choices[0].logprobs.tokens[4].chosen.id, 14);
}

TEST(ChatLogprobs, TokensSentAsIdsHaveNoBytes) {
  const ModelView view =
      View(WithLogprobs(
               "x", R"({"token":"token_id:123","logprob":-1,"bytes":[116,111],"top_logprobs":[]})"),
           kJsonLogprobs);
  EXPECT_EQ(view.choices[0].logprobs.tokens[0].chosen.id, 123);
  EXPECT_FALSE(view.choices[0].logprobs.tokens[0].chosen.bytes.has_value());
}

TEST(ChatLogprobs, ParallelListsOfTheOldFormAreRead) {
  const ModelView view = View(
      OneChoice(
          R"("content":"ab")",
          R"(,"logprobs":{"tokens":["a","b"],"token_logprobs":[-0.5,null],"top_logprobs":[{"a":-0.5,"c":-0.6},null],"text_offset":[0,1]})"),
      kJsonLogprobs);
  const auto& tokens = view.choices[0].logprobs.tokens;
  ASSERT_EQ(tokens.size(), 2u);
  EXPECT_EQ(tokens[0].top.size(), 2u);
  EXPECT_TRUE(tokens[1].chosen.censored);
  const ModelView odd = View(
      OneChoice(R"("content":"ab")", R"(,"logprobs":{"tokens":["a","b"],"token_logprobs":[-0.5]})"),
      kJsonLogprobs);
  EXPECT_TRUE(Has(odd.anomalies, "misaligned:tokens=2,logprobs=1"));
}

TEST(ChatLogprobs, AskedForAndMissingIsSaid) {
  EXPECT_TRUE(
      Has(View(OneChoice(R"("content":"x")", R"(,"logprobs":null)"), kJsonLogprobs).anomalies,
          "logprobs_absent"));
  EXPECT_FALSE(Has(View(OneChoice(R"("content":"x")"), kJson).anomalies, "logprobs_absent"));
  EXPECT_FALSE(Has(View(OneChoice(R"("content":null,"tool_calls":[])"), kJsonLogprobs).anomalies,
                   "logprobs_absent"));
}

// ---- errors

struct ErrorRow {
  const char* what;
  int32_t status;
  const char* body;
  const char* kind;
  const char* message;
};

std::ostream& operator<<(std::ostream& out, const ErrorRow& row) {
  return out << row.what;
}

class ChatErrors : public testing::TestWithParam<ErrorRow> {};

TEST_P(ChatErrors, HaveAKindAndAMessage) {
  const ErrorRow& row = GetParam();
  const ModelView view = View(row.body, Failed(row.status));
  EXPECT_EQ(view.error_kind, row.kind);
  EXPECT_EQ(view.error_message, row.message);
  EXPECT_EQ(view.end_state, EndState::kProviderError);
  EXPECT_EQ(view.end_detail, row.kind);
  EXPECT_EQ(view.http_status, row.status);
}

constexpr ErrorRow kErrors[] = {
    {"OpenAI", 401,
     R"({"error":{"message":"bad key","type":"invalid_request_error","param":null,"code":"invalid_api_key"}})",
     "invalid_request_error", "bad key"},
    {"OpenAI, where the type names the budget", 429,
     R"({"error":{"message":"slow down","type":"tokens","param":null,"code":"rate_limit_exceeded"}})",
     "rate_limit_exceeded", "slow down"},
    {"vLLM, whose code is a number", 400,
     R"({"error":{"message":"too long","type":"BadRequestError","param":null,"code":400}})",
     "BadRequestError", "too long"},
    {"a number alone", 400, R"({"error":{"message":"m","code":400}})", "400", "m"},
    {"SGLang, at the top level", 400,
     R"({"object":"error","message":"bad","type":"BadRequest","param":null,"code":400})",
     "BadRequest", "bad"},
    {"llama.cpp", 503,
     R"({"error":{"code":503,"message":"Loading model","type":"unavailable_error"}})",
     "unavailable_error", "Loading model"},
    {"Azure's content filter", 400,
     R"({"error":{"message":"filtered","type":null,"param":"prompt","code":"content_filter","status":400}})",
     "content_filter", "filtered"},
    {"Google, wrapped in a list", 400,
     R"([{"error":{"code":400,"message":"bad","status":"INVALID_ARGUMENT"}}])", "INVALID_ARGUMENT",
     "bad"},
    {"Ollama, a text", 404, R"({"error":"model not found"})", "http_404", "model not found"},
    {"FastAPI", 404, R"({"detail":"Not Found"})", "http_404", "Not Found"},
    {"plain text", 502, "upstream connect error", "http_502", "upstream connect error"},
    {"nothing", 500, "", "http_500", ""},
    {"an empty object", 500, "{}", "http_500", ""},
    {"cut JSON", 500, R"({"error":{"mess)", "http_500", ""},
    {"a redirect", 302, "moved", "http_302", "moved"},
    {"an error in a 200", 200, R"({"error":{"message":"busy","type":"overloaded_error"}})",
     "overloaded_error", "busy"},
    {"a text in a 200", 200, R"({"error":"busy"})", "error", "busy"},
    {"nested twice", 200,
     R"({"type":"error","error":{"error":{"type":"overloaded_error","message":"busy"}}})",
     "overloaded_error", "busy"},
    {"SGLang in a 200", 200, R"({"object":"error","message":"bad","code":400})", "400", "bad"},
    {"an error beside a choice", 200,
     R"({"choices":[{"index":0,"finish_reason":"error","message":{"content":"par"},"error":{"code":502,"message":"gone"}}]})",
     "502", "gone"},
    {"HTML in a 200", 200, "<html>gateway</html>", "malformed_body", "<html>gateway</html>"},
};

INSTANTIATE_TEST_SUITE_P(All, ChatErrors, testing::ValuesIn(kErrors));

TEST(ChatErrors, FalsyErrorIsNoError) {
  for (const char* value : {"null", "false", "0", "\"\""}) {
    const ModelView view =
        View(R"({"error":)" + std::string(value) +
                 R"(,"choices":[{"index":0,"finish_reason":"stop","message":{"content":"x"}}]})",
             kJson);
    EXPECT_EQ(view.end_state, EndState::kComplete) << value;
    EXPECT_EQ(view.error_kind, "");
  }
}

TEST(ChatErrors, LongPlainTextIsCutOnACharacter) {
  std::string text = "x";
  for (int i = 0; i < 5'000; ++i) text += "\xc3\xa9";
  const ModelView view = View(text, Failed(500, "text/plain"));
  EXPECT_EQ(view.error_message.size(), 4095u);
  EXPECT_TRUE(view.error_message.ends_with("\xc3\xa9"));
}

}  // namespace
}  // namespace reenact::schema
