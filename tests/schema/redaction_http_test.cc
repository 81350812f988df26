#include <gtest/gtest.h>

#include "schema/redaction.h"

namespace reenact::schema {
namespace {

TEST(RedactionHttp, OnlyListedHeadersAreStored) {
  const Headers headers = {
      {"Content-Type", "text/event-stream"}, {"Authorization", "Bearer x"}, {"x-request-id", "r"},
      {"X-RateLimit-Remaining-Tokens", "9"}, {"Set-Cookie", "a=b"},         {"X-Unheard-Of", "v"},
      {"openai-processing-ms", "7"},         {"retry-after", "2"}};
  const Headers expected = {{"Content-Type", "text/event-stream"},
                            {"x-request-id", "r"},
                            {"X-RateLimit-Remaining-Tokens", "9"},
                            {"openai-processing-ms", "7"},
                            {"retry-after", "2"}};
  EXPECT_EQ(AllowedHeaders(headers), expected);
}

// cases/replay.md 16
TEST(RedactionHttp, CredentialsAreKnownByTheirHeaders) {
  for (const char* name : {"Authorization", "proxy-authorization", "API-KEY", "x-api-key",
                           "X_API_KEY", "xi-api-key", "x-goog-api-key", "X-Amz-Security-Token",
                           "Cookie", "set-cookie", "helicone-auth", "Ocp-Apim-Subscription-Key",
                           "my-own-api-key", "x-inference-api-key", "X-Compute-Auth-Token"}) {
    EXPECT_TRUE(IsSecretHeader(name)) << name;
    EXPECT_FALSE(IsAllowedHeader(name)) << name;
  }
  for (const char* name : {"content-type", "x-request-id", "x-ratelimit-limit-tokens"}) {
    EXPECT_FALSE(IsSecretHeader(name)) << name;
    EXPECT_TRUE(IsAllowedHeader(name)) << name;
  }
}

TEST(RedactionHttp, CredentialIsTheValueWithoutItsScheme) {
  EXPECT_EQ(CredentialIn("Bearer abc"), "abc");
  EXPECT_EQ(CredentialIn("bearer\t abc "), "abc");
  EXPECT_EQ(CredentialIn("Basic dTpw"), "dTpw");
  EXPECT_EQ(CredentialIn("  abc def "), "abc def");
  EXPECT_EQ(CredentialIn("bearer"), "bearer");
  EXPECT_EQ(CredentialIn(""), "");
  EXPECT_EQ(CredentialIn("  "), "");
}

TEST(RedactionHttp, UrlsKeepTheirPlaceAndLoseTheirSecrets) {
  const RedactionPolicy policy;
  EXPECT_EQ(RedactUrl("https://api.openai.com/v1/chat/completions", policy),
            "https://api.openai.com/v1/chat/completions");
  EXPECT_EQ(RedactUrl("https://user:pw@h:8443/p?key=abc&alt=sse#access_token=t", policy),
            "https://h:8443/p?key=[redacted]&alt=sse#access_token=[redacted]");
  EXPECT_EQ(RedactUrl("https://me@h/p?x=1;api-key=a%20b", policy),
            "https://h/p?x=1;api-key=[redacted]");
  EXPECT_EQ(RedactUrl("/relative?token=&q=1&sig=z", policy), "/relative?token=&q=1&sig=[redacted]");
  EXPECT_EQ(RedactUrl("https://h/sk-proj-Ab3dEf6hIj9lMn2pQr5t/x", policy),
            "https://h/[redacted]/x");
  EXPECT_EQ(RedactUrl("", policy), "");
  EXPECT_EQ(RedactUrl("https://", policy), "https://");
}

TEST(RedactionHttp, KnownSecretsInAUrlGoToo) {
  RedactionPolicy policy;
  policy.secrets = {"correct-horse-1"};
  EXPECT_EQ(RedactUrl("https://h/correct-horse-1/x", policy), "https://h/[redacted]/x");
  policy.enabled = false;
  EXPECT_EQ(RedactUrl("https://u:p@h/?key=v", policy), "https://u:p@h/?key=v");
}

}  // namespace
}  // namespace reenact::schema
