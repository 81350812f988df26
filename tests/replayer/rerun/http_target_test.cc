// What a target sends, what it makes of the answers, and what it calls those that are none.

#include "replayer/rerun/http_target.h"

#include <memory>
#include <string>
#include <vector>

#include "gtest/gtest.h"

#include "replayer/rerun/repeated_asking.h"
#include "tests/replayer/rerun/scripted_server.h"

namespace reenact::rerun {
namespace {

constexpr const char* kJson = "Content-Type: application/json\r\n";
constexpr const char* kKey = "sk-test-0123456789abcdef0123456789";

class HttpTargetTest : public ::testing::Test {
 protected:
  std::unique_ptr<Target> MakeTarget(const std::string& url, HttpTargetOptions options = {}) {
    options.base_url = url;
    if (!options.wait) {
      options.wait = [this](int64_t wait_ms) {
        waits_.push_back(wait_ms);
        return true;
      };
    }
    auto target = MakeHttpTarget(options, &ledger_);
    EXPECT_TRUE(target.ok()) << target.status();
    return *std::move(target);
  }

  // One question to a server that gives this message each time.
  Sample AskOnce(const std::string& message) {
    ScriptedServer server([&](int, const std::string&, const std::string&) { return message; });
    return MakeTarget(server.url())->Ask(Chat());
  }

  static Question Chat(const RequestEdits& edits = {}) {
    return QuestionOf(RecordedChat(kRequest, ""), edits);
  }

  Ledger ledger_;
  std::vector<int64_t> waits_;
};

std::string Whole(const std::string& id = "c-1") {
  return Http("200 OK", kJson, ChatBody({.tokens = {{"Hel"}, {"lo"}}}, id));
}

// The control of all that follows.
TEST_F(HttpTargetTest, AnAnswerIsReadAndPaidFor) {
  ScriptedServer server(ChatAnswer{.tokens = {{"Hel"}, {"lo"}}});
  const auto target = MakeTarget(server.url());
  const Sample sample = target->Ask(Chat());
  EXPECT_EQ(sample.status, SampleStatus::kAnswered) << sample.detail;
  ASSERT_EQ(sample.view.choices.size(), 1u);
  EXPECT_EQ(sample.view.choices[0].content, "Hello");
  EXPECT_EQ(sample.event.end_state, schema::EndState::kComplete);
  EXPECT_EQ(server.bodies(), std::vector<std::string>{kRequest}) << "the recorded bytes";
  EXPECT_TRUE(server.heads()[0].starts_with("POST /v1/chat/completions HTTP/1.1"));
  EXPECT_EQ(ledger_.total().requests, 1);
  EXPECT_EQ(ledger_.total().prompt_tokens, 9);
  EXPECT_EQ(ledger_.total().completion_tokens, 2);
  EXPECT_EQ(target->abilities().logprobs, Ability::kShown);
  EXPECT_EQ(target->abilities().fingerprint, Ability::kAbsent);
  EXPECT_EQ(target->abilities().token_ids, Ability::kUnknown) << "nobody asked for them";
}

TEST_F(HttpTargetTest, RetriesAreNoSamplesAndWaitAsAsked) {
  ScriptedServer server([](int index, const std::string&, const std::string&) {
    if (index == 0) return Http("429 Too Many Requests", "Retry-After: 7\r\n", "{}");
    if (index == 1) return Http("503 Service Unavailable", "retry-after-ms: 12.5\r\n", "{}");
    if (index == 2) return Http("500 Internal Server Error", "", "{}");
    return Whole();
  });
  const Sample sample = MakeTarget(server.url())->Ask(Chat());
  EXPECT_EQ(sample.status, SampleStatus::kAnswered) << sample.detail;
  EXPECT_EQ(waits_, (std::vector<int64_t>{7000, 13, 2000}));
  EXPECT_EQ(sample.cost.requests, 4);
  EXPECT_EQ(sample.cost.retries, 3);
  EXPECT_EQ(schema::AttemptCount(sample.event.exchange), 1) << "the last attempt is the answer";
}

TEST_F(HttpTargetTest, AStormOfRateLimitsIsAStatus) {
  ScriptedServer server([](int, const std::string&, const std::string&) {
    return Http("429 Too Many Requests", "Retry-After: 0\r\n",
                R"({"error":{"message":"slow down","type":"rate_limit_error","code":null}})");
  });
  const auto target = MakeTarget(server.url(), {.max_attempts = 3});
  const Sample sample = target->Ask(Chat());
  EXPECT_EQ(sample.status, SampleStatus::kRateLimited);
  EXPECT_EQ(server.bodies().size(), 3u);
  EXPECT_TRUE(Answered({sample}).empty());
}

TEST_F(HttpTargetTest, WhoAsksForTooLongAWaitIsGivenUp) {
  const Sample sample = AskOnce(Http("429 Too Many Requests", "Retry-After: 3600\r\n", "{}"));
  EXPECT_EQ(sample.status, SampleStatus::kRateLimited);
  EXPECT_EQ(sample.cost.requests, 1);
  EXPECT_TRUE(waits_.empty());
  EXPECT_NE(sample.detail.find("3600 s"), std::string::npos) << sample.detail;
}

TEST_F(HttpTargetTest, NoAnswerIsMadeOfWhatIsNone) {
  struct Case {
    std::string message;
    SampleStatus status;
  };

  const std::string html = "<html><body>Sign in to the network</body></html>";
  const std::string half = ChatBody({.tokens = {{"Hel"}, {"lo"}}}, "c-1").substr(0, 90);
  const std::string cut_stream =
      "data: {\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m\","
      "\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"Hel\"},"
      "\"finish_reason\":null}]}\n\n";
  const std::string failed_stream =
      cut_stream + "data: {\"error\":{\"message\":\"x\",\"type\":\"server_error\"}}\n\n";
  const char* const event_stream = "Content-Type: text/event-stream\r\n";
  const std::vector<Case> cases = {
      {Http("200 OK", "Content-Type: text/html\r\n", html), SampleStatus::kNoAnswer},
      {Http("200 OK", kJson, html), SampleStatus::kNoAnswer},
      {Http("200 OK", kJson, ""), SampleStatus::kNoAnswer},
      {Http("200 OK", kJson, R"({"id":"c","choices":[]})"), SampleStatus::kNoAnswer},
      {Http("200 OK", kJson, half), SampleStatus::kTruncated},
      {Http("200 OK", event_stream, cut_stream), SampleStatus::kTruncated},
      {Http("200 OK", event_stream, failed_stream), SampleStatus::kServerError},
      {Http("200 OK", kJson, R"({"error":{"message":"x","type":"overloaded"}})"),
       SampleStatus::kServerError},
      {Http("404 Not Found", kJson, R"({"error":{"message":"x","code":"model_not_found"}})"),
       SampleStatus::kRefused},
      {Http("302 Found", "Location: http://127.0.0.1:1/v1\r\n", ""), SampleStatus::kNoAnswer},
      // The connection ends before the length that was told.
      {"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\ncontent-length: 4000\r\n\r\n" + half,
       SampleStatus::kTruncated},
  };
  for (const Case& wrong : cases) {
    const Sample sample = AskOnce(wrong.message);
    EXPECT_EQ(ToString(sample.status), ToString(wrong.status)) << wrong.message;
    EXPECT_FALSE(sample.answered());
  }
}

TEST_F(HttpTargetTest, NobodyThereIsUnreachable) {
  const std::string url = "http://127.0.0.1:" + std::to_string(testing::ClosedPort());
  const Sample sample = MakeTarget(url, {.max_attempts = 2})->Ask(Chat());
  EXPECT_EQ(sample.status, SampleStatus::kUnreachable);
  EXPECT_EQ(sample.cost.retries, 1);
}

TEST_F(HttpTargetTest, NoRequestIsSentBeyondTheBudget) {
  ScriptedServer server(ChatAnswer{.tokens = {{"a"}}});
  Ledger ledger({.max_requests = 3});
  auto target = MakeHttpTarget({.base_url = server.url()}, &ledger);
  ASSERT_TRUE(target.ok());
  const std::vector<Sample> samples =
      AskRepeatedly(target->get(), Chat(), {.count = 50, .at_once = 8});
  EXPECT_EQ(server.bodies().size(), 3u);
  EXPECT_EQ(Answered(samples).size(), 3u);
  EXPECT_TRUE(ledger.ran_out());
}

TEST_F(HttpTargetTest, NothingIsAskedOnceTheTokensAreSpent) {
  ScriptedServer server(ChatAnswer{.tokens = {{"a"}}});  // 9 tokens in, 1 out.
  Ledger ledger({.max_tokens = 25});
  auto target = MakeHttpTarget({.base_url = server.url()}, &ledger);
  ASSERT_TRUE(target.ok());
  const std::vector<Sample> samples = AskRepeatedly(target->get(), Chat(), {.count = 50});
  EXPECT_EQ(server.bodies().size(), 3u);
  EXPECT_EQ(samples.back().status, SampleStatus::kOverBudget);
}

TEST_F(HttpTargetTest, TheKeyGoesToTheTargetAndIntoNoSample) {
  ScriptedServer server([](int, const std::string& head, const std::string&) {
    const size_t at = head.find("Bearer ");
    return Http("401 Unauthorized", kJson,
                R"({"error":{"message":"wrong key )" + head.substr(at + 7, 33) +
                    R"(","code":"invalid_api_key"}})");
  });
  const Sample sample = MakeTarget(server.url(), {.key = kKey})->Ask(Chat());
  ASSERT_EQ(server.heads().size(), 1u);
  EXPECT_NE(server.heads()[0].find(kKey), std::string::npos);
  EXPECT_EQ(sample.status, SampleStatus::kRefused);
  for (const std::string& text :
       {sample.detail, sample.event.response.bytes, sample.event.endpoint,
        sample.view.error_message, schema::EncodeExchange(sample.event.exchange)}) {
    EXPECT_EQ(text.find(kKey), std::string::npos) << text;
  }
  EXPECT_FALSE(MakeHttpTarget({.base_url = "http://user:secret@127.0.0.1/v1"}, &ledger_).ok());
}

TEST_F(HttpTargetTest, ARedirectTakesNoKeyElsewhere) {
  ScriptedServer elsewhere(ChatAnswer{.tokens = {{"a"}}});
  ScriptedServer server([&](int, const std::string&, const std::string&) {
    return Http("307 Temporary Redirect", "Location: " + elsewhere.url() + "\r\n", "");
  });
  const Sample sample = MakeTarget(server.url(), {.key = kKey})->Ask(Chat());
  EXPECT_FALSE(sample.answered());
  EXPECT_TRUE(elsewhere.heads().empty());
}

TEST_F(HttpTargetTest, AnthropicIsAskedInItsOwnWay) {
  ScriptedServer server([](int, const std::string&, const std::string&) {
    return Http("200 OK", kJson,
                R"({"id":"msg_1","type":"message","role":"assistant","model":"claude-x",)"
                R"("content":[{"type":"text","text":"Hi"}],"stop_reason":"end_turn",)"
                R"("usage":{"input_tokens":3,"output_tokens":1}})");
  });
  schema::Event event = RecordedChat(
      R"({"model":"claude-x","max_tokens":9,"messages":[{"role":"user","content":"Hi"}]})", "");
  event.provider = "anthropic";
  event.endpoint = "https://api.anthropic.com/v1/messages";
  event.request_headers = {{"Anthropic-Beta", "b-1"}};
  const auto target = MakeTarget(server.url(), {.key = kKey});
  const Sample sample = target->Ask(QuestionOf(event, {.logprobs = true, .seed = 3}));
  EXPECT_TRUE(sample.answered()) << sample.detail;
  const std::string head = server.heads()[0];
  EXPECT_TRUE(head.starts_with("POST /v1/messages ")) << head;
  EXPECT_NE(head.find("x-api-key: " + std::string(kKey)), std::string::npos);
  EXPECT_NE(head.find("anthropic-version: "), std::string::npos);
  EXPECT_NE(head.find("anthropic-beta: b-1"), std::string::npos);
  EXPECT_EQ(server.bodies()[0], event.request.bytes) << "it has neither seed nor logprobs";
}

TEST_F(HttpTargetTest, TokensAreForcedByAnEchoedCompletion) {
  ScriptedServer server([](int, const std::string&, const std::string&) {
    return Http("200 OK", kJson,
                R"({"id":"cmpl-1","object":"text_completion","created":1,"model":"m",)"
                R"("choices":[{"text":"abc","index":0,"finish_reason":"length","logprobs":{)"
                R"("tokens":["a","b","c"],"token_logprobs":[null,-0.5,-1.5],)"
                R"("top_logprobs":[null,{"b":-0.5,"x":-2},{"d":-0.25,"c":-1.5}],)"
                R"("text_offset":[0,1,2]}}]})");
  });
  const auto target = MakeTarget(server.url());
  const std::vector<int64_t> prompt = {11};
  const std::vector<int64_t> answer = {12, 13};
  const ForcedScores scores = target->Force(Chat(), prompt, answer);
  ASSERT_EQ(scores.status, SampleStatus::kAnswered) << scores.detail;
  ASSERT_EQ(scores.tokens.size(), 2u);
  EXPECT_EQ(scores.tokens[1].chosen.logprob, -1.5);
  EXPECT_NE(server.bodies()[0].find("\"prompt\":[11,12,13]"), std::string::npos);
  EXPECT_NE(server.bodies()[0].find("\"model\":\"m-1\""), std::string::npos);
  EXPECT_EQ(target->abilities().forced_tokens, Ability::kShown);
}

TEST_F(HttpTargetTest, AnInterruptedQuestionIsNamedSo) {
  bool stop = false;
  ScriptedServer server([&](int, const std::string&, const std::string&) {
    stop = true;
    return Http("429 Too Many Requests", "Retry-After: 30\r\n", "{}");
  });
  HttpTargetOptions options;
  options.wait = [&](int64_t) { return !stop; };
  const std::vector<Sample> samples =
      AskRepeatedly(MakeTarget(server.url(), options).get(), Chat(), {.count = 10});
  ASSERT_EQ(samples.size(), 1u) << "nothing is asked after it";
  EXPECT_EQ(samples[0].status, SampleStatus::kInterrupted);
}

TEST_F(HttpTargetTest, ADialectThatIsNotSpokenIsNotSent) {
  ScriptedServer server(ChatAnswer{.tokens = {{"a"}}});
  schema::Event event = RecordedChat(R"({"contents":[]})", "");
  event.provider = "gemini";
  event.endpoint = "https://generativelanguage.googleapis.com/v1beta/models/g:generateContent";
  const Sample sample = MakeTarget(server.url())->Ask(QuestionOf(event, {}));
  EXPECT_EQ(sample.status, SampleStatus::kUnsupported);
  EXPECT_TRUE(server.heads().empty());
}

}  // namespace
}  // namespace reenact::rerun
