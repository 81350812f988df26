// What a client and an upstream see with the proxy between them: the same bytes, at the same time.

#include "recorder/proxy/proxy.h"

#include <atomic>
#include <chrono>
#include <cstdio>
#include <future>
#include <memory>
#include <string>
#include <vector>

#include "gtest/gtest.h"

#include "tests/recorder/proxy/proxy_fixture.h"

namespace reenact::testing {
namespace {

constexpr size_t kLarge = size_t{64} << 20;

// A block of noise, over and over: quick to make, and a shift shows.
std::string Noise(size_t size) {
  std::string block(size_t{1} << 20, '\0');
  uint64_t state = 88172645463325252u;
  for (char& c : block) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    c = static_cast<char>(state >> 56);
  }
  std::string bytes;
  while (bytes.size() < size) bytes += block + "x";
  bytes.resize(size);
  return bytes;
}

std::string Chunk(const std::string& bytes) {
  char size[20];
  std::snprintf(size, sizeof(size), "%zx\r\n", bytes.size());
  return size + bytes + "\r\n";
}

TEST_F(ProxyTest, RequestAndAnswerPassUnchanged) {
  std::promise<std::string> seen;
  const Upstream upstream([&](Socket& socket) {
    seen.set_value(socket.ReadMessage());
    socket.Send(Answer(R"({"a":1})", "X-Request-Id: r1\r\nset-Cookie: a=1\r\nset-Cookie: b=2\r\n"));
  });
  Start(upstream.url() + "/base");
  const std::string answer = Ask(Post("/up/v1/things?x=%20y&z=%2f/../w", "{\"q\": 1}",
                                      "X-Odd-Name: Caf\xc3\xa9\r\nAccept: */*\r\n"));
  EXPECT_EQ(answer,
            Answer(R"({"a":1})", "X-Request-Id: r1\r\nset-Cookie: a=1\r\nset-Cookie: b=2\r\n"));
  const std::string request = seen.get_future().get();
  EXPECT_TRUE(request.starts_with("POST /base/v1/things?x=%20y&z=%2f/../w HTTP/1.1\r\n"))
      << request;
  EXPECT_NE(request.find("X-Odd-Name: Caf\xc3\xa9\r\n"), std::string::npos);
  EXPECT_NE(request.find("\r\nHost: 127.0.0.1:" + std::to_string(upstream.port())),
            std::string::npos);
  EXPECT_NE(request.find("\r\nContent-Length: 8\r\n"), std::string::npos) << request;
  for (const char* added : {"User-Agent", "Expect", "Transfer-Encoding", "Connection", "Via"}) {
    EXPECT_EQ(request.find(added), std::string::npos) << added;
  }
  EXPECT_EQ(BodyOf(request), "{\"q\": 1}");
}

TEST_F(ProxyTest, FirstByteIsNotHeldBack) {
  std::promise<void> first_seen;
  const Upstream upstream([&](Socket& socket) {
    socket.ReadMessage();
    socket.Send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + Chunk("a"));
    first_seen.get_future().wait();
    socket.Send(Chunk("b") + "0\r\n\r\n");
  });
  Start(upstream.url());
  const auto client = Client();
  client->Send(Post("/openai/v1/chat/completions", kChat));
  EXPECT_EQ(client->ReadTo("\r\n\r\n"), "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
  EXPECT_EQ(client->ReadTo("a\r\n"), Chunk("a"));
  first_seen.set_value();
  EXPECT_EQ(client->ReadTo("0\r\n\r\n"), Chunk("b") + "0\r\n\r\n");
}

TEST_F(ProxyTest, RequestIsNotHeldBackEither) {
  std::promise<void> first_seen;
  const Upstream upstream([&](Socket& socket) {
    socket.ReadTo("\r\n\r\n");
    socket.ReadExactly(1);
    first_seen.set_value();
    socket.ReadExactly(2);
    socket.Send(Answer("done"));
  });
  Start(upstream.url());
  const auto client = Client();
  client->Send("POST /up HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\n\r\na");
  first_seen.get_future().wait();
  client->Send("bc");
  EXPECT_EQ(BodyOf(client->ReadMessage()), "done");
}

TEST_F(ProxyTest, StreamIsEqualAtEveryCut) {
  const std::string stream =
      "data: {\"text\":\"caf\xc3\xa9 \xf0\x9f\x8c\x8d\"}\r\n\r\ndata: [DONE]\n\n";
  const Upstream upstream([&](Socket& socket) {
    for (;;) {
      const std::string request = socket.ReadMessage();
      if (request.empty()) return;
      const size_t cut = std::stoul(BodyOf(request));
      socket.Send(
          "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: "
          "chunked\r\n\r\n");
      if (cut != 0) socket.Send(Chunk(stream.substr(0, cut)));
      if (cut != stream.size()) socket.Send(Chunk(stream.substr(cut)));
      socket.Send("0\r\n\r\n");
    }
  });
  Start(upstream.url());
  const auto client = Client();
  for (size_t cut = 0; cut <= stream.size(); ++cut) {
    client->Send(Post("/up/stream", std::to_string(cut)));
    ASSERT_EQ(BodyOf(client->ReadMessage()), stream) << "cut at " << cut;
  }
  EXPECT_EQ(upstream.connections(), 1);
  const std::vector<schema::Event> events = Events();
  ASSERT_EQ(events.size(), stream.size() + 1);
  for (const schema::Event& event : events) EXPECT_EQ(event.response.bytes, stream);
}

// The stop comes between the last byte of an answer and the end of its exchange, in some of the
// rounds.
TEST_F(ProxyTest, StopWaitsForNoClientThatHasItsAnswer) {
  const Upstream upstream(Always(Answer("{}")));
  for (int round = 0; round < 60; ++round) {
    Start(upstream.url());
    const auto client = Client();
    client->Send(Post("/up/echo", "{}"));
    ASSERT_EQ(BodyOf(client->ReadMessage()), "{}");
    const auto begun = std::chrono::steady_clock::now();
    Stop(/*grace_ms=*/10'000);
    ASSERT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(5))
        << "round " << round;
  }
}

TEST_F(ProxyTest, RequestIsEqualAtEveryCut) {
  const std::string body = R"({"model":"m","messages":[{"role":"user","content":"caf\u00e9"}]})";
  const std::string request = Post("/openai/v1/chat/completions", body);
  const Upstream upstream([](Socket& socket) {
    for (;;) {
      const std::string message = socket.ReadMessage();
      if (message.empty()) return;
      socket.Send(Answer(BodyOf(message)));
    }
  });
  Start(upstream.url());
  const auto client = Client();
  for (size_t cut = 1; cut < request.size(); ++cut) {
    client->Send(request.substr(0, cut));
    client->Send(request.substr(cut));
    ASSERT_EQ(BodyOf(client->ReadMessage()), body) << "cut at " << cut;
  }
  for (const schema::Event& event : Events()) EXPECT_EQ(event.request.bytes, body);
}

TEST_F(ProxyTest, SlowClientHoldsTheUpstreamBack) {
  const std::string large = Noise(kLarge);
  std::promise<size_t> stuck_at;
  const Upstream upstream([&](Socket& socket) {
    socket.ReadMessage();
    socket.Send("HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(kLarge) + "\r\n\r\n");
    const size_t sent = socket.SendUntilStuck(large, 500);
    stuck_at.set_value(sent);
    socket.Send(std::string_view(large).substr(sent));
  });
  Start(upstream.url());
  const auto client = Client();
  client->Send("GET /up HTTP/1.1\r\nHost: localhost\r\n\r\n");
  // What the kernel buffers on both ways is not ours; most of it must not have left.
  EXPECT_LT(stuck_at.get_future().get(), kLarge / 2);
  EXPECT_TRUE(BodyOf(client->ReadMessage()) == large);
}

TEST_F(ProxyTest, SlowUpstreamHoldsTheClientBack) {
  const std::string large = Noise(kLarge);
  std::promise<void> client_stuck;
  std::promise<bool> equal;
  const Upstream upstream([&](Socket& socket) {
    client_stuck.get_future().wait();
    equal.set_value(BodyOf(socket.ReadMessage()) == large);
    socket.Send(Answer("ok"));
  });
  Start(upstream.url());
  std::unique_ptr<Socket> client = Client();
  client->Send("POST /up HTTP/1.1\r\nHost: localhost\r\nContent-Length: " + std::to_string(kLarge) +
               "\r\n\r\n");
  const size_t sent = client->SendUntilStuck(large, 500);
  EXPECT_LT(sent, kLarge / 2);
  client_stuck.set_value();
  client->Send(std::string_view(large).substr(sent));
  EXPECT_EQ(BodyOf(client->ReadMessage()), "ok");
  EXPECT_TRUE(equal.get_future().get());
  client.reset();  // Held open, it can hold up the stop.
  const std::vector<schema::Event> events = Events();
  ASSERT_EQ(events.size(), 1u);
  EXPECT_TRUE(events[0].request.bytes == large);
}

TEST_F(ProxyTest, ConnectionsAreKeptOnBothSides) {
  const Upstream upstream(Always(Answer("x")));
  Start(upstream.url());
  const auto client = Client();
  for (int i = 0; i < 10; ++i) {
    client->Send(Post("/up", "{}"));
    EXPECT_EQ(client->ReadMessage(), Answer("x"));
  }
  EXPECT_EQ(upstream.connections(), 1);
}

TEST_F(ProxyTest, RequestsSentAheadAreAnsweredInOrder) {
  const Upstream upstream([](Socket& socket) {
    for (;;) {
      const std::string request = socket.ReadMessage();
      if (request.empty()) return;
      socket.Send(Answer(BodyOf(request)));
    }
  });
  Start(upstream.url());
  const auto client = Client();
  client->Send(Post("/up", "1") + Post("/up", "2") + Post("/up", "3"));
  for (const char* body : {"1", "2", "3"}) EXPECT_EQ(BodyOf(client->ReadMessage()), body);
}

TEST_F(ProxyTest, ChunkedRequestStaysChunked) {
  std::promise<std::string> seen;
  const Upstream upstream([&](Socket& socket) {
    seen.set_value(socket.ReadMessage());
    socket.Send(Answer("ok"));
  });
  Start(upstream.url());
  EXPECT_EQ(Ask("POST /up HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n" +
                Chunk("hello") + Chunk(" world") + "0\r\n\r\n"),
            Answer("ok"));
  const std::string request = seen.get_future().get();
  EXPECT_NE(request.find("Transfer-Encoding: chunked\r\n"), std::string::npos);
  EXPECT_EQ(request.find("Content-Length"), std::string::npos);
  EXPECT_EQ(BodyOf(request), "hello world");
}

TEST_F(ProxyTest, TrailersPass) {
  const Upstream upstream(
      Always("HTTP/1.1 200 OK\r\nTrailer: X-Sum\r\nTransfer-Encoding: "
             "chunked\r\n\r\n1\r\na\r\n0\r\nX-Sum: 7\r\n\r\n"));
  Start(upstream.url());
  EXPECT_TRUE(Ask(Post("/up", "{}")).ends_with("1\r\na\r\n0\r\nX-Sum: 7\r\n\r\n"));
}

TEST_F(ProxyTest, AnswerThatEndsWithItsConnectionStaysSo) {
  const Upstream upstream([](Socket& socket) {
    socket.ReadMessage();
    socket.Send("HTTP/1.0 200 OK\r\nContent-Type: text/plain\r\n\r\nuntil the end");
  });
  Start(upstream.url());
  const auto client = Client();
  client->Send(Post("/up", "{}"));
  EXPECT_EQ(
      client->ReadAll(),
      "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nConnection: close\r\n\r\nuntil the end");
}

TEST_F(ProxyTest, AnswersWithoutBodiesEndAtOnce) {
  const Upstream upstream([](Socket& socket) {
    for (;;) {
      const std::string request = socket.ReadMessage();
      if (request.empty()) return;
      socket.Send(request.starts_with("HEAD") ? "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n"
                                              : "HTTP/1.1 204 No Content\r\n\r\n");
    }
  });
  Start(upstream.url());
  const auto client = Client();
  client->Send("HEAD /up/a HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_EQ(client->ReadTo("\r\n\r\n"), "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n");
  client->Send("DELETE /up/a HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_EQ(client->ReadTo("\r\n\r\n"), "HTTP/1.1 204 No Content\r\n\r\n");
}

TEST_F(ProxyTest, ContinueComesFromTheUpstreamsReadiness) {
  const Upstream upstream([](Socket& socket) {
    const std::string head = socket.ReadTo("\r\n\r\n");
    if (head.find("Expect: 100-continue") == std::string::npos) return;
    socket.Send("HTTP/1.1 100 Continue\r\n\r\n");
    socket.Send(Answer(socket.ReadExactly(4)));
  });
  Start(upstream.url());
  const auto client = Client();
  client->Send(
      "PUT /up HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n");
  EXPECT_EQ(client->ReadTo("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
  client->Send("body");
  EXPECT_EQ(BodyOf(client->ReadMessage()), "body");
}

TEST_F(ProxyTest, RefusalInPlaceOfContinuePasses) {
  const Upstream upstream([](Socket& socket) {
    socket.ReadTo("\r\n\r\n");
    socket.Send("HTTP/1.1 417 Expectation Failed\r\nContent-Length: 0\r\n\r\n");
    socket.WaitForEnd();
  });
  Start(upstream.url());
  const auto client = Client();
  client->Send(
      "PUT /up HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n");
  EXPECT_TRUE(client->ReadMessage().starts_with("HTTP/1.1 417 Expectation Failed\r\n"));
}

TEST_F(ProxyTest, PooledConnectionThatDiesIsNotTheClientsTrouble) {
  const Upstream upstream([](Socket& socket) {
    socket.ReadMessage();
    socket.Send(Answer("once"));
    // And the connection, which was to be kept, is closed.
  });
  Start(upstream.url());
  const auto client = Client();
  for (int i = 0; i < 5; ++i) {
    client->Send("GET /up/" + std::to_string(i) + " HTTP/1.1\r\nHost: localhost\r\n\r\n");
    ASSERT_EQ(client->ReadMessage(), Answer("once")) << i;
  }
}

// A model that was asked twice costs twice, and the record would tell of one call.
TEST_F(ProxyTest, WhatIsNotIdempotentIsNeverSentTwice) {
  std::atomic<int> asked{0};
  const Upstream upstream([&](Socket& socket) {
    if (!socket.ReadMessage().empty()) ++asked;
    socket.Send(Answer("once"));
    if (!socket.ReadMessage().empty()) ++asked;
    // And the connection is closed, with the second request unanswered.
  });
  Start(upstream.url());
  const auto client = Client();
  client->Send(Post("/up", "1"));
  ASSERT_EQ(client->ReadMessage(), Answer("once"));
  client->Send(Post("/up", "2"));
  const std::string answer = client->ReadMessage();
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 502 ")) << answer;
  for (int i = 0; i < 2; ++i) {
    client->Send(Post("/up/empty", ""));
    EXPECT_EQ(client->ReadMessage(), Answer("once"));
  }
  EXPECT_EQ(asked, 4);
}

}  // namespace
}  // namespace reenact::testing
