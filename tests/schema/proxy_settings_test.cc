// Which way a URL takes by the proxy settings of an environment.

#include "schema/proxy_settings.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

namespace reenact::schema {
namespace {

ProxySettings With(const std::map<std::string, std::string>& environment) {
  return ProxySettings([&environment](const char* name) -> const char* {
    const auto found = environment.find(name);
    return found == environment.end() ? nullptr : found->second.c_str();
  });
}

constexpr char kProxy[] = "http://u:pw@127.0.0.1:8";

// cases/reports.md 34
TEST(ProxySettings, NoProxyHoldsBesideAProxy) {
  const ProxySettings settings =
      With({{"HTTPS_PROXY", kProxy}, {"NO_PROXY", "127.0.0.1,.corp.example"}});
  EXPECT_EQ(settings.For("https://api.example.com/v1"), kProxy);
  EXPECT_EQ(settings.For("https://127.0.0.1:8443/v1"), "");
  EXPECT_EQ(settings.For("https://models.corp.example/v1"), "");
  EXPECT_EQ(settings.For("http://api.example.com/v1"), "") << "HTTPS_PROXY is not for http";
}

TEST(ProxySettings, ThisMachineIsReachedStraightWhateverItIsCalled) {
  const ProxySettings settings = With({{"ALL_PROXY", kProxy}});
  for (const char* host : {"localhost", "LOCALHOST:80", "localhost.", "a.localhost", "127.0.0.1",
                           "127.8.8.8:1", "127.1", "0x7f000001", "2130706433", "[::1]", "[::1]:80",
                           "[::ffff:127.0.0.1]", "0.0.0.0", "[::]", "user:pw@localhost"}) {
    EXPECT_EQ(settings.For("http://" + std::string(host) + "/x?u=http://a"), "") << host;
    EXPECT_EQ(settings.For("https://" + std::string(host)), "") << host;
  }
  for (const char* host : {"example.com", "localhost.example.com", "notlocalhost", "128.0.0.1",
                           "127.0.0.1.example.com", "[2001:db8::1]", "localhost@example.com"}) {
    EXPECT_EQ(settings.For("http://" + std::string(host) + "/"), kProxy) << host;
  }
}

TEST(ProxySettings, NamesCoverWhatIsBelowThem) {
  const ProxySettings settings = With(
      {{"http_proxy", kProxy}, {"no_proxy", "a.example, .b.example  *.c.example,Mixed.Example"}});
  for (const char* host : {"a.example", "x.a.example", "b.example", "x.y.b.example", "z.c.example",
                           "A.EXAMPLE", "mixed.example", "a.example.", "a.example:8080"}) {
    EXPECT_EQ(settings.For("http://" + std::string(host)), "") << host;
  }
  for (const char* host : {"example", "nota.example", "a.example.org", "xb.example"}) {
    EXPECT_EQ(settings.For("http://" + std::string(host)), kProxy) << host;
  }
}

TEST(ProxySettings, AddressesRangesAndPortsAreMatchedAsSuch) {
  const ProxySettings settings = With(
      {{"http_proxy", kProxy},
       {"no_proxy",
        "10.0.0.5,192.168.0.0/16,2001:db8::/33,fd00::7,p.example:8080,[fd00::8]:81,10.9.0.0/33"}});
  for (const char* host : {"10.0.0.5", "0xa000005", "192.168.255.1", "[2001:db8:7fff::1]",
                           "[fd00::7]", "p.example:8080", "[fd00::8]:81"}) {
    EXPECT_EQ(settings.For("http://" + std::string(host)), "") << host;
  }
  for (const char* host : {"10.0.0.50", "x10.0.0.5", "192.169.0.1", "[2001:db8:8000::1]",
                           "[fd00::70]", "p.example", "p.example:808", "[fd00::8]", "10.9.0.0"}) {
    EXPECT_EQ(settings.For("http://" + std::string(host)), kProxy) << host;
  }
  EXPECT_EQ(With({{"http_proxy", kProxy}, {"no_proxy", "x,*"}}).For("http://any.example"), "");
}

TEST(ProxySettings, SchemesHaveProxiesOfTheirOwn) {
  const ProxySettings both = With({{"http_proxy", "http://h"}, {"all_proxy", "socks5://a"}});
  EXPECT_EQ(both.For("http://example.com"), "http://h");
  EXPECT_EQ(both.For("HTTPS://example.com"), "socks5://a");
  EXPECT_EQ(both.For("ftp://example.com"), "");
  EXPECT_EQ(With({{"http_proxy", ""}, {"HTTP_PROXY", "http://h"}}).For("http://x.example"),
            "http://h");
  EXPECT_EQ(
      With({{"https_proxy", "http://l"}, {"HTTPS_PROXY", "http://u"}}).For("https://x.example"),
      "http://l");
  EXPECT_EQ(With({}).For("http://example.com"), "");
}

// A request header "Proxy:" of a stranger's becomes HTTP_PROXY there.
TEST(ProxySettings, AProgramBehindCgiDoesNotReadWhatAStrangerCanSet) {
  const std::map<std::string, std::string> environment = {{"HTTP_PROXY", "http://evil.example"},
                                                          {"REQUEST_METHOD", "GET"}};
  EXPECT_EQ(With(environment).For("http://example.com"), "");
}

TEST(ProxySettings, AddressIsToldWithoutCredentials) {
  EXPECT_EQ(ProxyAddress(kProxy), "127.0.0.1:8");
  EXPECT_EQ(ProxyAddress("u:pw@proxy.example:3128"), "proxy.example:3128");
  EXPECT_EQ(ProxyAddress("proxy.example"), "proxy.example");
  EXPECT_EQ(ProxyAddress("socks5h://u:p%40ss@[::1]:1080/"), "[::1]:1080");
  EXPECT_EQ(ProxyAddress(""), "");
}

TEST(ProxySettings, CredentialsAreFoundInEveryForm) {
  using Strings = std::vector<std::string>;
  EXPECT_EQ(CredentialsIn(kProxy), Strings{"u:pw"});
  EXPECT_EQ(CredentialsIn("u:longpass%40%2Fword@proxy.example:3128"),
            (Strings{"u:longpass@/word", "longpass@/word"}));
  EXPECT_EQ(CredentialsIn("http://proxy.example:3128/@x:y"), Strings{});
  EXPECT_EQ(CredentialsIn("http://name@proxy.example"), Strings{});
  EXPECT_EQ(
      With({{"http_proxy", "a:firstsecret@h"}, {"HTTPS_PROXY", "http://b:x@h"}}).Credentials(),
      (Strings{"a:firstsecret", "firstsecret", "b:x"}));
}

}  // namespace
}  // namespace reenact::schema
