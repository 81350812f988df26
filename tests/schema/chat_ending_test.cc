// How a call ended, what cuts do to a view, and bodies that nobody should believe.

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "schema/model_view.h"
#include "schema/sse.h"
#include "tests/schema/chat_call.h"

namespace reenact::schema {
namespace {

const ChatCall kUnstreamed = {.request = R"({"model":"m","messages":[]})",
                              .headers = {{"content-type", "application/json"}}};

TEST(ChatEnding, EndMarkIsComplete) {
  const ModelView view = View(TextChunk("a") + FinishChunk() + kDone);
  EXPECT_EQ(EndOf(view), "complete");
  EXPECT_TRUE(view.end_marker);
}

// cases/reports.md 7
TEST(ChatEnding, FinishReasonWithoutEndMarkIsComplete) {
  const ModelView view = View(TextChunk("a") + FinishChunk("content_filter"));
  EXPECT_EQ(EndOf(view), "complete");
  EXPECT_FALSE(view.end_marker);
  EXPECT_EQ(view.choices[0].finish_reason, "content_filter");
  EXPECT_EQ(view.error_kind, "");
  EXPECT_TRUE(Has(view.anomalies, "missing_done"));
}

TEST(ChatEnding, NeitherFinishReasonNorEndMarkIsTruncated) {
  const ModelView view = View(TextChunk("a"));
  EXPECT_EQ(EndOf(view), "truncated:no_terminal_event");
  EXPECT_EQ(view.choices[0].content, "a");
  EXPECT_TRUE(Has(view.anomalies, "no_terminal_event"));
  EXPECT_EQ(EndOf(View(": ping\n\n")), "truncated:no_terminal_event");
  EXPECT_EQ(EndOf(View("")), "truncated:empty_body");
}

TEST(ChatEnding, EveryChoiceMustHaveFinished) {
  const std::string one_of_two = TextChunk("a") +
                                 R"(data: {"choices":[{"index":1,"delta":{"content":"x"}}]})"
                                 "\n\n" +
                                 FinishChunk();
  EXPECT_EQ(EndOf(View(one_of_two)), "truncated:no_terminal_event");
  const ModelView marked = View(one_of_two + kDone);
  EXPECT_EQ(EndOf(marked), "complete");
  EXPECT_TRUE(Has(marked.anomalies, "finish_reason_absent:choice=1"));
  // The second of two that were asked for never began.
  ChatCall asked;
  asked.request = R"({"model":"m","n":2,"stream":true,"messages":[]})";
  EXPECT_EQ(EndOf(View(TextChunk("a") + FinishChunk(), asked)), "truncated:no_terminal_event");
}

TEST(ChatEnding, RecordThatWasCutIsTruncated) {
  const ModelView view = View(TextChunk("a") + FinishChunk() + "data: {\"choices\":[],\"usa");
  EXPECT_EQ(EndOf(view), "truncated:cut_inside_record");
  EXPECT_EQ(EndOf(View(TextChunk("a") + FinishChunk() + "dat")), "truncated:cut_inside_record");
  // The end mark needs no blank line.
  EXPECT_EQ(EndOf(View(TextChunk("a") + FinishChunk() + "data: [DONE]")), "complete");
}

// cases/reports.md 1
TEST(ChatEnding, StreamThatEndsInsideACharacterIsNamedNotRepaired) {
  const std::string whole = TextChunk("caf\xc3\xa9");
  const ModelView view = View(whole.substr(0, whole.find('\xa9')));
  EXPECT_TRUE(Has(view.anomalies, "incomplete_utf8"));
  EXPECT_EQ(view.end_state, EndState::kTruncated);
}

TEST(ChatEnding, TrailingSpaceAndRecordsAfterTheEndMarkAreNamed) {
  const ModelView view =
      View(TextChunk("a") + FinishChunk() + "data: [DONE] \n\n" + TextChunk("b"));
  EXPECT_EQ(EndOf(view), "complete");
  EXPECT_EQ(view.choices[0].content, "a");
  EXPECT_TRUE(Has(view.anomalies, "done_suffix"));
  EXPECT_TRUE(Has(view.anomalies, "records_after_done"));
}

// cases/reports.md 8
TEST(ChatEnding, ErrorEventInsideA200IsAProviderError) {
  const ModelView view = View(TextChunk("a") + TextChunk("b") +
                              R"(event: error
data: {"type":"error","error":{"type":"overloaded_error","message":"busy"}}

)");
  EXPECT_EQ(EndOf(view), "provider_error:overloaded_error");
  EXPECT_EQ(view.http_status, 200);
  EXPECT_EQ(view.error_message, "busy");
  EXPECT_EQ(view.choices[0].content, "ab");
}

TEST(ChatEnding, ErrorRecordsOfEveryFormAreProviderErrors) {
  const struct {
    const char* record;
    const char* end;
  } kRows[] = {
      {R"(data: {"error":{"message":"m","type":"server_error","code":null}})",
       "provider_error:server_error"},
      {"event: error\ndata: "
       "{\"type\":\"error\",\"code\":\"rate_limit_exceeded\",\"message\":\"m\"}",
       "provider_error:rate_limit_exceeded"},
      {"event: error\ndata: upstream gone", "provider_error:error"},
      {"event: error", "provider_error:error"},
      {R"(data: {"error":"m"})", "provider_error:error"},
      {R"(data: {"object":"error","message":"m","type":"Bad","code":400})", "provider_error:Bad"},
      {R"(data: {"choices":[{"index":0,"delta":{},"error":{"code":"gone","message":"m"}}]})",
       "provider_error:gone"},
  };

  for (const auto& row : kRows) {
    // vLLM sends its end mark after an error too.
    for (const std::string& tail : {std::string(), kDone}) {
      const ModelView view = View(TextChunk("a") + row.record + "\n\n" + tail);
      EXPECT_EQ(EndOf(view), row.end) << row.record;
      EXPECT_EQ(view.choices[0].content, "a");
      EXPECT_EQ(view.end_marker, !tail.empty());
    }
  }
}

TEST(ChatEnding, DocumentThatWasCutIsTruncated) {
  const std::string whole =
      R"({"choices":[{"index":0,"finish_reason":"stop","message":{"content":"caf)"
      "\xc3\xa9"
      R"("}}]})";
  EXPECT_EQ(EndOf(View(whole, kUnstreamed)), "complete");
  for (size_t size = 1; size < whole.size(); ++size) {
    const ModelView view = View(whole.substr(0, size), kUnstreamed);
    EXPECT_EQ(EndOf(view), "truncated:cut_inside_document") << size;
    EXPECT_FALSE(view.end_marker);
  }
  EXPECT_TRUE(
      Has(View(whole.substr(0, whole.find('\xa9')), kUnstreamed).anomalies, "incomplete_utf8"));
}

TEST(ChatEnding, DocumentThatIsMalformedIsAProviderError) {
  EXPECT_EQ(EndOf(View(R"({"choices" []})", kUnstreamed)), "provider_error:malformed_body");
  EXPECT_EQ(EndOf(View(R"({"choices":[]}{"choices":[]})", kUnstreamed)),
            "provider_error:malformed_body");
}

TEST(ChatEnding, DeepNestingIsRefusedNotFollowed) {
  const std::string deep = std::string(100'000, '[') + std::string(100'000, ']');
  EXPECT_TRUE(Has(View(deep, kUnstreamed).anomalies, "json_error"));
  EXPECT_TRUE(Has(View("data: " + deep + "\n\n" + kDone).anomalies, "json_error:event=0"));
}

// cases/replay.md 6, 7
TEST(ChatEnding, WhatTheTransportSawStands) {
  const std::string body = TextChunk("a") + FinishChunk();
  for (const EndState state :
       {EndState::kReset, EndState::kTruncated, EndState::kAbandonedByCaller,
        EndState::kTruncatedByLimit, EndState::kIncomplete, EndState::kError}) {
    ChatCall call;
    call.end_state = state;
    EXPECT_EQ(View(body, call).end_state, state);
  }
  ChatCall reset;
  reset.end_state = EndState::kReset;
  const ModelView failed = View(TextChunk("a") + "data: {\"error\":\"m\"}\n\n", reset);
  EXPECT_EQ(failed.end_state, EndState::kReset);
  EXPECT_EQ(failed.error_kind, "error");
}

// cases/replay.md 7
TEST(ChatEnding, ClientThatClosesAfterTheEndMarkHasSeenItAll) {
  ChatCall call;
  call.end_state = EndState::kAbandonedByCaller;
  EXPECT_EQ(EndOf(View(TextChunk("a") + FinishChunk() + kDone, call)), "complete");
  EXPECT_EQ(EndOf(View(TextChunk("a"), call)), "abandoned_by_caller");
}

TEST(ChatEnding, HostMayNameTheProvidersErrorItself) {
  Event event = MakeEvent(TextChunk("a") + FinishChunk() + kDone);
  event.end_state = EndState::kProviderError;
  event.end_detail = "overloaded";
  EXPECT_EQ(EndOf(ViewModelCall(event)), "provider_error:overloaded");
  EXPECT_EQ(ViewModelCall(event).error_kind, "overloaded");
}

TEST(ChatEnding, OurOwnCutIsNotTheProviders) {
  Event event = MakeEvent(TextChunk("a"));
  event.response.cut = true;
  EXPECT_EQ(ViewModelCall(event).end_state, EndState::kTruncatedByLimit);
}

TEST(ChatEnding, LastAttemptIsTheAnswer) {
  const std::string first = R"({"error":{"message":"m","type":"rate_limit_error"}})";
  const std::string second = TextChunk("a") + FinishChunk() + kDone;
  Event event = MakeEvent(first + second);
  event.exchange = {
      {.kind = ExchangeItemKind::kHead, .offset_ns = 1, .status = 429},
      {.kind = ExchangeItemKind::kBytes, .offset_ns = 2, .size = first.size()},
      {.kind = ExchangeItemKind::kAttemptEnd, .offset_ns = 3, .detail = "provider_error"},
      {.kind = ExchangeItemKind::kHead, .offset_ns = 10, .status = 200},
      {.kind = ExchangeItemKind::kBytes, .offset_ns = 11, .size = second.size()},
  };
  const ModelView view = ViewModelCall(event);
  EXPECT_EQ(view.http_status, 200);
  EXPECT_EQ(view.first_byte_ns, 11);
  EXPECT_EQ(view.error_kind, "");
  EXPECT_EQ(EndOf(view), "complete");
  EXPECT_EQ(view.choices[0].content, "a");
}

// cases/reports.md 28
TEST(ChatEnding, EncodedBodiesAreNamedAndNotRead) {
  ChatCall call = kUnstreamed;
  call.headers.emplace_back("Content-Encoding", "gzip");
  const ModelView gzip = View(std::string("\x1f\x8b\x08\x00", 4) + "rest", call);
  EXPECT_TRUE(Has(gzip.anomalies, "content_encoding:gzip"));
  EXPECT_TRUE(gzip.choices.empty());
  EXPECT_EQ(EndOf(gzip), "complete");
  // The transport has decoded it already; the header stayed.
  EXPECT_EQ(View(R"({"model":"m-1","choices":[]})", call).served_model, "m-1");
  call.headers = {{"content-encoding", "br"}};
  EXPECT_TRUE(Has(View("\x8b\x02\x80", call).anomalies, "content_encoding:br"));
  // Without the header the bytes still tell.
  EXPECT_TRUE(Has(View(std::string("\x1f\x8b\x08\x00", 4)).anomalies, "content_encoding:gzip"));
}

TEST(ChatEnding, StreamsAreFoundWhateverTheContentTypeSays) {
  EXPECT_EQ(View(TextChunk("a") + FinishChunk() + kDone, kUnstreamed).choices[0].content, "a");
  const ModelView error = View(R"({"error":{"message":"m","type":"t"}})", {.status = 400});
  EXPECT_EQ(error.error_kind, "t");
}

TEST(ChatEnding, LineDelimitedJsonIsNoChatAnswer) {
  const std::string body = "{\"message\":{\"content\":\"a\"},\"done\":false}\n{\"done\":true}\n";
  const ModelView as_chat = View(body, kUnstreamed);
  EXPECT_TRUE(Has(as_chat.anomalies, "ndjson"));
  EXPECT_TRUE(as_chat.choices.empty());
  EXPECT_EQ(EndOf(as_chat), "complete");
}

TEST(ChatEnding, UnknownDialectStillHasAStatus) {
  ChatCall call = kUnstreamed;
  call.endpoint = "https://bedrock-runtime.us-east-1.amazonaws.com/model/amazon.nova/converse";
  call.provider = "bedrock";
  call.status = 529;
  const ModelView view = View("{}", call);
  EXPECT_EQ(view.dialect, ModelDialect::kUnknown);
  EXPECT_EQ(EndOf(view), "provider_error:http_529");
}

TEST(ChatEnding, RecordWithoutExchangeIsReadWhole) {
  Event event = MakeEvent(TextChunk("a") + FinishChunk() + kDone);
  event.exchange.clear();
  const ModelView view = ViewModelCall(event);
  EXPECT_EQ(view.choices[0].content, "a");
  EXPECT_EQ(view.http_status, 0);
  EXPECT_FALSE(view.first_byte_ns.has_value());
  EXPECT_EQ(EndOf(view), "complete");
}

TEST(ChatEnding, RequestThatIsNoJsonIsNamed) {
  ChatCall call;
  call.request = "not json";
  const ModelView view = View(TextChunk("a") + FinishChunk() + kDone, call);
  EXPECT_TRUE(Has(view.anomalies, "request:json_error"));
  EXPECT_EQ(view.choices[0].content, "a");
  call.request = R"({"model":"m","messages":[{"role":"user","content":"done \ud83d"}]})";
  EXPECT_TRUE(Has(View(kDone, call).anomalies, "request:lone_surrogate"));
}

// ---- properties

std::vector<std::string> Corpus() {
  const std::string logprobs =
      R"("logprobs":{"content":[{"token":"x","logprob":-0.5,"bytes":[120],"top_logprobs":[{"token":"y","logprob":-9999.0,"bytes":null}]}]})";
  return {
      "\xef\xbb\xbf: ping\r\n\r\n" + TextChunk("caf\xc3\xa9 \xf0\x9f\x8c\x8d", logprobs) +
          TextChunk("x") + FinishChunk() +
          "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":7}}\r\n\r\n" + kDone,
      Chunk(
          R"("tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":"}},{"index":0,"id":"b","function":{"name":"g","arguments":"{}"}}])") +
          Chunk(R"("tool_calls":[{"function":{"arguments":"1}"}}])") + FinishChunk("tool_calls") +
          kDone,
      TextChunk("a") +
          "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\"}}\n\n",
      R"({"id":"c","model":"m-1","system_fingerprint":null,"choices":[{"index":0,"finish_reason":"stop","message":{"content":"caf\u00e9","reasoning":"w\ud83d"},"logprobs":{"content":[{"token":"a","logprob":1e400,"bytes":[239,191,189],"top_logprobs":[]}]}}],"usage":{"prompt_tokens":9007199254740993}})",
      R"({"error":{"message":"m","type":"tokens","code":"rate_limit_exceeded"}})",
  };
}

// cases/reports.md 1, 2; cases/replay.md 6
TEST(ChatProperty, CutsChangeNothing) {
  ChatCall call;
  call.request = R"({"model":"m","logprobs":true,"messages":[]})";
  for (const std::string& body : Corpus()) {
    const std::string whole = Describe(ViewModelCall(MakeEvent(body, call)));
    for (size_t cut = 1; cut < body.size(); ++cut) {
      ASSERT_EQ(Describe(ViewModelCall(MakeEvent(body, call, cut))), whole) << cut;
    }
  }
}

// A cut connection never looks complete: every prefix that lacks the finish reason is truncated,
// and what was read of the text is a prefix of the whole.
TEST(ChatProperty, PrefixesNeverLookComplete) {
  const std::string unfinished = TextChunk("caf\xc3\xa9") + TextChunk("x");
  const std::string whole = unfinished + FinishChunk() + kDone;
  for (size_t size = 0; size < whole.size(); ++size) {
    const ModelView view = View(whole.substr(0, size));
    if (size <= unfinished.size()) {
      EXPECT_EQ(view.end_state, EndState::kTruncated) << size;
    }
    if (view.choices.empty() || !view.choices[0].content) continue;
    EXPECT_TRUE(std::string_view("caf\xc3\xa9x").starts_with(*view.choices[0].content)) << size;
  }
}

TEST(ChatProperty, MutatedBodiesNeverCrash) {
  std::mt19937 random(20261129);
  const std::vector<std::string> corpus = Corpus();
  using std::string_view_literals::operator""sv;
  constexpr std::string_view kTroublemakers =
      "{}[]\",:\\\r\n \x00\xff\xed\xc3"
      "0-eE:data"sv;
  int complete_count = 0;
  for (int round = 0; round < 4'000; ++round) {
    std::string body = corpus[random() % corpus.size()];
    const size_t edits = 1 + random() % 6;
    for (size_t i = 0; i < edits && !body.empty(); ++i) {
      const size_t at = random() % body.size();
      switch (random() % 4) {
        case 0:
          body[at] = kTroublemakers[random() % kTroublemakers.size()];
          break;
        case 1:
          body.erase(at, random() % 16);
          break;
        case 2:
          body.insert(at, body.substr(random() % body.size(), random() % 64));
          break;
        default:
          body.insert(at, 1, kTroublemakers[random() % kTroublemakers.size()]);
      }
    }
    const std::string first = Describe(View(body));
    ASSERT_EQ(Describe(ViewModelCall(MakeEvent(body, {}, random() % (body.size() + 1)))), first);
    if (View(body).end_state == EndState::kComplete) ++complete_count;
  }
  EXPECT_GT(complete_count, 0);
}

}  // namespace
}  // namespace reenact::schema
