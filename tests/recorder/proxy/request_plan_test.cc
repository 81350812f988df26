// Requests that are changed, or answered, before they reach an upstream.

#include "recorder/proxy/request_plan.h"

#include <cstdio>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

#include "recorder/proxy/logprob_asker.h"
#include "schema/request_edit.h"
#include "tests/recorder/proxy/proxy_fixture.h"
#include "tests/support/content_encodings.h"

namespace reenact::testing {
namespace {

using proxy::GivenAnswer;
using proxy::LogprobAsker;
using proxy::RequestPlan;
using proxy::WholeRequest;
using schema::EndState;
using schema::ModelDialect;

// What reached the upstream, whole.
class Inbox {
 public:
  std::function<void(Socket&)> Answering(std::string answer) {
    return [this, answer = std::move(answer)](Socket& socket) {
      for (std::string request; !(request = socket.ReadMessage()).empty(); socket.Send(answer)) {
        const std::lock_guard<std::mutex> lock(mutex_);
        requests_.push_back(std::move(request));
      }
    };
  }

  std::vector<std::string> requests() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return requests_;
  }

  // Of the last one.
  std::string body() {
    const std::vector<std::string> all = requests();
    return all.empty() ? "" : all.back().substr(all.back().find("\r\n\r\n") + 4);
  }

 private:
  std::mutex mutex_;
  std::vector<std::string> requests_;
};

class FixedPlanner final : public proxy::RequestPlanner {
 public:
  explicit FixedPlanner(RequestPlan plan) : plan_(std::move(plan)) {}

  RequestPlan Plan(const WholeRequest& request) override {
    seen.push_back(std::string(request.body));
    return plan_;
  }

  std::vector<std::string> seen;

 private:
  const RequestPlan plan_;
};

constexpr char kAsking[] =
    R"({"model":"m","messages":[{"role":"user","content":"hi"}],"logprobs":true,"top_logprobs":3})";

TEST_F(ProxyTest, AsksForLogprobsOnBehalfOfTheClient) {
  Inbox inbox;
  const std::string answer = Answer(R"({"id":"1","choices":[{"logprobs":{"content":[]}}]})");
  const Upstream upstream(inbox.Answering(answer));
  LogprobAsker asker({.share = 1, .top = 3});
  planner_ = &asker;
  Start(upstream.url());
  const std::string got = Ask(Post("/openai/v1/chat/completions", kChat));
  EXPECT_NE(got.find(R"({"id":"1","choices":[{"logprobs":{"content":[]}}]})"), std::string::npos)
      << "the answer is the provider's, byte for byte: " << got;
  EXPECT_EQ(inbox.body(), kAsking);
  const std::vector<schema::Event> events = Events();
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].request.bytes, kAsking) << "as it was sent";
  EXPECT_EQ(schema::WithoutEdits(events[0].request.bytes, events[0].meta), kChat);
  EXPECT_NE(Fact(events[0], "request_edits").find("top_logprobs"), std::string::npos);
}

TEST_F(ProxyTest, AsksNobodyWhoAsksOrWouldRefuse) {
  Inbox inbox;
  const Upstream upstream(inbox.Answering(Answer("{}")));
  LogprobAsker asker({.share = 1, .top = 3});
  planner_ = &asker;
  Start(upstream.url());
  const std::vector<std::pair<std::string, std::string>> calls = {
      {"/openai/v1/chat/completions", R"({"model":"m","messages":[],"logprobs":false})"},
      {"/openai/v1/chat/completions", R"({"model":"o3-mini","messages":[]})"},
      {"/openai/v1/chat/completions", R"({"model":"m","messages":[],"reasoning_effort":"low"})"},
      {"/openai/v1/embeddings", R"({"model":"m","input":"x"})"},
      {"/up/v1/messages", R"({"model":"m","max_tokens":1,"messages":[]})"},
      {"/up/orders", R"({"order":1})"}};
  for (const auto& [path, body] : calls) {
    Ask(Post(path, body));
    EXPECT_EQ(inbox.body(), body) << path;
  }
  for (const schema::Event& event : Events()) EXPECT_EQ(Fact(event, "request_edits"), "");
}

TEST_F(ProxyTest, AModelThatRefusedLogprobsIsNotAskedAgain) {
  Inbox inbox;
  const Upstream upstream(
      inbox.Answering("HTTP/1.1 400 Bad Request\r\nContent-Length: 2\r\n\r\n{}"));
  LogprobAsker asker({.share = 1, .top = 3});
  planner_ = &asker;
  Start(upstream.url());
  Ask(Post("/openai/v1/chat/completions", kChat));
  EXPECT_EQ(inbox.body(), kAsking);
  Ask(Post("/openai/v1/chat/completions", kChat));
  EXPECT_EQ(inbox.body(), kChat);
  Stop();
}

TEST_F(ProxyTest, AChangedRequestMayHaveComeInAnyShape) {
  Inbox inbox;
  const Upstream upstream(inbox.Answering(Answer("{}")));
  LogprobAsker asker({.share = 1, .top = 3});
  planner_ = &asker;
  Start(upstream.url());
  Ask(Post("/openai/v1/chat/completions", Encoded(kChat, "gzip"), "Content-Encoding: gzip\r\n"));
  EXPECT_EQ(inbox.body(), kAsking);
  EXPECT_EQ(inbox.requests().back().find("gzip"), std::string::npos);

  std::unique_ptr<Socket> client = Client();
  client->Send(
      "POST /openai/v1/chat/completions HTTP/1.1\r\nHost: 127.0.0.1\r\n"
      "Transfer-Encoding: chunked\r\nExpect: 100-continue\r\n\r\n");
  EXPECT_EQ(client->ReadTo("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
  const std::string chat = kChat;
  char size[16];
  std::snprintf(size, sizeof(size), "%zx\r\n", chat.size());
  client->Send("1\r\n{\r\n");
  std::snprintf(size, sizeof(size), "%zx\r\n", chat.size() - 1);
  client->Send(size + chat.substr(1) + "\r\n0\r\n\r\n");
  EXPECT_NE(client->ReadMessage().find("200 OK"), std::string::npos);
  client.reset();  // Held open, it can hold up the stop.
  EXPECT_EQ(inbox.body(), kAsking);
  Stop();
}

TEST(LogprobAsker, TakesTheShareThatItWasGiven) {
  const schema::CallKind kind = schema::ClassifyCall(
      {.method = "POST", .host = "h", .route = "openai", .target = "/v1/chat/completions"});
  const auto asked = [&](double share) {
    LogprobAsker asker({.share = share, .top = 0});
    int count = 0;
    for (int i = 0; i < 1000; ++i) {
      const std::string body = R"({"model":"m","messages":[],"n":)" + std::to_string(i) + "}";
      const WholeRequest request{.method = "POST", .target = "/", .kind = &kind, .body = body};
      const bool first = asker.Plan(request).body.has_value();
      EXPECT_EQ(asker.Plan(request).body.has_value(), first) << "an attempt is asked alike";
      count += first ? 1 : 0;
    }
    return count;
  };
  EXPECT_EQ(asked(0), 0);
  EXPECT_EQ(asked(1), 1000);
  // Six standard deviations to either side.
  EXPECT_GT(asked(0.2), 200 - 76);
  EXPECT_LT(asked(0.2), 200 + 76);
}

TEST(LogprobAsker, EachDialectIsAskedInItsWay) {
  const auto sent = [](ModelDialect dialect, std::string body, int32_t top) {
    for (schema::RequestEdit& edit : proxy::EditsToAsk(dialect, body, top)) {
      body = *schema::ApplyEdit(body, &edit);
    }
    return body;
  };
  EXPECT_EQ(sent(ModelDialect::kOpenAiChat, "{}", 0), R"({"logprobs":true})");
  EXPECT_EQ(sent(ModelDialect::kOpenAiCompletions, "{}", 20), R"({"logprobs":5})");
  EXPECT_EQ(sent(ModelDialect::kOpenAiResponses, "{}", 2),
            R"({"include":["message.output_text.logprobs"],"top_logprobs":2})");
  EXPECT_EQ(sent(ModelDialect::kOpenAiResponses, R"({"include":["a"]})", 0),
            R"({"include":["a","message.output_text.logprobs"]})");
  EXPECT_EQ(
      sent(ModelDialect::kOpenAiResponses, R"({"include":["message.output_text.logprobs"]})", 2),
      R"({"include":["message.output_text.logprobs"]})");
  EXPECT_EQ(sent(ModelDialect::kGemini, "{}", 2), "{}");
}

TEST(LogprobAsker, PolicyIsReadAsItIsWritten) {
  for (const char* text : {"0.1:5", "1:0", "0:20"}) {
    const auto policy = proxy::ParseLogprobPolicy(text);
    ASSERT_TRUE(policy.ok()) << text;
    EXPECT_EQ(proxy::ToString(*policy), text);
  }
  EXPECT_EQ(proxy::ParseLogprobPolicy("0.5")->top, 5);
  for (const char* text : {"", "x", "2", "-1", "0.1:", "0.1:21", "0.1:x", "nan", "0.1:5:5"}) {
    EXPECT_FALSE(proxy::ParseLogprobPolicy(text).ok()) << text;
  }
}

// --- answers that need no upstream ---

TEST_F(ProxyTest, AGivenAnswerReachesNoUpstream) {
  const Upstream upstream(Always(Answer("live")));
  uint64_t taken = 0;
  RequestPlan plan;
  plan.facts = {{"answered_by", "tape"}};
  plan.answer = GivenAnswer{.status = 201,
                            .headers = {{"Content-Type", "text/event-stream"}},
                            .pieces = {"data: 1\n\n", "data: 2\n\n"},
                            .done = [&](uint64_t bytes, bool whole) { taken = whole ? bytes : 0; }};
  FixedPlanner planner(std::move(plan));
  planner_ = &planner;
  Start(upstream.url());
  std::unique_ptr<Socket> client = Client();
  for (int i = 0; i < 2; ++i) {  // The connection is kept.
    client->Send(Post("/openai/v1/chat/completions", kChat));
    const std::string got = client->ReadMessage();
    EXPECT_NE(got.find("HTTP/1.1 201"), std::string::npos) << got;
    EXPECT_NE(got.find("9\r\ndata: 1\n\n\r\n9\r\ndata: 2\n\n\r\n0\r\n\r\n"), std::string::npos)
        << got;
  }
  client.reset();  // Held open, it can hold up the stop.
  const std::vector<schema::Event> events = Events();
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[0].response.bytes, "data: 1\n\ndata: 2\n\n");
  EXPECT_EQ(events[0].end_state, EndState::kComplete);
  EXPECT_EQ(Fact(events[0], "answered_by"), "tape");
  EXPECT_EQ(planner.seen, std::vector<std::string>(2, kChat));
  EXPECT_EQ(taken, 18u);
  EXPECT_EQ(upstream.connections(), 0);
}

TEST_F(ProxyTest, AGivenAnswerBreaksOffAsItDid) {
  const Upstream upstream(Always(Answer("live")));
  RequestPlan plan;
  plan.answer = GivenAnswer{.status = 200,
                            .headers = {},
                            .content_length = 100,
                            .pieces = {"half"},
                            .end = reenact::EndState::kTruncated,
                            .done = nullptr};
  FixedPlanner planner(std::move(plan));
  planner_ = &planner;
  Start(upstream.url());
  const std::unique_ptr<Socket> client = Client();
  client->Send(Post("/openai/v1/chat/completions", kChat));
  const std::string got = client->ReadAll();
  EXPECT_NE(got.find("content-length: 100"), std::string::npos) << got;
  EXPECT_TRUE(got.ends_with("half")) << got;
  const std::vector<schema::Event> events = Events();
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].end_state, EndState::kTruncated);
}

TEST_F(ProxyTest, AGivenAnswerThatWasLeftIsHeldOpenUntilTheClientGoes) {
  const Upstream upstream(Always(Answer("live")));
  std::promise<bool> told;
  RequestPlan plan;
  plan.answer = GivenAnswer{.status = 200,
                            .headers = {},
                            .pieces = {"begun"},
                            .end = reenact::EndState::kAbandonedByCaller,
                            .done = [&](uint64_t, bool whole) { told.set_value(whole); }};
  FixedPlanner planner(std::move(plan));
  planner_ = &planner;
  Start(upstream.url());
  const std::unique_ptr<Socket> client = Client();
  client->Send(Post("/openai/v1/chat/completions", kChat));
  client->ReadTo("begun");
  client->Close();
  EXPECT_FALSE(told.get_future().get());
  const std::vector<schema::Event> events = Events();
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].end_state, EndState::kAbandonedByCaller);
}

}  // namespace
}  // namespace reenact::testing
