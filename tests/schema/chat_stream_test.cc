// How the chunks of a stream become one answer.

#include <gtest/gtest.h>

#include <string>

#include "schema/model_view.h"
#include "tests/schema/chat_call.h"

namespace reenact::schema {
namespace {

const ChatCall kWithLogprobs = {.request =
                                    R"({"model":"m","stream":true,"logprobs":true,"messages":[]})"};

std::string Entry(std::string_view token, double logprob = -0.5) {
  std::string bytes;
  for (const char c : token) {
    if (!bytes.empty()) bytes += ",";
    bytes += std::to_string(static_cast<unsigned char>(c));
  }
  return R"({"token":")" + std::string(token) + R"(","logprob":)" + std::to_string(logprob) +
         R"(,"bytes":[)" + bytes + R"(],"top_logprobs":[]})";
}

std::string Logprobs(std::string_view entries) {
  return R"("logprobs":{"content":[)" + std::string(entries) + R"(],"refusal":null})";
}

TEST(ChatStream, WholeStreamIsRead) {
  const ModelView view = View(
      R"(data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"m-1","service_tier":"default","system_fingerprint":"fp_1","choices":[{"index":0,"delta":{"role":"assistant","content":"","refusal":null},"logprobs":null,"finish_reason":null}],"usage":null,"obfuscation":"a8Xq"})"
      "\n\n" +
      TextChunk("Hel") + TextChunk("lo") + FinishChunk() + kDone);
  EXPECT_EQ(view.response_id, "chatcmpl-1");
  EXPECT_EQ(view.served_model, "m-1");
  EXPECT_EQ(view.system_fingerprint, "fp_1");
  EXPECT_EQ(view.service_tier, "default");
  ASSERT_EQ(view.choices.size(), 1u);
  EXPECT_EQ(view.choices[0].content, "Hello");
  EXPECT_EQ(view.choices[0].finish_reason, "stop");
  EXPECT_TRUE(view.end_marker);
  EXPECT_TRUE(view.stream);
  EXPECT_EQ(view.end_state, EndState::kComplete);
  EXPECT_TRUE(Has(view.anomalies, "id_changed"));
}

TEST(ChatStream, ContentThatNeverCameStaysAbsent) {
  const ModelView none =
      View(Chunk(R"("role":"assistant","content":null)") + FinishChunk() + kDone);
  EXPECT_FALSE(none.choices[0].content.has_value());
  const ModelView empty = View(Chunk(R"("role":"assistant","content":"")") + FinishChunk() + kDone);
  EXPECT_EQ(empty.choices[0].content, "");
}

// cases/reports.md 10
TEST(ChatStream, UsageAfterTheFinishChunkIsKept) {
  const ModelView view = View(
      TextChunk("a") + FinishChunk() +
      "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":7,\"completion_tokens\":3}}\n\n" + kDone);
  EXPECT_EQ(view.usage.prompt_tokens, 7);
  EXPECT_EQ(view.usage.completion_tokens, 3);
  EXPECT_EQ(view.choices.size(), 1u);
}

TEST(ChatStream, CumulativeUsageIsReplacedNotAdded) {
  std::string body;
  for (int i = 1; i <= 3; ++i) {
    body +=
        R"(data: {"choices":[{"index":0,"delta":{"content":"a"}}],"usage":{"prompt_tokens":7,"completion_tokens":)" +
        std::to_string(i) + "}}\n\n";
  }
  const ModelView view = View(body + FinishChunk() + kDone);
  EXPECT_EQ(view.usage.prompt_tokens, 7);
  EXPECT_EQ(view.usage.completion_tokens, 3);
}

// cases/reports.md 13
TEST(ChatStream, InterleavedChoicesAreKeptApart) {
  const auto chunk = [](int index, std::string_view text) {
    return R"(data: {"choices":[{"index":)" + std::to_string(index) + R"(,"delta":{"content":")" +
           std::string(text) + R"("},)" + Logprobs(Entry(text)) + "}]}\n\n";
  };
  const auto finish = [](int index, std::string_view reason) {
    return R"(data: {"choices":[{"index":)" + std::to_string(index) +
           R"(,"delta":{},"finish_reason":")" + std::string(reason) + "\"}]}\n\n";
  };
  const ModelView view = View(chunk(0, "A") + chunk(1, "x") + chunk(0, "B") + chunk(1, "y") +
                              finish(1, "length") + finish(0, "stop") + kDone);
  ASSERT_EQ(view.choices.size(), 2u);
  EXPECT_EQ(view.choices[0].content, "AB");
  EXPECT_EQ(view.choices[0].finish_reason, "stop");
  EXPECT_EQ(view.choices[0].logprobs.tokens.size(), 2u);
  EXPECT_EQ(view.choices[1].content, "xy");
  EXPECT_EQ(view.choices[1].finish_reason, "length");
  EXPECT_EQ(view.choices[1].logprobs.tokens[1].chosen.token, "y");
  EXPECT_TRUE(view.anomalies.empty());
}

// cases/reports.md 35
TEST(ChatStream, EmptyFirstFrameOfAzureNamesNobody) {
  const ModelView view = View(
      R"(data: {"id":"","model":"","created":0,"choices":[],"system_fingerprint":null,"prompt_filter_results":[{"prompt_index":0}]})"
      "\n\n"
      R"(data: {"id":"c9","model":"gpt-4o-2024-11-20","system_fingerprint":"fp_9","choices":[{"index":0,"delta":{"content":"a"},"content_filter_results":{}}]})"
      "\n\n"
      R"(data: {"id":"c9","model":"gpt-4o-2024-11-20","system_fingerprint":"fp_9","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]})"
      "\n\n" +
      kDone);
  EXPECT_EQ(view.response_id, "c9");
  EXPECT_EQ(view.served_model, "gpt-4o-2024-11-20");
  EXPECT_EQ(view.system_fingerprint, "fp_9");
  EXPECT_EQ(view.fingerprint_presence, Presence::kValue);
  EXPECT_EQ(view.choices.size(), 1u);
  EXPECT_TRUE(view.anomalies.empty());
}

TEST(ChatStream, FingerprintOfTheLastChunkIsFound) {
  // vLLM sends it with the finish reason only.
  const ModelView view = View(
      TextChunk("a") +
      R"(data: {"id":"c1","model":"m-1","system_fingerprint":"vllm-0.12-ab","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]})"
      "\n\n" +
      kDone);
  EXPECT_EQ(view.system_fingerprint, "vllm-0.12-ab");
  EXPECT_EQ(view.fingerprint_presence, Presence::kValue);
}

TEST(ChatStream, IdentityThatChangesInsideAStreamIsNamed) {
  const ModelView view = View(R"(data: {"model":"a","system_fingerprint":"fp_1","choices":[]})"
                              "\n\n"
                              R"(data: {"model":"b","system_fingerprint":"fp_2","choices":[]})"
                              "\n\n" +
                              kDone);
  EXPECT_EQ(view.served_model, "a");
  EXPECT_EQ(view.system_fingerprint, "fp_1");
  EXPECT_TRUE(Has(view.anomalies, "model_changed"));
  EXPECT_TRUE(Has(view.anomalies, "system_fingerprint_changed"));
}

TEST(ChatStream, ReasoningIsJoinedInAllSpellings) {
  EXPECT_EQ(View(Chunk(R"("reasoning":"a")") + Chunk(R"("reasoning":"b")") + FinishChunk() + kDone)
                .choices[0]
                .reasoning,
            "ab");
  EXPECT_EQ(View(Chunk(R"("reasoning_content":"a")") + Chunk(R"("reasoning_content":"b")") +
                 FinishChunk() + kDone)
                .choices[0]
                .reasoning,
            "ab");
  EXPECT_EQ(
      View(Chunk(R"("reasoning_details":[{"type":"reasoning.text","text":"a"}])") +
           Chunk(R"("reasoning":"b","reasoning_details":[{"text":"b"}])") + FinishChunk() + kDone)
          .choices[0]
          .reasoning,
      "ab");
}

TEST(ChatStream, RefusalIsJoinedWithItsLogprobs) {
  const std::string refusal_logprobs =
      R"("logprobs":{"content":null,"refusal":[)" + Entry("No") + "]}";
  const ModelView view =
      View(Chunk(R"("refusal":"No")", refusal_logprobs) +
               Chunk(R"("refusal":" way")",
                     R"("logprobs":{"content":null,"refusal":[)" + Entry(" way") + "]}") +
               FinishChunk() + kDone,
           kWithLogprobs);
  EXPECT_EQ(view.choices[0].refusal, "No way");
  EXPECT_EQ(view.choices[0].refusal_logprobs.tokens.size(), 2u);
  EXPECT_FALSE(view.choices[0].content.has_value());
  EXPECT_TRUE(view.anomalies.empty());
}

TEST(ChatStream, PingsOfLlamaCppAreNoRecords) {
  const ModelView view = View(":\n\n:\n\n" + TextChunk("a") + ":\n\n" + FinishChunk() + kDone);
  EXPECT_EQ(view.choices[0].content, "a");
  EXPECT_TRUE(view.anomalies.empty());
}

TEST(ChatStream, EventsOfOtherKindsAreSkipped) {
  const ModelView view =
      View("event: ping\ndata: {\"type\":\"ping\"}\n\nevent: ping\n\ndata:\n\n" + TextChunk("a") +
           "data: [1]\n\ndata: null\n\n" + FinishChunk() + kDone);
  EXPECT_EQ(view.choices[0].content, "a");
  EXPECT_EQ(view.end_state, EndState::kComplete);
  EXPECT_TRUE(Has(view.anomalies, "dataless_event"));
  EXPECT_TRUE(Has(view.anomalies, "empty_data"));
}

// Every framing that some client in the field reads means the same answer.
TEST(ChatStream, FramingDoesNotChangeTheAnswer) {
  const std::string plain = TextChunk("caf\xc3\xa9") + TextChunk(" x") + FinishChunk() + kDone;
  const auto replaced = [&](const std::string& from, const std::string& to) {
    std::string text;
    for (size_t at = 0; at < plain.size();) {
      const bool match = plain.compare(at, from.size(), from) == 0;
      text += match ? to : plain.substr(at, 1);
      at += match ? from.size() : 1;
    }
    return text;
  };

  const struct {
    const char* what;
    std::string body;
  } kRows[] = {
      {"plain", plain},
      {"crlf", replaced("\n", "\r\n")},
      {"cr", replaced("\n", "\r")},
      {"bom", "\xef\xbb\xbf" + plain},
      {"no space", replaced("data: ", "data:")},
      {"several data lines", replaced("\"choices\":", "\ndata: \"choices\":")},
      {"comments", replaced("data: {", ": ping\n\n: x\ndata: {")},
      {"ids and retries", replaced("data: {", "id: 7\nretry: 10\ndata: {")},
      {"id, then a comment", "id: 1\n: c\n\n" + plain},
      {"event names", replaced("data: {", "event: message\ndata: {")},
      {"no final blank line", plain.substr(0, plain.size() - 1)},
      {"no final line end", plain.substr(0, plain.size() - 2)},
  };

  for (const auto& row : kRows) {
    const ModelView view = View(row.body);
    ASSERT_EQ(view.choices.size(), 1u) << row.what;
    EXPECT_EQ(view.choices[0].content, "caf\xc3\xa9 x") << row.what;
    EXPECT_EQ(view.choices[0].finish_reason, "stop") << row.what;
    EXPECT_TRUE(view.end_marker) << row.what;
    EXPECT_EQ(view.end_state, EndState::kComplete) << row.what;
  }
}

// cases/reports.md 5
TEST(ChatStream, ColonsInsideTheDataAreData) {
  EXPECT_EQ(View(TextChunk("k: [v: w]") + FinishChunk() + kDone).choices[0].content, "k: [v: w]");
}

// cases/reports.md 2
TEST(ChatStream, OneLongEventAndManyShortOnes) {
  std::string expected(40'000, 'x');
  std::string body = TextChunk(expected);
  for (int i = 0; i < 300; ++i) {
    body += TextChunk("y");
    expected += 'y';
  }
  EXPECT_EQ(View(body + FinishChunk() + kDone).choices[0].content, expected);
}

TEST(ChatStream, RecordThatIsNoJsonIsNamedAndTheRestRead) {
  const ModelView view =
      View(TextChunk("a") + "data: {oops\n\n" + TextChunk("b") + FinishChunk() + kDone);
  EXPECT_EQ(view.choices[0].content, "ab");
  EXPECT_TRUE(Has(view.anomalies, "json_error:event=1"));
}

TEST(ChatStream, MillionBrokenRecordsYieldAFewFindings) {
  std::string body;
  for (int i = 0; i < 1'000; ++i) body += "data: {oops\n\n";
  const ModelView view = View(body + TextChunk("a") + FinishChunk() + kDone);
  EXPECT_LT(view.anomalies.size(), 50u);
  EXPECT_TRUE(Has(view.anomalies, "json_error:more=968"));
}

// cases/reports.md 67, 71
TEST(ChatStream, OdditiesOfJsonAreReadAndNamed) {
  const ModelView view = View(TextChunk("a\\ud83d") + TextChunk("b\\u0000c") +
                              Chunk(R"("content":"x","content":"y")") + FinishChunk() + kDone);
  EXPECT_EQ(view.choices[0].content, std::string("a\xed\xa0\xbd"
                                                 "b\0cy",
                                                 8));
  EXPECT_TRUE(Has(view.anomalies, "lone_surrogate"));
  EXPECT_TRUE(Has(view.anomalies, "duplicate_key"));
}

TEST(ChatStream, CharacterInTwoEscapesOfTwoDeltasIsOneCharacter) {
  const ModelView view =
      View(TextChunk("a\\ud83d") + TextChunk("\\ude0ab") + FinishChunk() + kDone);
  EXPECT_EQ(view.choices[0].content,
            "a\xf0\x9f\x98\x8a"
            "b");
}

TEST(ChatStream, InvalidUtf8IsKeptAndNamed) {
  const ModelView view = View(TextChunk("a\xff"
                                        "b") +
                              FinishChunk() + kDone);
  EXPECT_EQ(view.choices[0].content,
            "a\xff"
            "b");
  EXPECT_TRUE(Has(view.anomalies, "invalid_utf8"));
}

TEST(ChatStream, WholeMessageInsideAStreamIsRead) {
  const ModelView view =
      View(R"(data: {"choices":[{"index":0,"message":{"content":"all"},"finish_reason":"stop"}]})"
           "\n\n" +
           kDone);
  EXPECT_EQ(view.choices[0].content, "all");
  const ModelView repeated =
      View(TextChunk("all") +
           R"(data: {"choices":[{"index":0,"message":{"content":"all"},"finish_reason":"stop"}]})"
           "\n\n" +
           kDone);
  EXPECT_EQ(repeated.choices[0].content, "all");
  EXPECT_TRUE(Has(repeated.anomalies, "message_in_stream"));
}

// ---- tool calls

std::string Fragment(std::string_view members) {
  return R"("tool_calls":[{)" + std::string(members) + "}]";
}

TEST(ChatStreamTools, FragmentsGoByIndex) {
  const ModelView view =
      View(Chunk(Fragment(
               R"("index":0,"id":"a","type":"function","function":{"name":"f","arguments":""})")) +
           Chunk(Fragment(
               R"("index":1,"id":"b","type":"function","function":{"name":"g","arguments":""})")) +
           Chunk(Fragment(R"("index":0,"function":{"arguments":"{\"x\""})")) +
           Chunk(Fragment(R"("index":1,"function":{"arguments":"{\"y\":\"\\u00"})")) +
           Chunk(Fragment(R"("index":0,"function":{"arguments":":1}"})")) +
           Chunk(Fragment(R"("index":1,"id":null,"function":{"name":null,"arguments":"e9\"}"})")) +
           FinishChunk("tool_calls") + kDone);
  const auto& calls = view.choices[0].tool_calls;
  ASSERT_EQ(calls.size(), 2u);
  EXPECT_EQ(calls[0].id, "a");
  EXPECT_EQ(calls[0].name, "f");
  EXPECT_EQ(calls[0].arguments, R"({"x":1})");
  EXPECT_EQ(calls[0].index, 0);
  EXPECT_EQ(calls[1].id, "b");
  EXPECT_EQ(calls[1].arguments, R"({"y":"\u00e9"})");
  EXPECT_TRUE(view.anomalies.empty());
}

// cases/reports.md 14
TEST(ChatStreamTools, OneIndexForTwoIdsIsTwoCalls) {
  const ModelView view = View(
      Chunk(
          R"("tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"f","arguments":"{\"x\":1}"}},)"
          R"({"index":0,"id":"b","type":"function","function":{"name":"f","arguments":"{\"x\":2}"}}])") +
      FinishChunk("tool_calls") + kDone);
  const auto& calls = view.choices[0].tool_calls;
  ASSERT_EQ(calls.size(), 2u);
  EXPECT_EQ(calls[0].id, "a");
  EXPECT_EQ(calls[0].arguments, R"({"x":1})");
  EXPECT_EQ(calls[1].id, "b");
  EXPECT_EQ(calls[1].arguments, R"({"x":2})");
  EXPECT_TRUE(Has(view.anomalies, "index_collision"));
}

TEST(ChatStreamTools, AfterACollisionOnlyAnUnambiguousContinuationIsTaken) {
  const std::string two =
      Chunk(Fragment(R"("index":0,"id":"a","function":{"name":"f","arguments":"{}"})")) +
      Chunk(Fragment(R"("index":0,"id":"b","function":{"name":"g","arguments":"{"})"));
  // Call a is whole: only b can go on.
  const ModelView open = View(two + Chunk(Fragment(R"("index":0,"function":{"arguments":"}"})")) +
                              FinishChunk("tool_calls") + kDone);
  EXPECT_EQ(open.choices[0].tool_calls[1].arguments, "{}");
  EXPECT_FALSE(Has(open.anomalies, "ambiguous_tool_delta"));
  // By id it is always clear.
  const ModelView by_id =
      View(two + Chunk(Fragment(R"("index":0,"id":"b","function":{"arguments":"}"})")) +
           FinishChunk("tool_calls") + kDone);
  EXPECT_EQ(by_id.choices[0].tool_calls[1].arguments, "{}");
  // Both are whole: neither can.
  const ModelView shut = View(two + Chunk(Fragment(R"("index":0,"function":{"arguments":"}"})")) +
                              Chunk(Fragment(R"("index":0,"function":{"arguments":"{}"})")) +
                              FinishChunk("tool_calls") + kDone);
  EXPECT_EQ(shut.choices[0].tool_calls.size(), 2u);
  EXPECT_EQ(shut.choices[0].tool_calls[1].arguments, "{}");
  EXPECT_TRUE(Has(shut.anomalies, "ambiguous_tool_delta"));
}

// cases/reports.md 16
TEST(ChatStreamTools, WithoutIndexTheIdsDecideAndTheRestIsNotGuessed) {
  const ModelView view = View(
      Chunk(R"("tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":""}},)"
            R"({"id":"b","type":"function","function":{"name":"g","arguments":""}}])") +
      Chunk(Fragment(R"("function":{"arguments":"{\"x\":1}"})")) + FinishChunk("tool_calls") +
      kDone);
  const auto& calls = view.choices[0].tool_calls;
  ASSERT_EQ(calls.size(), 2u);
  EXPECT_EQ(calls[0].id, "a");
  EXPECT_EQ(calls[1].id, "b");
  EXPECT_EQ(calls[0].arguments, "");
  EXPECT_EQ(calls[1].arguments, "");
  EXPECT_FALSE(calls[0].index.has_value());
  EXPECT_TRUE(Has(view.anomalies, "tool_index_missing"));
  EXPECT_TRUE(Has(view.anomalies, "ambiguous_tool_delta"));
}

TEST(ChatStreamTools, WithoutIndexOneCallIsClear) {
  const ModelView view =
      View(Chunk(Fragment(R"("id":"a","function":{"name":"f","arguments":"{"})")) +
           Chunk(Fragment(R"("function":{"arguments":"}"})")) + FinishChunk("tool_calls") + kDone);
  ASSERT_EQ(view.choices[0].tool_calls.size(), 1u);
  EXPECT_EQ(view.choices[0].tool_calls[0].arguments, "{}");
  EXPECT_FALSE(Has(view.anomalies, "ambiguous_tool_delta"));
}

TEST(ChatStreamTools, NewIdInEveryFragmentIsStillOneCall) {
  const ModelView view =
      View(Chunk(Fragment(R"("index":0,"id":"a1","function":{"name":"f","arguments":"{"})")) +
           Chunk(Fragment(R"("index":0,"id":"a2","function":{"arguments":"}"})")) +
           FinishChunk("tool_calls") + kDone);
  ASSERT_EQ(view.choices[0].tool_calls.size(), 1u);
  EXPECT_EQ(view.choices[0].tool_calls[0].arguments, "{}");
  EXPECT_TRUE(Has(view.anomalies, "tool_call_id_changed"));
}

TEST(ChatStreamTools, CustomToolsAndTheOldFormAreJoined) {
  const ModelView custom = View(
      Chunk(
          Fragment(R"("index":0,"id":"a","type":"custom","custom":{"name":"sql","input":"SEL"})")) +
      Chunk(Fragment(R"("index":0,"custom":{"input":"ECT"})")) + FinishChunk("tool_calls") + kDone);
  EXPECT_EQ(custom.choices[0].tool_calls[0].type, "custom");
  EXPECT_EQ(custom.choices[0].tool_calls[0].arguments, "SELECT");
  const ModelView old =
      View(Chunk(R"("function_call":{"name":"f","arguments":""})") +
           Chunk(R"("function_call":{"arguments":"{}"})") + FinishChunk("function_call") + kDone);
  ASSERT_EQ(old.choices[0].tool_calls.size(), 1u);
  EXPECT_EQ(old.choices[0].tool_calls[0].name, "f");
  EXPECT_EQ(old.choices[0].tool_calls[0].arguments, "{}");
}

TEST(ChatStreamTools, HostileIndexesDoNotGrowTheView) {
  std::string calls;
  std::string choices;
  for (int i = 0; i < 1'000; ++i) {
    calls += Chunk(Fragment(R"("index":)" + std::to_string(i) +
                            R"(000000000,"id":"x","function":{"name":"f"})"));
    choices += R"(data: {"choices":[{"index":)" + std::to_string(i) +
               R"(,"delta":{"content":"a"}}]})" + "\n\n";
  }
  const ModelView view = View(calls + choices + kDone);
  EXPECT_EQ(view.choices.size(), 128u);
  EXPECT_TRUE(Has(view.anomalies, "too_many_choices"));
  EXPECT_EQ(view.choices[0].tool_calls.size(), 128u);
  EXPECT_TRUE(Has(view.anomalies, "too_many_tool_calls"));
}

// ---- logprobs

// cases/replay.md 8
TEST(ChatStreamLogprobs, EveryTokenKeepsItsPlace) {
  const ModelView view =
      View(Chunk(R"("role":"assistant","content":"")") + Chunk(R"("reasoning":"think")") +
               TextChunk("a", Logprobs(Entry("a"))) + TextChunk("b", Logprobs(Entry("b"))) +
               TextChunk("c", Logprobs(Entry("c"))) +
               Chunk(Fragment(R"("index":0,"id":"t","function":{"name":"f","arguments":"{}"})")) +
               TextChunk("d", Logprobs(Entry("d")) + R"(,"finish_reason":"stop")") + kDone,
           kWithLogprobs);
  const auto& tokens = view.choices[0].logprobs.tokens;
  ASSERT_EQ(tokens.size(), 4u);
  for (size_t i = 0; i < 4; ++i) EXPECT_EQ(tokens[i].chosen.token, std::string(1, "abcd"[i]));
  EXPECT_TRUE(view.anomalies.empty());
}

// cases/replay.md 8
TEST(ChatStreamLogprobs, AbsentOnesAreNamedAndShiftNothing) {
  const ModelView view =
      View(TextChunk("a", Logprobs(Entry("a"))) + TextChunk("b", R"("logprobs":null)") +
               TextChunk("c", Logprobs(Entry("c"))) + TextChunk("d") + FinishChunk() + kDone,
           kWithLogprobs);
  const auto& tokens = view.choices[0].logprobs.tokens;
  ASSERT_EQ(tokens.size(), 4u);
  EXPECT_FALSE(tokens[0].chosen.censored);
  EXPECT_TRUE(tokens[1].chosen.censored);
  EXPECT_EQ(tokens[1].chosen.token, "b");
  EXPECT_EQ(tokens[2].chosen.token, "c");
  EXPECT_TRUE(Has(view.anomalies, "logprobs_absent:token=1"));
  EXPECT_TRUE(Has(view.anomalies, "logprobs_absent:token=3"));
  EXPECT_FALSE(Has(view.anomalies, "logprobs_absent:token=0"));
}

TEST(ChatStreamLogprobs, AbsentBeforeTheFirstIsNoticedEvenUnasked) {
  const ModelView view =
      View(TextChunk("a") + TextChunk("b", Logprobs(Entry("b"))) + FinishChunk() + kDone);
  const auto& tokens = view.choices[0].logprobs.tokens;
  ASSERT_EQ(tokens.size(), 2u);
  EXPECT_EQ(tokens[1].chosen.token, "b");
  EXPECT_TRUE(Has(view.anomalies, "logprobs_absent:token=0"));
}

TEST(ChatStreamLogprobs, HeldBackTextIsNotMissing) {
  // Two tokens make one character; its text comes after the entries.
  const ModelView view = View(
      TextChunk("", Logprobs(R"({"token":"\\xc3","logprob":-1,"bytes":[195],"top_logprobs":[]})")) +
          TextChunk("",
                    Logprobs(R"({"token":"\\xa9","logprob":-1,"bytes":[169],"top_logprobs":[]})")) +
          TextChunk("\xc3\xa9") + FinishChunk() + kDone,
      kWithLogprobs);
  EXPECT_EQ(view.choices[0].content, "\xc3\xa9");
  EXPECT_EQ(view.choices[0].logprobs.tokens.size(), 2u);
  EXPECT_TRUE(view.anomalies.empty());
}

TEST(ChatStreamLogprobs, SeveralTokensInOneChunkAreKept) {
  const ModelView view =
      View(TextChunk("ab", Logprobs(Entry("a") + "," + Entry("b"))) + FinishChunk() + kDone,
           kWithLogprobs);
  EXPECT_EQ(view.choices[0].logprobs.tokens.size(), 2u);
}

// The token that ends an answer has an id, no text and no logprob: nothing is missing.
TEST(ChatStreamLogprobs, TheIdOfTheEndIsNoAbsentToken) {
  const std::string before = TextChunk("a", Logprobs(Entry("a")) + R"(,"token_ids":[5])") +
                             TextChunk("", R"("logprobs":null,"token_ids":[2])");
  const ModelView view = View(before + FinishChunk() + kDone, kWithLogprobs);
  EXPECT_EQ(view.choices[0].logprobs.tokens.size(), 1u);
  EXPECT_EQ(view.choices[0].token_ids, (std::vector<int64_t>{5, 2}));
  EXPECT_TRUE(view.anomalies.empty());
  // The same in the middle is a token whose logprob did not come.
  const ModelView torn = View(
      before + TextChunk("d", Logprobs(Entry("d")) + R"(,"token_ids":[8])") + FinishChunk() + kDone,
      kWithLogprobs);
  ASSERT_EQ(torn.choices[0].logprobs.tokens.size(), 3u);
  EXPECT_EQ(torn.choices[0].logprobs.tokens[1].chosen.id, 2);
  EXPECT_TRUE(Has(torn.anomalies, "logprobs_absent:token=1"));
}

TEST(ChatStreamLogprobs, IdsTellHowManyAreMissing) {
  const ModelView view =
      View(TextChunk("a", Logprobs(Entry("a")) + R"(,"token_ids":[5])") +
               TextChunk("bc", R"("token_ids":[6,7])") +
               TextChunk("d", Logprobs(Entry("d")) + R"(,"token_ids":[8])") + FinishChunk() + kDone,
           kWithLogprobs);
  const auto& tokens = view.choices[0].logprobs.tokens;
  ASSERT_EQ(tokens.size(), 4u);
  for (size_t i = 0; i < 4; ++i) EXPECT_EQ(tokens[i].chosen.id, static_cast<int64_t>(5 + i));
  EXPECT_TRUE(Has(view.anomalies, "logprobs_absent:token=1"));
  EXPECT_TRUE(Has(view.anomalies, "logprobs_absent:token=2"));
}

TEST(ChatStreamLogprobs, MisalignedTotalsAreNamed) {
  const ModelView view =
      View(TextChunk("ab", Logprobs(Entry("a") + "," + Entry("b")) + R"(,"token_ids":[5])") +
               FinishChunk() + kDone,
           kWithLogprobs);
  EXPECT_TRUE(Has(view.anomalies, "misaligned:ids=1,logprobs=2"));
}

TEST(ChatStreamLogprobs, NanIsNoProbability) {
  const ModelView view = View(
      TextChunk(
          "a",
          Logprobs(
              R"({"token":"a","logprob":NaN,"bytes":[97],"top_logprobs":[{"token":"b","logprob":-Infinity}]})")) +
          FinishChunk() + kDone,
      kWithLogprobs);
  const auto& tokens = view.choices[0].logprobs.tokens;
  ASSERT_EQ(tokens.size(), 1u);
  EXPECT_TRUE(tokens[0].chosen.censored);
  EXPECT_TRUE(tokens[0].top[0].censored);
  EXPECT_TRUE(Has(view.anomalies, "nan"));
  EXPECT_TRUE(Has(view.anomalies, "infinity"));
}

TEST(ChatStreamLogprobs, AskedForAndNeverSentIsSaidOnce) {
  const ModelView view =
      View(TextChunk("a") + TextChunk("b") + FinishChunk() + kDone, kWithLogprobs);
  EXPECT_TRUE(view.choices[0].logprobs.tokens.empty());
  EXPECT_EQ(view.anomalies, std::vector<std::string>{"logprobs_absent"});
}

}  // namespace
}  // namespace reenact::schema
