// A proxy of the environment between the recording proxy and its upstreams. cases/reports.md 34:
// NO_PROXY was ignored once a proxy was set.

#include <cstdlib>
#include <mutex>
#include <string>
#include <vector>

#include "gtest/gtest.h"

#include "recorder/proxy/address_rules.h"
#include "tests/recorder/proxy/proxy_fixture.h"

namespace reenact::testing {
namespace {

constexpr char kCredentials[] = "u:pw";
constexpr char kBasic[] = "dTpwdw==";  // Of these.

// It echoes what it was given, its own credentials too.
class EnvironmentProxyTest : public ProxyTest {
 protected:
  ~EnvironmentProxyTest() override {
    for (const char* name : {"http_proxy", "https_proxy", "HTTP_PROXY", "no_proxy"}) unsetenv(name);
  }

  std::string ProxyUrl() const {
    return "http://" + std::string(kCredentials) + "@127.0.0.1:" + std::to_string(between_.port());
  }

  void UseProxy() {
    setenv("http_proxy", ProxyUrl().c_str(), 1);
    setenv("https_proxy", ProxyUrl().c_str(), 1);
    setenv("no_proxy", "10.9.8.7,.straight.invalid", 1);
  }

  std::vector<std::string> asked() {
    const std::lock_guard lock(mutex_);
    return asked_;
  }

  std::mutex mutex_;
  std::vector<std::string> asked_;
  Upstream between_{[this](Socket& socket) {
    for (;;) {
      const std::string request = socket.ReadMessage();
      if (request.empty()) return;
      {
        const std::lock_guard lock(mutex_);
        asked_.push_back(request);
      }
      if (request.starts_with("CONNECT")) {
        socket.Send("HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n");
        return;
      }
      socket.Send(Answer("through; you sent " + HeadOf(request)));
    }
  }};
};

TEST_F(EnvironmentProxyTest, EachUrlTakesItsWayAndTheCredentialsAreNowhere) {
  const Upstream upstream(Always(Answer("straight")));
  UseProxy();
  Start(upstream.url());
  EXPECT_EQ(BodyOf(Ask(Post("/up/loopback", "{}"))), "straight");
  const std::string through =
      Ask("GET http://models.invalid/v1/models HTTP/1.1\r\nHost: models.invalid\r\n\r\n");
  EXPECT_TRUE(BodyOf(through).starts_with("through")) << through;
  // Straight to a name that nobody knows: the proxy would have answered for it.
  const std::string listed =
      Ask("GET http://a.straight.invalid/x HTTP/1.1\r\nHost: a.straight.invalid\r\n\r\n");
  EXPECT_NE(listed.find("upstream_name_unknown"), std::string::npos) << listed;

  const std::vector<std::string> seen = asked();
  ASSERT_EQ(seen.size(), 1u);
  EXPECT_TRUE(seen[0].starts_with("GET http://models.invalid/v1/models HTTP/1.1\r\n")) << seen[0];
  EXPECT_NE(seen[0].find("Proxy-Authorization: Basic " + std::string(kBasic)), std::string::npos);

  const std::vector<schema::Event> events = Events();
  ASSERT_EQ(events.size(), 3u);
  EXPECT_EQ(Fact(events[0], "upstream_proxy"), "");
  EXPECT_EQ(Fact(events[1], "upstream_proxy"), "127.0.0.1:" + std::to_string(between_.port()));
  EXPECT_EQ(Fact(events[2], "upstream_proxy"), "");
  EXPECT_NE(events[1].response.bytes.find("through; you sent GET"), std::string::npos);
  const std::string stored = StoredBytes();
  EXPECT_EQ(stored.find(kCredentials), std::string::npos);
  EXPECT_EQ(stored.find(kBasic), std::string::npos);
  EXPECT_NE(stored.find("proxy-test"), std::string::npos);  // This search can find something.
}

TEST_F(EnvironmentProxyTest, TunnelIsGivenTheProxysCredentialsAndNotTheClients) {
  UseProxy();
  Start("https://models.invalid");
  const std::string answer = Ask(
      Post("/up/v1/chat/completions", kChat, "Authorization: Bearer for-the-upstream-only\r\n"));
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 502 ")) << answer;
  EXPECT_NE(answer.find("403"), std::string::npos) << answer;
  EXPECT_EQ(answer.find(kCredentials), std::string::npos);
  const std::vector<std::string> seen = asked();
  ASSERT_EQ(seen.size(), 1u);
  EXPECT_TRUE(seen[0].starts_with("CONNECT models.invalid:443 HTTP/1.1\r\n")) << seen[0];
  EXPECT_NE(seen[0].find(kBasic), std::string::npos);
  EXPECT_EQ(seen[0].find("for-the-upstream-only"), std::string::npos) << seen[0];
}

TEST_F(EnvironmentProxyTest, WhatNothingIsPassedOnToIsNotAskedOfANeighbour) {
  UseProxy();
  Start("http://127.0.0.1:1");
  for (const char* url : {"http://169.254.169.254/latest", "http://0xA9FEA9FE/",
                          "http://[fe80::1]/", "http://100.100.100.200/"}) {
    EXPECT_TRUE(Ask("GET " + std::string(url) + " HTTP/1.1\r\nHost: localhost\r\n\r\n")
                    .starts_with("HTTP/1.1 403 "))
        << url;
    EXPECT_TRUE(proxy::IsForbiddenUrl(url));
  }
  EXPECT_FALSE(proxy::IsForbiddenUrl("http://models.invalid/169.254.169.254"));
  EXPECT_TRUE(asked().empty());
}

// Programs find the gateway by HTTP_PROXY, and it is started from the same shell.
TEST_F(EnvironmentProxyTest, TheGatewayIsNotItsOwnProxy) {
  const uint16_t port = ClosedPort();
  listen_on_ = port;
  setenv("http_proxy", ("http://127.0.0.1:" + std::to_string(port)).c_str(), 1);
  Start("http://models.invalid");
  const std::string answer = Ask(Post("/up/x", "{}"));
  EXPECT_NE(answer.find("upstream_name_unknown"), std::string::npos) << answer;
}

}  // namespace
}  // namespace reenact::testing
