#include "tools/reenact/record/proxy_environment.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

namespace reenact::tools {
namespace {

// "{proxy}/openai/v1"; nothing: the variable is not set.
std::optional<std::string> Variable(const ProxyEnvironment& prepared, const std::string& name) {
  for (const auto& [own, value] : prepared.variables) {
    if (own == name) return value;
  }
  return std::nullopt;
}

std::string Upstream(const ProxyEnvironment& prepared, const std::string& route) {
  const proxy::Route* const found = prepared.routes.Find(route);
  return found == nullptr ? "" : found->upstream;
}

TEST(ProxyEnvironment, ClientsOfProvidersAreLedToTheProxy) {
  const ProxyEnvironment prepared = ProxyEnvironmentFor({}, {}, true);
  EXPECT_EQ(Variable(prepared, "OPENAI_BASE_URL"), "{proxy}/openai/v1");
  EXPECT_EQ(Variable(prepared, "ANTHROPIC_BASE_URL"), "{proxy}/anthropic");
  EXPECT_EQ(Variable(prepared, "GOOGLE_GEMINI_BASE_URL"), "{proxy}/gemini");
  EXPECT_EQ(Variable(prepared, "HTTP_PROXY"), "{proxy}");
  EXPECT_EQ(Variable(prepared, "http_proxy"), "{proxy}");
  EXPECT_EQ(Upstream(prepared, "openai"), "https://api.openai.com");
  EXPECT_TRUE(prepared.warnings.empty());
}

// Else the environment's proxy would be asked for 127.0.0.1, and none of the calls be seen.
TEST(ProxyEnvironment, WhereTheEnvironmentsProxyStaysThisMachineIsReachedStraight) {
  const ProxyEnvironment kept = ProxyEnvironmentFor(
      {{"HTTP_PROXY", "http://proxy.example:3128"}, {"NO_PROXY", ".example.org"}}, {}, false);
  EXPECT_EQ(Variable(kept, "HTTP_PROXY"), std::nullopt);
  EXPECT_EQ(Variable(kept, "NO_PROXY"), ".example.org,127.0.0.1,localhost");
  EXPECT_EQ(Variable(kept, "no_proxy"), ".example.org,127.0.0.1,localhost");
  const ProxyEnvironment none = ProxyEnvironmentFor({{"NO_PROXY", ".example.org"}}, {}, false);
  EXPECT_EQ(Variable(none, "NO_PROXY"), std::nullopt);
}

TEST(ProxyEnvironment, CredentialsInUrlsAreSecrets) {
  const std::vector<std::string> secrets =
      SecretsOf({{"HTTPS_PROXY", "http://u:pw@127.0.0.1:8"},
                 {"DATABASE_URL", "postgres://me:longpassword@db/x"},
                 {"HOMEPAGE", "http://example.org/"}});
  for (const char* secret : {"u:pw", "me:longpassword", "longpassword"}) {
    EXPECT_NE(std::find(secrets.begin(), secrets.end(), secret), secrets.end()) << secret;
  }
  EXPECT_EQ(std::find(secrets.begin(), secrets.end(), "pw"), secrets.end()) << "eats ordinary text";
}

TEST(ProxyEnvironment, WhatChangesAClientWhenItIsSetIsNotSetByUs) {
  const ProxyEnvironment prepared = ProxyEnvironmentFor({}, {}, false);
  for (const char* name : {"AZURE_OPENAI_ENDPOINT", "GOOGLE_VERTEX_BASE_URL", "OLLAMA_HOST"}) {
    EXPECT_EQ(Variable(prepared, name), std::nullopt) << name;
  }
  EXPECT_EQ(Variable(prepared, "HTTP_PROXY"), std::nullopt);
  const ProxyEnvironment azure =
      ProxyEnvironmentFor({{"AZURE_OPENAI_ENDPOINT", "https://mine.openai.azure.com/"}}, {}, false);
  EXPECT_EQ(Variable(azure, "AZURE_OPENAI_ENDPOINT"), "{proxy}/azure");
  EXPECT_EQ(Upstream(azure, "azure"), "https://mine.openai.azure.com");
}

TEST(ProxyEnvironment, ABaseUrlThatIsSetStaysTheUpstream) {
  const ProxyEnvironment prepared = ProxyEnvironmentFor(
      {{"OPENAI_BASE_URL", "http://10.0.0.5:8000/base/v1/"}, {"OLLAMA_HOST", "10.0.0.6:11434"}}, {},
      true);
  EXPECT_EQ(Variable(prepared, "OPENAI_BASE_URL"), "{proxy}/openai/base/v1");
  EXPECT_EQ(Upstream(prepared, "openai"), "http://10.0.0.5:8000");
  EXPECT_EQ(Upstream(prepared, "ollama"), "http://10.0.0.6:11434");
}

TEST(ProxyEnvironment, TwoVariablesThatDisagreeGetARouteEach) {
  const ProxyEnvironment prepared = ProxyEnvironmentFor(
      {{"OPENAI_BASE_URL", "http://a/v1"}, {"OPENAI_API_BASE", "http://b/v1"}}, {}, true);
  EXPECT_EQ(Variable(prepared, "OPENAI_BASE_URL"), "{proxy}/openai/v1");
  EXPECT_EQ(Variable(prepared, "OPENAI_API_BASE"), "{proxy}/openai-2/v1");
  EXPECT_EQ(Upstream(prepared, "openai"), "http://a");
  EXPECT_EQ(Upstream(prepared, "openai-2"), "http://b");
}

TEST(ProxyEnvironment, AValueThatIsNoUpstreamIsLeftAndTold) {
  const ProxyEnvironment prepared =
      ProxyEnvironmentFor({{"OPENAI_BASE_URL", "https://user:hunter2@host/v1"}}, {}, true);
  EXPECT_EQ(Variable(prepared, "OPENAI_BASE_URL"), std::nullopt);
  ASSERT_EQ(prepared.warnings.size(), 1u);
  EXPECT_EQ(prepared.warnings[0].find("OPENAI_BASE_URL is left as it is: "), 0u);
  EXPECT_EQ(prepared.warnings[0].find("hunter2"), std::string::npos);
}

TEST(ProxyEnvironment, AnEmptyValueIsNone) {
  const ProxyEnvironment prepared = ProxyEnvironmentFor({{"OPENAI_BASE_URL", ""}}, {}, true);
  EXPECT_EQ(Upstream(prepared, "openai"), "https://api.openai.com");
}

TEST(ProxyEnvironment, RoutesThatAreGivenWin) {
  const ProxyEnvironment prepared = ProxyEnvironmentFor(
      {{"OPENAI_BASE_URL", "http://a/v1"}}, {{"openai", "http://mine"}, {"kb", "http://kb"}}, true);
  EXPECT_EQ(Upstream(prepared, "openai"), "http://mine");
  EXPECT_EQ(Upstream(prepared, "kb"), "http://kb");
}

TEST(ProxyEnvironment, RoutesAreRecordedWithTheirPaths) {
  proxy::RouteTable routes;
  routes.Set({"anthropic", "https://api.anthropic.com", "/v1"});
  const std::vector<schema::CommandRoute> recorded = RecordedRoutes(routes);
  ASSERT_EQ(recorded.size(), 1u);
  EXPECT_EQ(recorded[0].name, "anthropic");
  EXPECT_EQ(recorded[0].prefix, "/anthropic");
  EXPECT_EQ(recorded[0].upstream, "https://api.anthropic.com");
  EXPECT_EQ(recorded[0].implied_path, "/v1");
}

TEST(ProxyEnvironment, TheMarkBecomesTheAddress) {
  EXPECT_EQ(WithProxyUrl("{proxy}/openai/v1", "http://127.0.0.1:1"),
            "http://127.0.0.1:1/openai/v1");
  EXPECT_EQ(WithProxyUrl("no mark", "http://127.0.0.1:1"), "no mark");
}

}  // namespace
}  // namespace reenact::tools
