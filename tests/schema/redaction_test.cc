#include "schema/redaction.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <ctime>
#include <random>
#include <string>

#include "redaction_checks.h"
#include "schema/request_key.h"

namespace reenact::schema {
namespace {

// What `body` becomes; the rules that always hold are checked on the way.
std::string Redact(std::string_view body, const std::vector<std::string>& secrets = {}) {
  RedactionPolicy policy;
  policy.secrets = secrets;
  EXPECT_EQ(FindBrokenRule(body, policy), std::nullopt) << body;
  return RedactBody(body, policy).bytes;
}

constexpr std::string_view kKey = "sk-proj-Ab3dEf6hIj9lMn2pQr5t";

TEST(Redaction, OrdinaryBodiesAreUntouched) {
  for (const char* body :
       {"", "plain text", "{}",
        R"({"model":"gpt-4o-2024-08-06","max_tokens":10,"messages":[{"role":"user","content":
            "My password is not accepted. The token limit? Ask the secretary, or risk-averse users."}]})",
        R"({"usage":{"prompt_tokens":10,"completion_tokens":5},"logprobs":{"content":[
            {"token":"key","logprob":-0.1,"bytes":[107],"top_logprobs":[]}]}})",
        R"({"properties":{"password":{"type":"string","description":"the user's password"}},
            "required":["password","user"]})",
        R"({"author":"x","authority":"y","keys":["a"],"key":"b","token":"c","tokens":["d"]})",
        "client = OpenAI(api_key=os.environ['OPENAI_API_KEY'])\npassword = getpass()",
        "Password: must have eight characters. The bearer of this letter; Basic knowledge.",
        "https://example.com/a?x=1&page=2 git@github.com http://h/path@v2", "\x1f\x8b\x08\x00",
        R"({"a":"C:\\new\\users","b":"\u00e9\u2019","c":"<\u003e"})",
        "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"hi\"}}]}\n\ndata: [DONE]\n\n"}) {
    EXPECT_EQ(Redact(body), body);
  }
}

TEST(Redaction, CanBeSwitchedOff) {
  RedactionPolicy policy;
  policy.enabled = false;
  EXPECT_EQ(RedactBody(kKey, policy).bytes, kKey);
  EXPECT_FALSE(NeedsRedaction(kKey, policy));
}

TEST(Redaction, ValuesOfKnownFormAreFoundAnywhere) {
  const std::string alnum = "AbCdEf0123456789GhIjKlMnOpQrStUvWxYz0123456789";
  const std::vector<std::string> values = {
      std::string(kKey),
      "sk-ant-api03-" + alnum,
      "sk_live_" + alnum.substr(0, 24),
      "AKIAIOSFODNN7EXAMPLE",
      "ASIAIOSFODNN7EXAMPLE",
      "AIza" + alnum.substr(0, 35),
      "ya29." + alnum,
      "ghp_" + alnum.substr(0, 36),
      "ghs_" + alnum.substr(0, 36),
      "github_pat_" + alnum,
      "glpat-" + alnum.substr(0, 20),
      "xoxb-123456789012-" + alnum,
      "hf_" + alnum.substr(0, 34),
      "gsk_" + alnum,
      "pplx-" + alnum,
      "npm_" + alnum.substr(0, 36),
      "SG." + alnum,
      "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc-_1",
      "-----BEGIN RSA PRIVATE KEY-----\nMIIEow\nabc==\n-----END RSA PRIVATE KEY-----"};
  for (const std::string& value : values) {
    EXPECT_EQ(Redact("Use " + value + " now"), "Use [redacted] now");
    EXPECT_EQ(Redact(value), "[redacted]");
    EXPECT_EQ(Redact("a=" + value + "\nb"), "a=[redacted]\nb");
    std::string escaped = value;
    for (size_t at; (at = escaped.find('\n')) != std::string::npos;) escaped.replace(at, 1, "\\n");
    EXPECT_EQ(Redact("{\"text\":\"" + escaped + "\"}"), R"({"text":"[redacted]"})");
    EXPECT_EQ(Redact("{\"text\":\"line\\n" + escaped + " \\\"x\\\"\"}"),
              R"({"text":"line\n[redacted] \"x\""})");
    EXPECT_EQ(Redact("[\"" + escaped + "\",1]"), R"(["[redacted]",1])");
  }
}

TEST(Redaction, AKeyThatFollowsASecretWithoutABlankGoesWithIt) {
  const std::string key =
      "-----BEGIN RSA PRIVATE KEY-----\\nMIIEow\\nabc==\\n-----END RSA PRIVATE KEY-----";
  for (const std::string& secret :
       {std::string("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc-_1"), std::string(kKey),
        std::string("Bearer abcDEF0123456789abcDEF"), std::string("password=hunter2Horse")}) {
    const std::string redacted = Redact("{\"text\":\"" + secret + key + " and\"}");
    EXPECT_EQ(redacted.find("MIIE"), std::string::npos) << redacted;
    EXPECT_TRUE(redacted.ends_with("[redacted] and\"}")) << redacted;
  }
}

TEST(Redaction, WordsThatOnlyLookAlikeStay) {
  for (const char* text : {"disk-usage-of-the-whole-machine", "sk-short", "AKIA1234",
                           "risk-assessment-and-mitigation-plan", "eyJ.eyJ", "ghp_123",
                           "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----"}) {
    EXPECT_EQ(Redact(text), text);
  }
  // Base64 for the web holds every short prefix by chance.
  const std::string blob = std::string(300, 'Q') + "_sk-" + std::string(300, 'Q');
  EXPECT_EQ(Redact(blob), blob);
}

// cases/reports.md 73
TEST(Redaction, CredentialsGoByTheirNames) {
  const std::string redacted = Redact(
      R"({"tools":[{"type":"mcp","server_url":"https://x.example","authorization":"tok-123",
          "headers":{"Authorization":"Bearer tok-123","X-My-Key":"tok-123","Accept":"a/b"}}],
          "url":"https://a/b?key=tok-123&x=1"})");
  EXPECT_EQ(redacted.find("tok-123"), std::string::npos) << redacted;
  for (const char* kept : {"\"authorization\"", "\"Authorization\"", "\"X-My-Key\"",
                           "?key=", "&x=1", "\"Accept\":\"a/b\"", "https://x.example"}) {
    EXPECT_NE(redacted.find(kept), std::string::npos) << kept;
  }
}

TEST(Redaction, EverySpellingOfANameIsKnown) {
  for (const char* name : {"authorization",
                           "Authorization",
                           "proxy-authorization",
                           "authorization_token",
                           "api_key",
                           "api-key",
                           "apikey",
                           "apiKey",
                           "x-api-key",
                           "X_API_KEY",
                           "OPENAI_API_KEY",
                           "azureOpenAiApiKey",
                           "api_token",
                           "apiSecret",
                           "access_token",
                           "accessToken",
                           "refresh_token",
                           "refreshtoken",
                           "id_token",
                           "idToken",
                           "auth_token",
                           "bearer_token",
                           "session_token",
                           "sessionToken",
                           "security_token",
                           "x-amz-security-token",
                           "client_secret",
                           "clientSecret",
                           "app_secret",
                           "signing_secret",
                           "webhook_secret",
                           "consumer_secret",
                           "shared_secret",
                           "secret",
                           "secret_key",
                           "aws_secret_access_key",
                           "access_key",
                           "private_key",
                           "privateKey",
                           "account_key",
                           "AccountKey",
                           "ocp-apim-subscription-key",
                           "subscription_key",
                           "subscriptionKey",
                           "password",
                           "db_password",
                           "userPassword",
                           "passwd",
                           "passphrase",
                           "pwd",
                           "auth_key"}) {
    const std::string quoted = std::string("\"") + name + "\"";
    EXPECT_EQ(Redact("{" + quoted + ":\"v\"}"), "{" + quoted + ":\"[redacted]\"}");
    EXPECT_EQ(Redact("{\"a\":{" + quoted + " : [\"v\",\"w\"]}}"),
              "{\"a\":{" + quoted + " : [\"[redacted]\",\"[redacted]\"]}}");
    EXPECT_EQ(Redact("{\"arguments\":\"{\\\"" + std::string(name) + "\\\":\\\"v\\\"}\"}"),
              "{\"arguments\":\"{\\\"" + std::string(name) + "\\\":\\\"[redacted]\\\"}\"}");
    EXPECT_EQ(Redact("https://h/p?" + std::string(name) + "=v&a=b"),
              "https://h/p?" + std::string(name) + "=[redacted]&a=b");
    EXPECT_EQ(Redact("log: {'" + std::string(name) + "': 'v'} cut"),
              "log: {'" + std::string(name) + "': '[redacted]'} cut");
  }
}

TEST(Redaction, ValuesUnderANameKeepTheShapeOfTheDocument) {
  EXPECT_EQ(Redact(R"({"password":12345,"api_key":null,"secret":true,"pwd":""})"),
            R"({"password":null,"api_key":null,"secret":true,"pwd":""})");
  EXPECT_EQ(Redact(R"({"password":"a\"b\\","x":1})"), R"({"password":"[redacted]","x":1})");
  EXPECT_EQ(Redact(R"({"\u0061pi_key":"v"})"), R"({"\u0061pi_key":"[redacted]"})");
  EXPECT_EQ(Redact(R"({"credentials":{"user":"bob","password":"v"}})"),
            R"({"credentials":{"user":"bob","password":"[redacted]"}})");
}

TEST(Redaction, PairsOfNameAndValueAreMembersToo) {
  EXPECT_EQ(
      Redact(R"([{"name":"Authorization","value":"v"},{"value":"w","name":"api_key"}])"),
      R"([{"name":"Authorization","value":"[redacted]"},{"value":"[redacted]","name":"api_key"}])");
  EXPECT_EQ(Redact(R"({"headers":[["X-Api-Key","v"],["Accept","w"]]})"),
            R"({"headers":[["X-Api-Key","[redacted]"],["Accept","w"]]})");
  EXPECT_EQ(Redact(R"({"name":"color","value":"red","password":"v"})"),
            R"({"name":"color","value":"red","password":"[redacted]"})");
}

TEST(Redaction, ObjectsOfHeadersAreReadAsHeaders) {
  EXPECT_EQ(Redact(R"({"extraHeaders":{"X-Tenant-Session":"v","Accept":"w"}})"),
            R"({"extraHeaders":{"X-Tenant-Session":"[redacted]","Accept":"w"}})");
  EXPECT_EQ(Redact(R"({"headers":{"Cookie":"v"},"cookie":"chocolate"})"),
            R"({"headers":{"Cookie":"[redacted]"},"cookie":"chocolate"})");
  EXPECT_EQ(Redact(R"({"a":"{\"headers\":{\"Cookie\":[\"v\"]}}"})"),
            R"({"a":"{\"headers\":{\"Cookie\":[\"[redacted]\"]}}"})");
}

TEST(Redaction, NamesThatThePolicyAddsCount) {
  RedactionPolicy policy;
  policy.extra_json_keys = {"customer_pin", "ssn"};
  EXPECT_EQ(RedactBody(R"({"customer_pin":"v","SSN":"w","pin":"x"})", policy).bytes,
            R"({"customer_pin":"[redacted]","SSN":"[redacted]","pin":"x"})");
}

TEST(Redaction, PlainTextIsReadLineByLine) {
  EXPECT_EQ(Redact("OPENAI_API_KEY=abc\nDB_PASSWORD=correcthorse\nHOME=/root\n"),
            "OPENAI_API_KEY=[redacted]\nDB_PASSWORD=[redacted]\nHOME=/root\n");
  EXPECT_EQ(Redact("password: hunter2\nnote: x"), "password: [redacted]\nnote: x");
  EXPECT_EQ(Redact("Authorization: Bearer abc\r\nAccept: x\r\n"),
            "Authorization: Bearer [redacted]\r\nAccept: x\r\n");
  EXPECT_EQ(Redact("curl -H 'X-Api-Key: k3y-123'"), "curl -H 'X-Api-Key: [redacted]'");
  EXPECT_EQ(Redact("grant_type=x&client_secret=abc&password=pw"),
            "grant_type=x&client_secret=[redacted]&password=[redacted]");
  EXPECT_EQ(Redact("Authorization: Basic dXNlcjpwYXNzd29yZA== end"),
            "Authorization: Basic [redacted] end");
  EXPECT_EQ(Redact("sent Bearer abc123def456 to it"), "sent Bearer [redacted] to it");
}

TEST(Redaction, CommandsAndHeadersAreKnownByTheirNotation) {
  EXPECT_EQ(Redact("tool --api-key k3y-123 --password 'two w0rds' --api-key is required"),
            "tool --api-key [redacted] --password '[redacted]' --api-key is required");
  EXPECT_EQ(Redact("X-Api-Key: short\r\nCookie: a=b; c=d\r\nHost: h"),
            "X-Api-Key: [redacted]\r\nCookie: [redacted]\r\nHost: h");
  EXPECT_EQ(Redact("Cookie: chocolate chip"), "Cookie: chocolate chip");
  EXPECT_EQ(Redact("Server=db;User=bob;Password=correct;Encrypt=1"),
            "Server=db;User=bob;Password=[redacted];Encrypt=1");
  EXPECT_EQ(Redact("password = \"correcthorse\"\npassword = \"{{ vault_password }}\""),
            "password = \"[redacted]\"\npassword = \"{{ vault_password }}\"");
}

TEST(Redaction, TokenIsACredentialOnlyWhenOpaque) {
  EXPECT_EQ(Redact(R"({"token":"8f14e45fceea167a5a36dedd4bea2543"})"), R"({"token":"[redacted]"})");
  EXPECT_EQ(Redact(R"({"a":"{\"token\":\"8f14e45fceea167a5a36dedd\"}"})"),
            R"({"a":"{\"token\":\"[redacted]\"}"})");
  for (const char* body : {R"({"token":"hello"})", R"({"token":"a long text of 3 words and more"})",
                           R"({"logprobs":{"content":[{"token":"0000000000000000"}]}})"}) {
    EXPECT_EQ(Redact(body), body);
  }
}

TEST(Redaction, LinesInsideOfStringsAreLines) {
  EXPECT_EQ(Redact(R"({"out":"A=1\nsecret=v1v2v3v\nPWD=abc\u000apwd: x1y2z3\r\n"})"),
            R"({"out":"A=1\nsecret=[redacted]\nPWD=[redacted]\u000apwd: [redacted]\r\n"})");
}

TEST(Redaction, UrlsInsideBodiesLoseTheirSecrets) {
  EXPECT_EQ(Redact(R"({"u":"https://h/img?sig=a%2Fb&se=1","v":"https:\/\/bob:pw@h\/p"})"),
            R"({"u":"https://h/img?sig=[redacted]&se=1","v":"https:\/\/[redacted]@h\/p"})");
  EXPECT_EQ(Redact("postgres://bob:s3cr3t@db/x redis://:pw@h"),
            "postgres://[redacted]@db/x redis://[redacted]@h");
  EXPECT_EQ(Redact("/go?to=https%3A%2F%2Fx%3Fkey%3Dtok-1%26b"),
            "/go?to=https%3A%2F%2Fx%3Fkey%3D[redacted]%26b");
  EXPECT_EQ(Redact("https://s3/x?X-Amz-Signature=ab12&X-Amz-Credential=AK%2F1&X-Amz-Date=1"),
            "https://s3/x?X-Amz-Signature=[redacted]&X-Amz-Credential=[redacted]&X-Amz-Date=1");
}

// cases/replay.md 16
TEST(Redaction, KnownSecretsAreFoundInEveryDisguise) {
  const std::vector<std::string> secrets = {"1/j2x+q8Zr=", "p\"w\\d\nx9"};
  for (const char* body : {"a 1/j2x+q8Zr= b", "a 1%2Fj2x%2Bq8Zr%3D b", "a 1%2fj2x+q8Zr%3d b",
                           R"({"a":"1\/j2x+q8Zr="})", R"({"a":"\u0031/j\u0032x+q8Zr="})",
                           R"({"a":"{\"b\":\"1\\/j2x+q8Zr=\"}"})", R"({"a":"p\"w\\d\nx9"})",
                           R"({"a":"{\"b\":\"p\\\"w\\\\d\\nx9\"}"})", "{\"1/j2x+q8Zr=\":1}",
                           "https://h/?q=1%2Fj2x%2Bq8Zr%3D&a", "log p\"w\\d\nx9 end"}) {
    const std::string redacted = Redact(body, secrets);
    EXPECT_NE(redacted.find(kRedactedMark), std::string::npos) << body;
    EXPECT_EQ(redacted.find("j2x"), std::string::npos) << redacted;
    EXPECT_EQ(redacted.find("x9"), std::string::npos) << redacted;
  }
}

TEST(Redaction, KnownSecretsAreFoundInBase64) {
  // "user:" + secret, "us:" + secret, "u:" + secret + ":tail": each of the three alignments.
  const std::vector<std::string> secrets = {"correct-horse-1"};
  for (const char* body : {"dXNlcjpjb3JyZWN0LWhvcnNlLTE=", "dXM6Y29ycmVjdC1ob3JzZS0x",
                           "dTpjb3JyZWN0LWhvcnNlLTE6dGFpbA=="}) {
    const std::string redacted = Redact(std::string("x ") + body + " y", secrets);
    EXPECT_NE(redacted.find(kRedactedMark), std::string::npos) << body;
    EXPECT_EQ(redacted.find("ZWN0LWh"), std::string::npos) << redacted;
    EXPECT_EQ(redacted.find("ycmVjdC1"), std::string::npos) << redacted;
  }
}

TEST(Redaction, ShortSecretsDoNotEatText) {
  EXPECT_EQ(Redact("the cat sat", {"the", "cat", "", "a"}), "the cat sat");
  EXPECT_EQ(Redact("redacted [redacted] text", {"redacted", "[redacted]"}),
            "redacted [redacted] text");
}

TEST(Redaction, NumbersThatAreSecretsBecomeNull) {
  EXPECT_EQ(Redact(R"({"n":777888999,"m":1})", {"777888999"}), R"({"n":null,"m":1})");
}

TEST(Redaction, EscapesAreNotCutInHalf) {
  // The line feed's own letter is not the secret's.
  EXPECT_EQ(Redact(R"({"a":"\nabcdef1"})", {"nabcdef1"}), R"({"a":"\nabcdef1"})");
  EXPECT_EQ(Redact(R"({"a":"\\nabcdef1"})", {"nabcdef1"}), R"({"a":"[redacted]"})");
  EXPECT_EQ(Redact(R"({"a":"x secret12\\","b":1})", {"secret12\\"}),
            R"({"a":"x [redacted]","b":1})");
}

TEST(Redaction, CutOffBodiesAreReadToTheirEnd) {
  const std::string body = R"({"messages":[{"content":"x"}],"password":"hunter)";
  EXPECT_EQ(Redact(body), R"({"messages":[{"content":"x"}],"password":"[redacted])");
  EXPECT_EQ(Redact(R"({"a":"\u0073k-proj-Ab3dEf6hIj9lMn2pQr5t and)"), R"({"a":"[redacted] and)");
  EXPECT_EQ(Redact("{\"a\":\"-----BEGIN PRIVATE KEY-----\\nMIIE\\nab"), "{\"a\":\"[redacted]");
}

TEST(Redaction, KeysNestedInStringsStayEscaped) {
  std::string body = "{\"api_key\":\"v-1\"}";
  for (int level = 0; level < 4; ++level) {
    std::string quoted;
    for (const char c : body) {
      if (c == '"' || c == '\\') quoted += '\\';
      quoted += c;
    }
    body = "{\"s\":\"" + quoted + "\"}";
    const std::string redacted = Redact(body);
    EXPECT_EQ(redacted.find("v-1"), std::string::npos) << redacted;
    EXPECT_NE(redacted.find("api_key"), std::string::npos) << redacted;
  }
}

TEST(Redaction, TokensOfASecretGoWithTheirBytesAndAlternatives) {
  const std::string redacted = Redact(
      R"({"choices":[{"message":{"content":"sk-Ab3dEf6hIj9lMn2pQr5tU ok"},"logprobs":{"content":[
      {"token":"sk","logprob":-1,"bytes":[115,107],"top_logprobs":[{"token":"sk","bytes":[115,107]}]},
      {"token":"-Ab3dEf6hIj9lMn2pQr5tU","logprob":-1,"bytes":[45],"top_logprobs":[]},
      {"token":" ok","logprob":-1,"bytes":[32,111,107],"top_logprobs":[{"token":" no","bytes":[32]}]}
      ]}}]})");
  EXPECT_EQ(redacted.find("115"), std::string::npos) << redacted;
  EXPECT_EQ(redacted.find("\"sk\""), std::string::npos) << redacted;
  EXPECT_EQ(redacted.find("Ab3d"), std::string::npos) << redacted;
  EXPECT_NE(redacted.find(R"("bytes":[32,111,107],"top_logprobs":[{"token":" no")"),
            std::string::npos)
      << redacted;
}

// cases/replay.md 16: matching still works after a key was rotated.
TEST(Redaction, RotationChangesNothing) {
  const auto body = [](const std::string& key) {
    return R"({"model":"m","messages":[{"role":"user","content":"use )" + key +
           R"( please"}],"tools":[{"authorization":")" + key + R"("}]})";
  };
  const std::string before = Redact(body("correct-horse-1"), {"correct-horse-1"});
  const std::string after = Redact(body("battery-staple-22"), {"battery-staple-22"});
  EXPECT_EQ(before, after);
  EXPECT_EQ(KeyOf(Boundary::kModel, "openai", before), KeyOf(Boundary::kModel, "openai", after));
}

TEST(Redaction, CutsInsideASecretMoveToItsEnd) {
  const std::string body = "ab" + std::string(kKey) + "cd";  // Not a word's end: no key there.
  const std::string text = "a " + std::string(kKey) + " d";
  ASSERT_EQ(Redact(body), body);
  const Redacted redacted = RedactBody(text, RedactionPolicy());
  ASSERT_EQ(redacted.bytes, "a [redacted] d");
  Exchange exchange = {{.kind = ExchangeItemKind::kBytes, .size = 1},
                       {.kind = ExchangeItemKind::kBytes, .size = 5},
                       {.kind = ExchangeItemKind::kAttemptEnd, .detail = "reset"},
                       {.kind = ExchangeItemKind::kBytes, .size = text.size() - 6}};
  MapCuts(redacted.replacements, &exchange);
  EXPECT_EQ(exchange[0].size, 1u);
  EXPECT_EQ(exchange[1].size, 11u);
  EXPECT_EQ(exchange[3].size, 2u);
}

double ThreadSeconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e9;
}

double SecondsToSearch(const Redactor& redactor, const std::string& body) {
  double least = 1e9;
  for (int i = 0; i < 3; ++i) {
    const double begin = ThreadSeconds();
    EXPECT_FALSE(redactor.NeedsRedaction(body));
    least = std::min(least, ThreadSeconds() - begin);
  }
  return least;
}

// Every 256th byte of a picture is a backslash, and hardly any of them escapes anything: the text
// behind them must not be decoded, and searched, again and again.
TEST(Redaction, RandomBytesCostAFewSearchesOfPlainOnes) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer costs more here than there";
#endif
  std::mt19937_64 random(1);
  std::string body(size_t{8} << 20, '\0');
  for (char& c : body) c = static_cast<char>(random());
  std::string plain = body;
  std::replace(plain.begin(), plain.end(), '\\', '/');
  const Redactor redactor{RedactionPolicy()};
  // About 20 times; 70 with all of it decoded at every level.
  EXPECT_LT(SecondsToSearch(redactor, body), 40 * SecondsToSearch(redactor, plain));
}

}  // namespace
}  // namespace reenact::schema
