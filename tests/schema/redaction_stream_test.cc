// Secrets that a provider streams in pieces, cut at every place.

#include <gtest/gtest.h>

#include <functional>

#include "redaction_checks.h"
#include "schema/json_view.h"
#include "schema/redaction.h"
#include "schema/sse.h"

namespace reenact::schema {
namespace {

std::string Quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + "\"";
}

using Wrap = std::function<std::string(std::string_view piece)>;

// The dialects in which a piece of text may arrive; each gives one record.
struct Dialect {
  const char* name;
  Wrap wrap;
  std::function<std::string(const JsonValue& record)> unwrap;
};

std::string Sse(const std::string& json) {
  return "data: " + json + "\n\n";
}

std::vector<Dialect> Dialects() {
  return {
      {"chat content",
       [](std::string_view piece) {
         return Sse(R"({"id":"c1","choices":[{"index":0,"delta":{"content":)" + Quoted(piece) +
                    R"(},"finish_reason":null}]})");
       },
       [](const JsonValue& r) { return r["choices"][0]["delta"]["content"].AsString(); }},
      {"chat reasoning",
       [](std::string_view piece) {
         return Sse(R"({"choices":[{"delta":{"reasoning_content":)" + Quoted(piece) +
                    R"(},"index":1}]})");
       },
       [](const JsonValue& r) { return r["choices"][0]["delta"]["reasoning_content"].AsString(); }},
      {"chat tool arguments",
       [](std::string_view piece) {
         return Sse(
             R"({"choices":[{"index":0,"delta":{"tool_calls":[{"index":1,"function":{"arguments":)" +
             Quoted(piece) + R"(}}]}}]})");
       },
       [](const JsonValue& r) {
         return r["choices"][0]["delta"]["tool_calls"][0]["function"]["arguments"].AsString();
       }},
      {"messages text",
       [](std::string_view piece) {
         return "event: content_block_delta\n" +
                Sse(R"({"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":)" +
                    Quoted(piece) + "}}");
       },
       [](const JsonValue& r) { return r["delta"]["text"].AsString(); }},
      {"responses delta",
       [](std::string_view piece) {
         return Sse(R"({"type":"response.output_text.delta","output_index":0,"delta":)" +
                    Quoted(piece) + "}");
       },
       [](const JsonValue& r) { return r["delta"].AsString(); }},
      {"JSON lines",
       [](std::string_view piece) { return R"({"response":)" + Quoted(piece) + "}\n"; },
       [](const JsonValue& r) { return r["response"].AsString(); }},
      {"logprob tokens",
       [](std::string_view piece) {
         return Sse(R"({"choices":[{"index":0,"logprobs":{"content":[{"token":)" + Quoted(piece) +
                    R"(,"bytes":[1],"top_logprobs":[{"token":)" + Quoted(piece) + "}]}]}}]}");
       },
       [](const JsonValue& r) {
         return r["choices"][0]["logprobs"]["content"][0]["token"].AsString();
       }},
  };
}

// The records of a body as one text.
std::string Joined(const Dialect& dialect, std::string_view body) {
  std::string joined;
  const auto add = [&](std::string_view json) {
    const auto document = JsonDocument::Parse(json);
    ASSERT_NE(document, nullptr) << json;
    joined += dialect.unwrap(document->root());
  };
  if (LooksLikeSse(body)) {
    for (const SseEvent& event : ParseSse(body).events) add(event.data);
    return joined;
  }
  for (size_t at = 0; at < body.size();) {
    const size_t end = body.find('\n', at);
    add(body.substr(at, end - at));
    at = end + 1;
  }
  return joined;
}

struct StreamedSecret {
  std::string text;
  std::string redacted;
  std::vector<std::string> known;
};

std::vector<StreamedSecret> StreamedSecrets() {
  return {{"use sk-proj-Ab3dEf6hIj9lMn2pQr5t now", "use [redacted] now", {}},
          {"say correct-horse-1 now", "say [redacted] now", {"correct-horse-1"}},
          {R"({"password": "hunter two", "n": 1})", R"({"password": "[redacted]", "n": 1})", {}},
          {"see https://h/x?sig=a1b2c3d4 ok", "see https://h/x?sig=[redacted] ok", {}}};
}

// cases/reports.md 1, of secrets: the result is one for every place where the text was cut.
TEST(RedactionStream, EveryCutGivesTheSameText) {
  for (const Dialect& dialect : Dialects()) {
    for (const StreamedSecret& secret : StreamedSecrets()) {
      RedactionPolicy policy;
      policy.secrets = secret.known;
      const std::string_view text = secret.text;
      for (size_t cut = 1; cut + 1 < text.size(); ++cut) {
        for (const size_t second : {cut + 1, (cut + text.size()) / 2, text.size() - 1}) {
          if (second <= cut) continue;
          const std::string body = dialect.wrap(text.substr(0, cut)) +
                                   dialect.wrap(text.substr(cut, second - cut)) +
                                   dialect.wrap(text.substr(second));
          ASSERT_EQ(FindBrokenRule(body, policy, 31), std::nullopt) << body;
          const std::string redacted = RedactBody(body, policy).bytes;
          ASSERT_EQ(Joined(dialect, redacted), secret.redacted)
              << dialect.name << " cut at " << cut << " and " << second << "\n"
              << redacted;
        }
      }
    }
  }
}

TEST(RedactionStream, OneByteAPieceIsStillOneSecret) {
  for (const Dialect& dialect : Dialects()) {
    for (const StreamedSecret& secret : StreamedSecrets()) {
      RedactionPolicy policy;
      policy.secrets = secret.known;
      std::string body;
      for (size_t i = 0; i < secret.text.size(); ++i) {
        body += dialect.wrap(std::string_view(secret.text).substr(i, 1));
      }
      EXPECT_EQ(FindBrokenRule(body, policy, 31), std::nullopt);
      EXPECT_EQ(Joined(dialect, RedactBody(body, policy).bytes), secret.redacted) << dialect.name;
    }
  }
}

TEST(RedactionStream, InterleavedChoicesAreJoinedApart) {
  const auto chunk = [](int index, const std::string& piece) {
    return Sse(R"({"choices":[{"delta":{"content":")" + piece + R"("},"index":)" +
               std::to_string(index) + "}]}");
  };
  const std::string body = chunk(0, "a sk-proj-Ab3d") + chunk(1, "b sk-proj-Zy9x") +
                           chunk(0, "Ef6hIj9lMn2p ok") + chunk(1, "Wv8uTs7rQp6o no");
  const std::string redacted = RedactBody(body, RedactionPolicy()).bytes;
  EXPECT_EQ(redacted, chunk(0, "a [redacted]") + chunk(1, "b [redacted]") + chunk(0, " ok") +
                          chunk(1, " no"));
}

TEST(RedactionStream, RecordsMayGoOverSeveralLines) {
  const auto event = [](const std::string& piece) {
    return "data: {\"choices\":[{\"index\":0,\r\ndata:  \"delta\":{\"content\":\"" + piece +
           "\"}}]}\r\n\r\n";
  };
  const std::string body = event("a sk-proj-Ab3d") + event("Ef6hIj9lMn2pQr ok");
  EXPECT_EQ(FindBrokenRule(body, RedactionPolicy()), std::nullopt);
  EXPECT_EQ(RedactBody(body, RedactionPolicy()).bytes, event("a [redacted]") + event(" ok"));
  // Events that were not parted by blank lines.
  const std::string run_on =
      "data: {\"delta\":\"a sk-proj-Ab3d\"}\ndata: {\"delta\":\"Ef6hIj9lMn2pQr ok\"}\n\n";
  EXPECT_EQ(RedactBody(run_on, RedactionPolicy()).bytes,
            "data: {\"delta\":\"a [redacted]\"}\ndata: {\"delta\":\" ok\"}\n\n");
}

TEST(RedactionStream, KeysOverSeveralLinesLeaveTheLines) {
  const std::string body =
      "data: -----BEGIN PRIVATE KEY-----\ndata: MIIEow\ndata: abc==\ndata: -----END PRIVATE "
      "KEY-----\n"
      "data: end\n\n";
  EXPECT_EQ(FindBrokenRule(body, RedactionPolicy()), std::nullopt);
  EXPECT_EQ(RedactBody(body, RedactionPolicy()).bytes,
            "data: [redacted]\ndata:\ndata:\ndata:\ndata: end\n\n");
}

TEST(RedactionStream, ElementsOfAnArrayMayBeRecords) {
  const auto body = [](const std::string& a, const std::string& b) {
    return "[{\"parts\":[{\"text\":\"" + a + "\"}]}\n,\r\n{\"parts\":[{\"text\":\"" + b + "\"}]}]";
  };
  EXPECT_EQ(RedactBody(body("a sk-proj-Ab3d", "Ef6hIj9lMn2pQr ok"), RedactionPolicy()).bytes,
            body("a [redacted]", " ok"));
}

TEST(RedactionStream, BrokenLinesDoNotHideTheOthers) {
  const std::string body = "{\"response\":\"a sk-proj-Ab3d\"}\n{\"response\":\"x\n" +
                           std::string("{\"response\":\"Ef6hIj9lMn2pQr ok\"}\n");
  const std::string redacted = RedactBody(body, RedactionPolicy()).bytes;
  EXPECT_EQ(FindBrokenRule(body, RedactionPolicy()), std::nullopt);
  EXPECT_EQ(redacted.find("Ef6h"), std::string::npos) << redacted;
}

TEST(RedactionStream, BytesAndAlternativesOfTokensGoToo) {
  const Dialect tokens = Dialects().back();
  const std::string body =
      tokens.wrap("sk-proj-Ab3d") + tokens.wrap("Ef6hIj9lMn2pQr") + tokens.wrap(" and");
  const std::string redacted = RedactBody(body, RedactionPolicy()).bytes;
  EXPECT_EQ(redacted.find("Ef6h"), std::string::npos) << redacted;
  EXPECT_NE(redacted.find(R"({"token":"","bytes":null,"top_logprobs":[]})"), std::string::npos)
      << redacted;
  EXPECT_NE(redacted.find(R"({"token":" and","bytes":[1],"top_logprobs":[{"token":" and"}]})"),
            std::string::npos)
      << redacted;
}

TEST(RedactionStream, CleanStreamsAreUntouched) {
  for (const Dialect& dialect : Dialects()) {
    std::string body;
    for (const char* piece : {"The to", "ken limit of a pass", "word is a ", "secret"}) {
      body += dialect.wrap(piece);
    }
    EXPECT_EQ(RedactBody(body, RedactionPolicy()).bytes, body) << dialect.name;
    EXPECT_FALSE(NeedsRedaction(body, RedactionPolicy()));
  }
}

TEST(RedactionStream, CommentsAndOddLinesAreReadAsText) {
  const std::string body =
      ": key sk-proj-Ab3dEf6hIj9lMn2pQr5t\r\nevent: x\r\ndata: {\"a\":\"b\"}\r\n\r\n"
      "data: plain sk-proj-Ab3dEf6hIj9lMn2pQr5t\r\n\r\ndata: {\"api_key\":\"v";
  EXPECT_EQ(FindBrokenRule(body, RedactionPolicy()), std::nullopt);
  EXPECT_EQ(RedactBody(body, RedactionPolicy()).bytes,
            ": key [redacted]\r\nevent: x\r\ndata: {\"a\":\"b\"}\r\n\r\n"
            "data: plain [redacted]\r\n\r\ndata: {\"api_key\":\"[redacted]");
}

TEST(RedactionStream, AKeyInLinesOfItsOwnLeavesNoEmptyLine) {
  const std::string stream =
      "data: x\n-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----\ndata: y\n\n";
  const Redacted redacted = RedactBody(stream, RedactionPolicy{});
  EXPECT_EQ(redacted.bytes.find("MIIE"), std::string::npos);
  EXPECT_EQ(ParseSse(redacted.bytes).events.size(), 1u) << redacted.bytes;
}

// The parts of such a key, and of what follows, stand in records of their own.
TEST(RedactionStream, AKeyAcrossRecordsLeavesAsManyRecords) {
  const std::string armour = "-----BEGIN RSA PRIVATE KEY-----\n";

  const struct {
    const char* name;
    std::string stream;
    size_t records;
  } cases[] = {
      {"an empty line", "data: x\n" + armour + "MIIE\n\nMIIF\ndata: y\n\n", 2},
      {"an empty line after CRLF", "data: x\r\n" + armour + "MIIE\r\n\r\nMIIF\r\ndata: y\r\n\r\n",
       2},
      {"a field without a colon", "data: " + armour + "\nid\n\nMIIE\n\n", 2},
      {"a data field without a colon", "data: " + armour + "\ndata\n\nMIIE\n\n", 2},
      {"an event field", "data: " + armour + "\nevent:MIIE\n\n", 2},
      {"a comment cut off", "data: " + armour + "MIIE\n\n:MIIF", 1},
  };

  for (const auto& c : cases) {
    const Redacted redacted = RedactBody(c.stream, RedactionPolicy{});
    EXPECT_EQ(FindBrokenRule(c.stream, RedactionPolicy{}), std::nullopt) << c.name;
    ASSERT_EQ(ParseSse(c.stream).events.size(), c.records) << c.name;
    EXPECT_EQ(ParseSse(redacted.bytes).events.size(), c.records) << c.name << '\n'
                                                                 << redacted.bytes;
    EXPECT_EQ(redacted.bytes.find("MII"), std::string::npos) << c.name << '\n' << redacted.bytes;
  }
}

TEST(RedactionStream, AFieldThatThePolicyNamesIsACredential) {
  RedactionPolicy policy;
  policy.extra_json_keys = {"event"};
  EXPECT_EQ(RedactBody("event: Ab3dEf6hIj9lMn2p\ndata: x\n\n", policy).bytes,
            "event: [redacted]\ndata: x\n\n");
}

TEST(RedactionStream, WhatIsLeftOfALineDoesNotBecomeAField) {
  RedactionPolicy policy;
  policy.secrets = {"first-half\nsecond-half", "\nafter-a-line-end"};
  for (const char* body : {"data: x\n\nfirst-half\nsecond-halfdata: y\n\ndata: z\n\n",
                           "data: x\n\n\nafter-a-line-enddata: y\n\ndata: z\n\n"}) {
    const std::string redacted = RedactBody(body, policy).bytes;
    EXPECT_EQ(FindBrokenRule(body, policy), std::nullopt);
    EXPECT_EQ(ParseSse(redacted).events.size(), 2u) << redacted;
    EXPECT_EQ(redacted.find("half"), std::string::npos) << redacted;
    EXPECT_EQ(redacted.find("after-a"), std::string::npos) << redacted;
  }
}

}  // namespace
}  // namespace reenact::schema
