// What the proxy records of what passes through it.

#include <sys/socket.h>

#include <cerrno>
#include <future>
#include <memory>
#include <string>
#include <vector>

#include "gtest/gtest.h"

#include "schema/record.h"
#include "tests/recorder/proxy/proxy_fixture.h"

namespace reenact::testing {
namespace {

using schema::EndState;

TEST_F(ProxyTest, ModelCallIsRecordedAsOne) {
  const Upstream upstream(Always(Answer(R"({"id":"1"})", "X-Request-Id: r1\r\n")));
  Start(upstream.url());
  Ask(Post("/openai/v1/chat/completions", kChat, "X-Stainless-Lang: js\r\n"));
  const std::vector<schema::Event> events = Events();
  ASSERT_EQ(events.size(), 1u);
  const schema::Event& event = events[0];
  EXPECT_EQ(event.boundary, schema::Boundary::kModel);
  EXPECT_EQ(event.name, "chat");
  EXPECT_EQ(event.provider, "openai");
  EXPECT_EQ(event.endpoint, upstream.url() + "/v1/chat/completions");
  EXPECT_EQ(event.request.bytes, kChat);
  EXPECT_EQ(event.response.bytes, R"({"id":"1"})");
  EXPECT_EQ(event.end_state, EndState::kComplete);
  EXPECT_EQ(Fact(event, "method"), "POST");
  ASSERT_FALSE(event.exchange.empty());
  EXPECT_EQ(event.exchange[0].status, 200);
  const schema::Headers& headers = event.exchange[0].headers;
  EXPECT_NE(std::find(headers.begin(), headers.end(),
                      std::pair<std::string, std::string>("X-Request-Id", "r1")),
            headers.end());
  EXPECT_EQ(report_.model_calls, 1u);
}

TEST_F(ProxyTest, PlainHttpIsRecordedAsSuch) {
  const Upstream upstream(Always(Answer("{}")));
  Start(upstream.url());
  Ask("GET /up/orders/7?full=1 HTTP/1.1\r\nHost: localhost\r\n\r\n");
  const std::vector<schema::Event> events = Events();
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].boundary, schema::Boundary::kTool);
  EXPECT_EQ(events[0].provider, "http");
  EXPECT_EQ(events[0].name, "GET up");
  EXPECT_EQ(events[0].endpoint, upstream.url() + "/orders/7?full=1");
  EXPECT_EQ(report_.http_calls, 1u);
}

TEST_F(ProxyTest, TelemetryPassesAndIsNotRecorded) {
  const Upstream upstream(Always(Answer("{}")));
  Start(upstream.url());
  EXPECT_EQ(Ask(Post("/up/v1/traces", R"({"resourceSpans":[]})")), Answer("{}"));
  EXPECT_TRUE(Events().empty());
  EXPECT_EQ(report_.telemetry, 1u);
}

TEST_F(ProxyTest, ClientThatGoesAwayAbandonsItsCall) {
  std::promise<bool> upstream_let_go;
  const Upstream upstream([&](Socket& socket) {
    socket.ReadMessage();
    socket.Send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\npart\r\n");
    upstream_let_go.set_value(socket.WaitForEnd());
  });
  Start(upstream.url());
  const auto client = Client();
  client->Send(Post("/openai/v1/chat/completions", kChat));
  client->ReadTo("part\r\n");
  client->Close();
  EXPECT_TRUE(upstream_let_go.get_future().get());
  const std::vector<schema::Event> events = Events();
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].end_state, EndState::kAbandonedByCaller);
  EXPECT_EQ(events[0].response.bytes, "part");
}

TEST_F(ProxyTest, ClientThatGoesAwayBeforeAnyAnswerIsNoticed) {
  std::promise<bool> upstream_let_go;
  std::promise<void> asked;
  const Upstream upstream([&](Socket& socket) {
    socket.ReadMessage();
    asked.set_value();
    upstream_let_go.set_value(socket.WaitForEnd());
  });
  Start(upstream.url());
  const auto client = Client();
  client->Send(Post("/openai/v1/chat/completions", kChat));
  asked.get_future().wait();
  client->Reset();
  EXPECT_TRUE(upstream_let_go.get_future().get());
  const std::vector<schema::Event> events = Events();
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].end_state, EndState::kAbandonedByCaller);
  EXPECT_EQ(report_.client_aborts, 1u);
}

TEST_F(ProxyTest, RequestThatStopsHalfWayIsAbandoned) {
  std::promise<void> half_seen;
  const Upstream upstream([&](Socket& socket) {
    socket.ReadTo("half");
    half_seen.set_value();
    socket.WaitForEnd();
  });
  Start(upstream.url());
  const auto client = Client();
  client->Send("POST /up HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\nhalf");
  half_seen.get_future().wait();
  client->Close();
  const std::vector<schema::Event> events = Events();
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].end_state, EndState::kAbandonedByCaller);
  EXPECT_EQ(events[0].request.bytes, "half");
  EXPECT_NE(Fact(events[0], "request_unfinished"), "");
}

TEST_F(ProxyTest, AnswerThatStopsHalfWayDoesSoForTheClientToo) {
  const Upstream upstream([](Socket& socket) {
    socket.ReadMessage();
    socket.Send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\npart\r\n");
  });
  Start(upstream.url());
  const auto client = Client();
  client->Send(Post("/openai/v1/chat/completions", kChat));
  EXPECT_EQ(client->ReadAll(),
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\npart\r\n");
  const std::vector<schema::Event> events = Events();
  ASSERT_EQ(events.size(), 1u);
  EXPECT_TRUE(events[0].end_state == EndState::kTruncated ||
              events[0].end_state == EndState::kReset);
  EXPECT_EQ(events[0].response.bytes, "part");
}

// Without its end in chunks, or a length, a reset is all that tells it from a whole answer.
TEST_F(ProxyTest, AnswerThatIsResetIsSoForTheClientToo) {
  std::promise<void> part_seen;
  const Upstream upstream([&](Socket& socket) {
    socket.ReadMessage();
    socket.Send("HTTP/1.0 200 OK\r\nContent-Type: text/plain\r\n\r\npart");
    part_seen.get_future().wait();
    socket.Reset();
  });
  Start(upstream.url());
  const auto client = Client();
  client->Send(Post("/openai/v1/chat/completions", kChat));
  EXPECT_TRUE(client->ReadTo("part").ends_with("part"));
  part_seen.set_value();
  char byte = 0;
  EXPECT_EQ(recv(client->fd(), &byte, 1, 0), -1);
  EXPECT_EQ(errno, ECONNRESET);
  const std::vector<schema::Event> events = Events();
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].end_state, EndState::kReset);
  EXPECT_EQ(events[0].response.bytes, "part");
}

TEST_F(ProxyTest, UpstreamThatCannotBeReachedIsAnsweredForAndMarked) {
  Start("http://127.0.0.1:" + std::to_string(ClosedPort()));
  const std::string answer = Ask(Post("/openai/v1/chat/completions", kChat));
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 502 Bad Gateway\r\n")) << answer;
  EXPECT_NE(answer.find("upstream_unreachable"), std::string::npos) << answer;
  const std::vector<schema::Event> events = Events();
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].end_state, EndState::kReset);
  EXPECT_EQ(Fact(events[0], "answered_by"), "proxy");
  EXPECT_EQ(events[0].exchange[0].status, 502);
  EXPECT_EQ(events[0].response.bytes, BodyOf(answer));
  EXPECT_EQ(report_.proxy_answers, 1u);
}

TEST_F(ProxyTest, UnknownNameIsSaid) {
  Start("http://no-such-host.invalid");
  EXPECT_NE(Ask(Post("/up", "{}")).find("upstream_name_unknown"), std::string::npos);
}

TEST_F(ProxyTest, TlsTroubleIsSaid) {
  const Upstream upstream([](Socket& socket) {
    socket.ReadSome();
    socket.Send("this is no TLS");
  });
  Start("https://127.0.0.1:" + std::to_string(upstream.port()));
  const std::string answer = Ask(Post("/up", "{}"));
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 502 ")) << answer;
  EXPECT_NE(answer.find("upstream_tls"), std::string::npos) << answer;
}

TEST_F(ProxyTest, AttemptsOfOneCallAreLinked) {
  std::atomic<int> asked{0};
  const Upstream upstream([&](Socket& socket) {
    while (!socket.ReadMessage().empty()) {
      socket.Send(asked++ < 2 ? "HTTP/1.1 429 Too Many Requests\r\nContent-Length: 0\r\n\r\n"
                              : Answer("{}"));
    }
  });
  Start(upstream.url());
  std::unique_ptr<Socket> client = Client();
  for (int i = 0; i < 4; ++i) {
    client->Send(Post("/openai/v1/chat/completions", kChat));
    client->ReadMessage();
  }
  client.reset();  // Held open, it can hold up the stop.
  const std::vector<schema::Event> events = Events();
  ASSERT_EQ(events.size(), 4u);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(events[i].attempt, i);
    EXPECT_EQ(Fact(events[i], "call"), "1");
  }
  // Equal to one that went well: another call.
  EXPECT_EQ(events[3].attempt, 0u);
  EXPECT_EQ(Fact(events[3], "call"), "2");
}

TEST_F(ProxyTest, ClientsOwnCountOfAttemptsIsTaken) {
  const Upstream upstream(Always("HTTP/1.1 500 Oops\r\nContent-Length: 0\r\n\r\n"));
  Start(upstream.url());
  for (const char* count : {"0", "1", "0"}) {
    Ask(Post("/openai/v1/chat/completions", kChat,
             std::string("x-stainless-retry-count: ") + count + "\r\n"));
  }
  const std::vector<schema::Event> events = Events();
  ASSERT_EQ(events.size(), 3u);
  EXPECT_EQ(events[1].attempt, 1u);
  EXPECT_EQ(Fact(events[1], "call"), "1");
  EXPECT_EQ(events[2].attempt, 0u);
  EXPECT_EQ(Fact(events[2], "call"), "2");
}

TEST_F(ProxyTest, RunsAreMadeByHeaderTraceAndConnection) {
  std::promise<std::string> named_request;
  std::atomic<int> asked{0};
  const Upstream upstream([&](Socket& socket) {
    for (;;) {
      const std::string request = socket.ReadMessage();
      if (request.empty()) return;
      if (asked++ == 0) named_request.set_value(request);
      socket.Send(Answer("{}"));
    }
  });
  Start(upstream.url(), /*one_run=*/false);
  const std::string trace =
      "traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01\r\n";
  Ask(Post("/up", "1", "x-reenact-run: night-7\r\n"));
  Ask(Post("/up", "2", "x-reenact-run: night-7\r\n" + trace));
  Ask(Post("/up", "3", trace));
  Ask(Post("/up", "4", trace));
  Ask(Post("/up", "5"));
  Ask(Post("/up", "6"));
  const std::vector<schema::RecordedRun> runs = Runs();
  ASSERT_EQ(runs.size(), 4u);
  std::vector<size_t> sizes;
  for (const schema::RecordedRun& run : runs) {
    sizes.push_back(run.events.size());
    EXPECT_EQ(run.state, EndState::kComplete);
  }
  std::sort(sizes.begin(), sizes.end());
  EXPECT_EQ(sizes, (std::vector<size_t>{1, 1, 2, 2}));
  EXPECT_TRUE(std::any_of(runs.begin(), runs.end(), [](const schema::RecordedRun& run) {
    return run.run.trace_id == "0af7651916cd43dd8448eb211c80319c";
  }));
  EXPECT_TRUE(std::any_of(runs.begin(), runs.end(), [](const schema::RecordedRun& run) {
    return run.run.tags == schema::Tags{{"x-reenact-run", "night-7"}};
  }));
  // The header is the proxy's, and no business of the upstream's.
  EXPECT_EQ(named_request.get_future().get().find("x-reenact-run"), std::string::npos);
}

TEST_F(ProxyTest, StopEndsWhatIsUnderWay) {
  std::promise<void> asked;
  const Upstream upstream([&](Socket& socket) {
    socket.ReadMessage();
    asked.set_value();
    socket.WaitForEnd();
  });
  Start(upstream.url());
  const auto client = Client();
  client->Send(Post("/openai/v1/chat/completions", kChat));
  asked.get_future().wait();
  Stop(/*grace_ms=*/0);
  EXPECT_TRUE(client->WaitForEnd());
  const std::vector<schema::Event> events = Events();
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].end_state, EndState::kIncomplete);
}

TEST_F(ProxyTest, StopWaitsForWhatIsUnderWay) {
  std::promise<void> asked;
  std::promise<void> go_on;
  const Upstream upstream([&](Socket& socket) {
    socket.ReadMessage();
    asked.set_value();
    go_on.get_future().wait();
    socket.Send(Answer("{}"));
    socket.WaitForEnd();
  });
  Start(upstream.url());
  const auto client = Client();
  client->Send(Post("/openai/v1/chat/completions", kChat));
  asked.get_future().wait();
  std::thread stopper([&] { Stop(); });
  go_on.set_value();
  EXPECT_EQ(BodyOf(client->ReadMessage()), "{}");
  stopper.join();
  ASSERT_EQ(Events().size(), 1u);
}

}  // namespace
}  // namespace reenact::testing
