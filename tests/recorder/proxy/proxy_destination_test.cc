// Where a request may go, by which name, and what is answered without going anywhere.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "gtest/gtest.h"

#include "tests/recorder/proxy/proxy_fixture.h"

namespace reenact::testing {
namespace {

TEST_F(ProxyTest, WholeUrlsGoWhereTheySay) {
  const Upstream upstream(Always(Answer("found")));
  Start("http://127.0.0.1:" + std::to_string(ClosedPort()));
  const std::string host = "127.0.0.1:" + std::to_string(upstream.port());
  EXPECT_EQ(Ask("GET http://" + host + "/a?b=c HTTP/1.1\r\nHost: " + host + "\r\n\r\n"),
            Answer("found"));
  const std::vector<schema::Event> events = Events();
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].endpoint, "http://" + host + "/a?b=c");
}

TEST_F(ProxyTest, WholeUrlOfTheProxyItselfIsARoute) {
  const Upstream upstream(Always(Answer("found")));
  Start(upstream.url());
  const std::string own = "127.0.0.1:" + std::to_string(port_);
  EXPECT_EQ(Ask("GET http://" + own + "/up/a HTTP/1.1\r\nHost: " + own + "\r\n\r\n"),
            Answer("found"));
}

TEST_F(ProxyTest, ForeignHostIsRefused) {
  const Upstream upstream(Always(Answer("never")));
  Start(upstream.url());
  EXPECT_TRUE(Ask("GET /up HTTP/1.1\r\nHost: evil.example\r\n\r\n").starts_with("HTTP/1.1 421 "));
  EXPECT_TRUE(Ask("GET /up HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 421 "));
  EXPECT_EQ(upstream.connections(), 0);
}

TEST_F(ProxyTest, PagesOfOtherSitesAreRefused) {
  const Upstream upstream(Always(Answer("never")));
  Start(upstream.url());
  EXPECT_TRUE(Ask("GET /up HTTP/1.1\r\nHost: localhost\r\nSec-Fetch-Site: cross-site\r\n\r\n")
                  .starts_with("HTTP/1.1 403 "));
  EXPECT_EQ(upstream.connections(), 0);
}

TEST_F(ProxyTest, TunnelsAreRefusedAndCounted) {
  Start("http://127.0.0.1:1");
  EXPECT_TRUE(Ask("CONNECT api.example.com:443 HTTP/1.1\r\nHost: api.example.com:443\r\n\r\n")
                  .starts_with("HTTP/1.1 405 "));
  Stop();
  EXPECT_EQ(report_.not_seen, (std::map<std::string, uint64_t>{{"api.example.com", 1}}));
}

TEST_F(ProxyTest, LinkLocalAndMetadataAreRefused) {
  Start("http://169.254.169.254");
  EXPECT_TRUE(Ask("GET /up/latest/meta-data HTTP/1.1\r\nHost: localhost\r\n\r\n")
                  .starts_with("HTTP/1.1 403 "));
  EXPECT_TRUE(Ask("GET http://[fe80::1]/ HTTP/1.1\r\nHost: localhost\r\n\r\n")
                  .starts_with("HTTP/1.1 403 "));
  EXPECT_TRUE(Ask("GET http://0xA9FEA9FE/ HTTP/1.1\r\nHost: localhost\r\n\r\n")
                  .starts_with("HTTP/1.1 403 "));
}

TEST_F(ProxyTest, ItselfIsNoUpstream) {
  Start("http://127.0.0.1:1");
  // A name that leads here only after it was resolved.
  const std::string answer = Ask("GET http://elsewhere.localhost:" + std::to_string(port_) +
                                 "/reenact/health HTTP/1.1\r\nHost: elsewhere\r\n\r\n");
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 403 ")) << answer;
}

TEST_F(ProxyTest, UnknownRouteNamesTheKnownOnes) {
  Start("http://127.0.0.1:1");
  const std::string answer = Ask(Post("/nowhere/v1", "{}"));
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 404 "));
  EXPECT_NE(answer.find("/up /openai"), std::string::npos) << answer;
  EXPECT_NE(answer.find("x-should-retry: false"), std::string::npos);
}

TEST_F(ProxyTest, NonsenseIsAnswered) {
  Start("http://127.0.0.1:1");
  EXPECT_TRUE(Ask("\x16\x03\x01 hello tls\r\n\r\n").starts_with("HTTP/1.1 400 "));
}

TEST_F(ProxyTest, HealthIsAnswered) {
  Start("http://127.0.0.1:1");
  EXPECT_EQ(BodyOf(Ask("GET /reenact/health HTTP/1.1\r\nHost: localhost\r\n\r\n")),
            R"({"status":"ok","in_flight":0})");
}

}  // namespace
}  // namespace reenact::testing
