// What the proxy makes of encodings, of versions of an API, and of the secrets in what passes.

#include <algorithm>
#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

#include "schema/record.h"
#include "tests/recorder/proxy/proxy_fixture.h"
#include "tests/support/content_encodings.h"

namespace reenact::testing {
namespace {

constexpr char kSecret[] = "sk-abcdefghijklmnopqrstuvwxyz0123456789";

std::string Gzip(const std::string& text) {
  return Encoded(text, "gzip");
}

TEST_F(ProxyTest, CompressedAnswerPassesAsSentAndIsRecordedDecoded) {
  const std::string text = R"({"answer":"forty-two, forty-two, forty-two"})";
  const std::string wire = Answer(Gzip(text), "Content-Encoding: gzip\r\n");
  const Upstream upstream(Always(wire));
  Start(upstream.url());
  EXPECT_EQ(Ask(Post("/up", "{}", "Accept-Encoding: gzip\r\n")), wire);
  const std::vector<schema::Event> events = Events();
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].response.bytes, text);
  EXPECT_EQ(Fact(events[0], "content_encoding"), "gzip");
  EXPECT_EQ(Fact(events[0], "wire_bytes"), std::to_string(Gzip(text).size()));
  for (const auto& [name, value] : events[0].exchange[0].headers)
    EXPECT_NE(name, "Content-Encoding");
}

TEST_F(ProxyTest, WhatIsSaidToBeCompressedAndIsNotIsRecordedAsItIs) {
  const std::string wire = Answer("not gzip", "Content-Encoding: gzip\r\n");
  const Upstream upstream(Always(wire));
  Start(upstream.url());
  EXPECT_EQ(Ask(Post("/up", "{}")), wire);
  const std::vector<schema::Event> events = Events();
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].response.bytes, "not gzip");
  EXPECT_EQ(Fact(events[0], "content_not_decoded_from"), "0");
}

// cases/reports.md 28
TEST_F(ProxyTest, AnEmptyBodyThatIsSaidToBeCompressedPassesAndIsEmpty) {
  const Upstream upstream([](Socket& socket) {
    for (;;) {
      const std::string request = socket.ReadMessage();
      if (request.empty()) return;
      const bool is_head = request.starts_with("HEAD");
      socket.Send(is_head
                      ? "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 999\r\n\r\n"
                      : Answer("", "Content-Encoding: gzip\r\n"));
    }
  });
  Start(upstream.url());
  std::unique_ptr<Socket> client = Client();
  client->Send("HEAD /up/a HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_EQ(client->ReadTo("\r\n\r\n"),
            "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 999\r\n\r\n");
  client->Send(Post("/up/b", "{}"));
  EXPECT_EQ(client->ReadMessage(), Answer("", "Content-Encoding: gzip\r\n"));
  client.reset();
  const std::vector<schema::Event> events = Events();
  ASSERT_EQ(events.size(), 2u);
  for (const schema::Event& event : events) {
    EXPECT_EQ(event.end_state, schema::EndState::kComplete);
    EXPECT_EQ(event.response.bytes, "");
    EXPECT_EQ(Fact(event, "content_not_decoded_from"), "");
  }
}

// The older takes the key as x-api-key, the newer as a bearer's.
TEST_F(ProxyTest, BothVersionsOfAnthropicsApiAreRecordedAsSuch) {
  const Upstream upstream(
      Always(Answer(R"({"id":"msg_1","type":"message","role":"assistant",)"
                    R"("model":"claude-opus-5","content":[],"stop_reason":"end_turn"})",
                    "request-id: req_1\r\n")));
  Start(upstream.url());
  const std::string body = R"({"model":"claude-opus-5","max_tokens":9,"messages":[]})";
  const std::string key = "sk-ant-api03-abcdefghijklmnopqrstuvwx";
  Ask(Post("/up/v1/messages", body, "anthropic-version: 2023-06-01\r\nx-api-key: " + key + "\r\n"));
  Ask(Post("/up/v1/messages?beta=true", body,
           "anthropic-version: 2026-10-21\r\nAuthorization: Bearer " + key + "\r\n"));
  const std::vector<schema::Event> events = Events();
  ASSERT_EQ(events.size(), 2u);
  const char* const versions[] = {"2023-06-01", "2026-10-21"};
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(events[i].boundary, schema::Boundary::kModel);
    EXPECT_EQ(events[i].provider, "anthropic");
    EXPECT_EQ(events[i].name, "messages");
    const schema::Headers& headers = events[i].request_headers;
    EXPECT_NE(std::find(headers.begin(), headers.end(),
                        std::pair<std::string, std::string>("anthropic-version", versions[i])),
              headers.end());
  }
  EXPECT_EQ(StoredBytes().find(key), std::string::npos);
}

TEST_F(ProxyTest, SecretsReachTheUpstreamAndNotTheStore) {
  std::promise<std::string> seen;
  const std::string key = "plainquerykey-4711-4711";
  const std::string basic = "dXNlcjpodW50ZXIyaHVudGVyMg==";
  const Upstream upstream([&](Socket& socket) {
    seen.set_value(socket.ReadMessage());
    // It echoes what it got, compressed.
    socket.Send(
        Answer(Gzip("{\"error\":\"bad key " + key + " or " + kSecret + " or " + basic + "\"}"),
               "Content-Encoding: gzip\r\nSet-Cookie: session=cookie-5150-5150\r\n"));
  });
  Start(upstream.url());
  Ask(Post("/up/v1beta/models/gemini:generateContent?key=" + key,
           "{\"api_key\":\"" + std::string(kSecret) + "\"}",
           std::string("Authorization: Bearer ") + kSecret + "\r\nProxy-Authorization: Basic " +
               basic + "\r\nCookie: session=cookie-5150-5150\r\n"));
  const std::string request = seen.get_future().get();
  EXPECT_NE(request.find(kSecret), std::string::npos);
  EXPECT_NE(request.find("key=" + key), std::string::npos);
  EXPECT_EQ(request.find("Proxy-Authorization"), std::string::npos);
  ASSERT_EQ(Events().size(), 1u);
  const std::string store = StoredBytes();
  for (const std::string& secret :
       {std::string(kSecret), key, basic, std::string("cookie-5150-5150")}) {
    EXPECT_EQ(store.find(secret), std::string::npos) << secret;
  }
  EXPECT_NE(store.find("proxy-test"), std::string::npos);  // This search can find something.
}

}  // namespace
}  // namespace reenact::testing
