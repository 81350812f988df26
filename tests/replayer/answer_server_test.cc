// The tape over HTTP, asked by a client that looks at every byte.

#include "replayer/http/answer_server.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <thread>

#include "replayer/http/http_answer.h"
#include "tests/replayer/tape_builder.h"

namespace reenact::replayer {
namespace {

constexpr char kStreamed[] = R"({"model":"m","messages":[],"stream":true})";

class Client {
 public:
  explicit Client(const AnswerServer& server)
      : fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const std::string url = server.url();
    port_ = url.substr(url.rfind(':') + 1);
    address.sin_port = htons(static_cast<uint16_t>(atoi(port_.c_str())));
    EXPECT_EQ(connect(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
    const timeval limit = {20, 0};  // A server that hangs fails the test, not the machine.
    setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
  }

  ~Client() { close(fd_); }

  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  void Send(const std::string& bytes) {
    EXPECT_EQ(send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
  }

  void Post(const std::string& target, const std::string& body, const std::string& headers = "") {
    Send("POST " + target + " HTTP/1.1\r\nhost: 127.0.0.1:" + port_ + "\r\n" + headers +
         "content-length: " + std::to_string(body.size()) + "\r\n\r\n" + body);
  }

  // All until the server ends the connection; `*reset`: it did so rudely.
  std::string ReadAll(bool* reset = nullptr) {
    std::string all;
    char bytes[4096];
    ssize_t size = 0;
    while ((size = recv(fd_, bytes, sizeof(bytes), 0)) > 0)
      all.append(bytes, static_cast<size_t>(size));
    if (reset != nullptr) *reset = size < 0 && errno == ECONNRESET;
    return all;
  }

  // What has come by now.
  std::string ReadReady() {
    char bytes[4096];
    const ssize_t size = recv(fd_, bytes, sizeof(bytes), MSG_DONTWAIT);
    return {bytes, static_cast<size_t>(size < 0 ? 0 : size)};
  }

  std::string Ask(const std::string& target, const std::string& body) {
    Post(target, body, "connection: close\r\n");
    return ReadAll();
  }

  std::string Get(const std::string& target) {
    Send("GET " + target + " HTTP/1.1\r\nhost: 127.0.0.1:" + port_ +
         "\r\nconnection: close\r\n\r\n");
    return ReadAll();
  }

 private:
  int fd_;
  std::string port_;
};

std::string BodyOf(const std::string& answer) {
  return answer.substr(answer.find("\r\n\r\n") + 4);
}

class AnswerServerTest : public ::testing::Test {
 protected:
  void Start(std::vector<schema::CommandRoute> routes = {}, AnswerPace pace = AnswerPace::kAtOnce) {
    tape_.run().end.reset();
    session_ = std::make_unique<ReplaySession>(tape_.run(), ReplayOptions());
    const schema::Run& run = session_->recorded_run();
    session_->Answer(schema::BeginRun{run.entry, run.input.bytes, {}});
    auto server = AnswerServer::Start(session_.get(), {.routes = std::move(routes), .pace = pace});
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
  }

  ReplayReport Finish() {
    server_.reset();
    return session_->Finish({});
  }

  TapeBuilder tape_;
  std::unique_ptr<ReplaySession> session_;
  std::unique_ptr<AnswerServer> server_;
};

TEST_F(AnswerServerTest, GivesStatusHeadersAndBodyAsRecorded) {
  schema::Event& event = tape_.Model(kUser, R"({"id":"c"})");
  event.exchange[0].status = 201;
  event.exchange[0].headers = {{"Content-Type", "application/json"},
                               {"Content-Length", "10"},
                               {"X-Request-Id", "req_1"},
                               {"Connection", "keep-alive"}};
  Start();
  const std::string answer = Client(*server_).Ask("/v1/chat/completions", kUser);
  EXPECT_EQ(answer,
            "HTTP/1.1 201 Created\r\nContent-Type: application/json\r\nX-Request-Id: req_1\r\n"
            "content-length: 10\r\nconnection: close\r\n\r\n{\"id\":\"c\"}");
  const ReplayReport report = Finish();
  EXPECT_EQ(report.calls_served, 1);
  EXPECT_TRUE(report.divergences.empty());
}

// cases/replay.md 6
TEST_F(AnswerServerTest, AStreamIsCutAsItWas) {
  tape_.Add(
      {.request = kStreamed, .reads = {"data: {\"a\":\"\xc3", "\xa9\"}\n", "\ndata: [DONE]\n\n"}});
  Start();
  const std::string answer = Client(*server_).Ask("/v1/chat/completions", kStreamed);
  EXPECT_EQ(BodyOf(answer),
            "d\r\ndata: {\"a\":\"\xc3\r\n4\r\n\xa9\"}\n\r\nf\r\n\ndata: [DONE]\n\n\r\n0\r\n\r\n");
  EXPECT_TRUE(Finish().divergences.empty());
}

// cases/replay.md 6
TEST_F(AnswerServerTest, AStreamThatBrokeBreaksAgain) {
  tape_.Add(
      {.request = kUser, .reads = {"data: 1\n\n"}, .end_state = schema::EndState::kTruncated});
  tape_.Add({.request = kAfterTool, .reads = {}, .end_state = schema::EndState::kReset});
  Start();
  EXPECT_EQ(BodyOf(Client(*server_).Ask("/v1/chat/completions", kUser)), "9\r\ndata: 1\n\n\r\n");
  Client second(*server_);
  second.Post("/v1/chat/completions", kAfterTool);
  bool reset = false;
  second.ReadAll(&reset);
  EXPECT_TRUE(reset);
}

// cases/replay.md 30
TEST_F(AnswerServerTest, AttemptsOfOneRecordAreServedOneByOne) {
  schema::Event& event = tape_.Add({.request = kUser, .reads = {"slow down", "answer"}});
  schema::ExchangeItem end;
  end.kind = schema::ExchangeItemKind::kAttemptEnd;
  end.detail = "complete";
  schema::ExchangeItem head = event.exchange[0];
  event.exchange[0].status = 429;
  event.exchange[0].headers = {{"retry-after", "2"}};
  event.exchange.insert(event.exchange.begin() + 2, {end, head});
  Start();
  Client client(*server_);
  EXPECT_NE(
      client.Ask("/v1/chat/completions", kUser).find("429 Too Many Requests\r\nretry-after: 2"),
      std::string::npos);
  EXPECT_NE(Client(*server_).Ask("/v1/chat/completions", kUser).find("200 OK"), std::string::npos);
  const ReplayReport report = Finish();
  EXPECT_TRUE(report.divergences.empty());
  EXPECT_EQ(report.calls_served, 1);
}

// cases/replay.md 19
TEST_F(AnswerServerTest, AMissIsNoRetryAndNamesWhatDiffers) {
  tape_.Model(R"({"model":"m","temperature":0,"messages":[{"role":"user","content":"refund?"}]})",
              "{}");
  Start();
  const std::string answer = Client(*server_).Ask(
      "/v1/chat/completions",
      R"({"model":"m","temperature":0.2,"messages":[{"role":"user","content":"refund?"}]})");
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 400 ")) << answer;
  EXPECT_NE(answer.find("x-should-retry: false\r\n"), std::string::npos);
  EXPECT_NE(answer.find("\"code\": \"replay_miss\""), std::string::npos);
  EXPECT_NE(answer.find("\"path\": \"temperature\""), std::string::npos);
  EXPECT_EQ(answer.find("\"path\": \"messages"), std::string::npos);
  EXPECT_NE(answer.find("\"key\": \"sha256:"), std::string::npos);
  EXPECT_NE(answer.find("\"closest\": 0"), std::string::npos);
  EXPECT_NE(answer.find("\"records\": 1"), std::string::npos);
  EXPECT_NE(Client(*server_).Ask("/reenact/report", "").find("novel_call"), std::string::npos);
  // cases/replay.md 32
  EXPECT_EQ(Finish().divergences.back().kind, DivergenceKind::kOmittedCall);
}

// cases/replay.md 1
TEST_F(AnswerServerTest, AnExhaustedTapeSaysSo) {
  tape_.Model(kUser, "{}");
  Start();
  Client(*server_).Ask("/v1/chat/completions", kUser);
  const std::string answer = Client(*server_).Ask("/v1/chat/completions", kUser);
  EXPECT_NE(answer.find("all matching records already used (n=1)"), std::string::npos) << answer;
}

TEST_F(AnswerServerTest, AMissHasTheShapeOfItsDialect) {
  Divergence divergence;
  divergence.summary = "nothing";
  schema::CallKind call;
  call.dialect = schema::ModelDialect::kAnthropicMessages;
  EXPECT_NE(MissOf(divergence, call, 0).pieces[0].bytes.find("\"type\": \"error\""),
            std::string::npos);
  call.dialect = schema::ModelDialect::kGemini;
  EXPECT_NE(MissOf(divergence, call, 0).pieces[0].bytes.find("INVALID_ARGUMENT"),
            std::string::npos);
}

// A tape that an SDK recorded has scopes and names of its host's own.
TEST_F(AnswerServerTest, ARecordIsFoundByItsRequestWhereHttpTellsNoName) {
  tape_.Add({.scope = "turn-1", .name = "answer the customer", .request = kUser, .reads = {"yes"}});
  Start();
  EXPECT_NE(Client(*server_).Ask("/v1/chat/completions", kUser).find("yes"), std::string::npos);
  EXPECT_TRUE(Finish().divergences.empty());
}

TEST_F(AnswerServerTest, RoutesLeadWhereTheyLed) {
  tape_.Add({.boundary = schema::Boundary::kTool,
             .name = "POST orders",
             .provider = "http",
             .request = "{}",
             .reads = {"shipped"},
             .endpoint = "https://orders.example.com/api/lookup?id=7"});
  Start({{"orders", "/orders", "https://orders.example.com/api"}});
  EXPECT_NE(Client(*server_).Ask("/orders/lookup?id=7", "{}").find("shipped"), std::string::npos);
  EXPECT_NE(Client(*server_).Ask("/orders/lookup?id=8", "{}").find("(query).id"),
            std::string::npos);
}

// The client has the server as its HTTP proxy, as well.
TEST_F(AnswerServerTest, AWholeUrlOfTheServerItselfIsAPath) {
  for (const char* id : {"7", "8"}) {
    tape_.Add({.boundary = schema::Boundary::kTool,
               .name = "GET orders",
               .provider = "http",
               .reads = {std::string("order ") + id},
               .endpoint = std::string("https://orders.example.com/api/lookup?id=") + id});
  }
  Start({{"orders", "/orders", "https://orders.example.com/api"}});
  for (const char* id : {"8", "7"}) {
    const std::string target = server_->url() + "/orders/lookup?id=" + id;
    EXPECT_NE(Client(*server_).Get(target).find(std::string("order ") + id), std::string::npos);
  }
  EXPECT_TRUE(Finish().divergences.empty());
}

// Without a route the path tells which of them is meant.
TEST_F(AnswerServerTest, APathWithoutARouteIsFoundByItself) {
  for (const char* id : {"7", "8"}) {
    tape_.Add({.boundary = schema::Boundary::kTool,
               .name = "GET orders",
               .provider = "http",
               .reads = {std::string("order ") + id},
               .endpoint = std::string("https://orders.example.com/lookup?id=") + id});
  }
  Start();
  EXPECT_NE(Client(*server_).Get("/lookup?id=8").find("order 8"), std::string::npos);
  EXPECT_NE(Client(*server_).Get("/lookup?id=7").find("order 7"), std::string::npos);
  EXPECT_TRUE(Client(*server_).Get("/lookup?id=9").starts_with("HTTP/1.1 400 "));
}

// Some clients put the version into the path, others expect it in the base URL that they are given.
TEST_F(AnswerServerTest, APathThatARouteImpliesMayBeLeftOut) {
  for (int i = 0; i < 2; ++i) {
    tape_.Add({.boundary = schema::Boundary::kTool,
               .name = "POST anthropic",
               .provider = "http",
               .request = "{}",
               .reads = {"archived"},
               .endpoint = "https://api.anthropic.com/v1/files/archive"});
  }
  Start({{"anthropic", "/anthropic", "https://api.anthropic.com", "/v1"}});
  for (const char* target : {"/anthropic/files/archive", "/anthropic/v1/files/archive"}) {
    EXPECT_NE(Client(*server_).Ask(target, "{}").find("archived"), std::string::npos) << target;
  }
  EXPECT_TRUE(Finish().divergences.empty());
}

TEST_F(AnswerServerTest, AnotherHostIsNotServed) {
  tape_.Model(kUser, "{}");
  Start();
  Client client(*server_);
  client.Send(
      "GET /reenact/report HTTP/1.1\r\nhost: rebound.example.com\r\nconnection: close\r\n\r\n");
  EXPECT_TRUE(client.ReadAll().starts_with("HTTP/1.1 421 "));
}

TEST_F(AnswerServerTest, OneConnectionAsksManyTimes) {
  for (int i = 0; i < 50; ++i) tape_.Model(kUser, std::to_string(i));
  Start();
  Client client(*server_);
  for (int i = 0; i < 49; ++i) client.Post("/v1/chat/completions", kUser);
  const std::string answers = client.Ask("/v1/chat/completions", kUser);
  EXPECT_NE(answers.find("\r\n2\r\n49\r\n"), std::string::npos);
  EXPECT_TRUE(Finish().divergences.empty());
}

TEST_F(AnswerServerTest, RecordedPaceIsKept) {
  schema::Event& event = tape_.Add({.request = kUser, .reads = {"a", "b"}});
  event.exchange.back().offset_ns = 200'000'000;
  Start({}, AnswerPace::kRecordedTime);
  const auto begin = std::chrono::steady_clock::now();
  Client(*server_).Ask("/v1/chat/completions", kUser);
  EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(200));
}

// Two tools at once: the one that is asked first answered last.
TEST_F(AnswerServerTest, OverlappingAnswersComeInTheirOrderWithoutTheirTime) {
  constexpr int64_t kHour = 3'600'000'000'000;
  const auto record = [&](const std::string& request, int64_t elapsed_ns) {
    schema::Event& event = tape_.Begin({.request = request, .reads = {request}});
    event.started.monotonic_ns = 0;
    event.elapsed_ns = elapsed_ns;
    event.exchange.back().offset_ns = elapsed_ns;
    event.exchange.front().headers = {{"content-length", std::to_string(request.size())}};
    return tape_.run().events.size() - 1;
  };
  const std::string slow = R"({"model":"slow"})";
  const std::string fast = R"({"model":"fast"})";
  const size_t slow_index = record(slow, 2 * kHour);
  const size_t fast_index = record(fast, kHour);
  tape_.run().events[fast_index].started.monotonic_ns = 1;
  tape_.End(fast_index);
  tape_.End(slow_index);
  Start({}, AnswerPace::kRecordedOrder);
  Client first(*server_);
  first.Post("/v1/chat/completions", slow, "connection: close\r\n");
  while (server_->asked() == 0) std::this_thread::yield();
  Client(*server_).Get("/reenact/report");  // The server has done with what it could do.
  const std::string head = first.ReadReady();
  EXPECT_EQ(head.find(slow), std::string::npos) << "the other is still to be asked for";
  Client second(*server_);
  second.Post("/v1/chat/completions", fast, "connection: close\r\n");
  EXPECT_EQ(BodyOf(second.ReadAll()), fast);
  EXPECT_EQ(BodyOf(head + first.ReadAll()), slow);
  EXPECT_EQ(Finish().calls_served, 2);
}

}  // namespace
}  // namespace reenact::replayer
