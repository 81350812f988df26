// The parts of the proxy that need no socket.

#include <arpa/inet.h>

#include <string>

#include "gtest/gtest.h"

#include "recorder/proxy/address_rules.h"
#include "recorder/proxy/http_head.h"
#include "recorder/proxy/recorded_run.h"
#include "recorder/proxy/request_body.h"
#include "recorder/proxy/route.h"
#include "schema/content_decoder.h"
#include "tests/support/content_encodings.h"

namespace reenact::proxy {
namespace {

// --- routes ---

TEST(RouteTest, TakesWhatIsAnUpstream) {
  const auto route = ParseRoute("vllm=http://10.0.0.5:8000/base/");
  ASSERT_TRUE(route.ok()) << route.status();
  EXPECT_EQ(*route, (Route{"vllm", "http://10.0.0.5:8000/base"}));
}

TEST(RouteTest, RefusesWhatIsNone) {
  for (const char* text :
       {"vllm", "=http://h", "a/b=http://h", "reenact=http://h", "x=ftp://h", "x=h:80", "x=http://",
        "x=http://user:pw@h", "x=http://h/?q=1", "..=http://h"}) {
    EXPECT_FALSE(ParseRoute(text).ok()) << text;
  }
}

TEST(RouteTest, ErrorsDoNotRepeatCredentials) {
  EXPECT_EQ(ParseRoute("x=http://user:hunter2@h").status().message().find("hunter2"),
            std::string::npos);
}

TEST(RouteTest, PathAndQueryAreTheUpstreamsOwn) {
  RouteTable table;
  table.Set({"up", "https://host:444/base"});
  const auto found = table.Resolve("/up/a/../b%2F?c=d/e?f");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->url, "https://host:444/base/a/../b%2F?c=d/e?f");
  EXPECT_EQ(found->host, "host:444");
  EXPECT_EQ(found->target, "/base/a/../b%2F?c=d/e?f");
  EXPECT_EQ(found->route, "up");
  EXPECT_FALSE(table.Resolve("/upper/a"));
  EXPECT_FALSE(table.Resolve("/"));
  EXPECT_FALSE(table.Resolve("*"));
}

TEST(RouteTest, AnthropicIsReachedWithAndWithoutItsVersion) {
  RouteTable table;
  for (const Route& route : WellKnownRoutes()) table.Set(route);
  for (const char* target : {"/anthropic/v1/messages", "/anthropic/messages"}) {
    EXPECT_EQ(table.Resolve(target)->url, "https://api.anthropic.com/v1/messages");
  }
}

TEST(RouteTest, WholeUrlsWithCredentialsOrARepairedHostAreNone) {
  EXPECT_FALSE(ResolveWholeUrl("http://user:pw@host/"));
  EXPECT_FALSE(ResolveWholeUrl("http://@host/"));
  for (const char* repaired : {"http:/host/", "http:///host/", "http:host/", "http://ho%73t/"}) {
    EXPECT_FALSE(ResolveWholeUrl(repaired)) << repaired;
  }
  EXPECT_EQ(ResolveWholeUrl("HTTP://Host:80/")->host, "Host:80");
  EXPECT_EQ(ResolveWholeUrl("http://host")->target, "/");
  EXPECT_EQ(ResolveWholeUrl("http://host?a=b")->target, "/?a=b");
}

// --- addresses ---

SocketAddress Address(const char* text, uint16_t port = 80) {
  sockaddr_in v4{};
  v4.sin_family = AF_INET;
  v4.sin_port = htons(port);
  if (inet_pton(AF_INET, text, &v4.sin_addr) == 1) {
    return {reinterpret_cast<const sockaddr*>(&v4), sizeof(v4)};
  }
  sockaddr_in6 v6{};
  v6.sin6_family = AF_INET6;
  v6.sin6_port = htons(port);
  EXPECT_EQ(inet_pton(AF_INET6, text, &v6.sin6_addr), 1) << text;
  return {reinterpret_cast<const sockaddr*>(&v6), sizeof(v6)};
}

TEST(AddressTest, ForbidsWhatServesCredentials) {
  for (const char* text : {"169.254.169.254", "169.254.0.1", "fe80::1", "febf::1", "fd00:ec2::254",
                           "100.100.100.200", "168.63.129.16", "224.0.0.1", "255.255.255.255",
                           "0.0.0.1", "ff02::1", "::ffff:169.254.169.254", "64:ff9b::a9fe:a9fe"}) {
    EXPECT_TRUE(Address(text).IsForbidden()) << text;
  }
}

TEST(AddressTest, AllowsMachinesOfTheirOwn) {
  for (const char* text : {"127.0.0.1", "10.0.0.5", "192.168.1.2", "104.18.7.192", "::1",
                           "2606:4700::1", "fd12::1", "169.253.1.1"}) {
    EXPECT_FALSE(Address(text).IsForbidden()) << text;
  }
}

TEST(AddressTest, KnowsItsOwnPortInAnySpelling) {
  for (const char* text : {"127.0.0.1", "127.9.9.9", "::1", "0.0.0.0", "::", "::ffff:127.0.0.1"}) {
    EXPECT_TRUE(Address(text, 8800).IsLoopbackPort(8800)) << text;
    EXPECT_FALSE(Address(text, 8801).IsLoopbackPort(8800)) << text;
  }
  EXPECT_FALSE(Address("10.0.0.1", 8800).IsLoopbackPort(8800));
}

TEST(AddressTest, HostHeadersOfThisMachine) {
  for (const char* text : {"localhost", "LocalHost:80", "127.0.0.1:1", "[::1]:8800", "127.1.2.3"}) {
    EXPECT_TRUE(IsLoopbackAuthority(text)) << text;
  }
  for (const char* text :
       {"", "localhost.evil.example", "evil.example:80", "127.0.0.1.nip.io", "[::2]",
        "localhost:80/path", "localhost:80@evil.example", "[::1]evil", "[::1"}) {
    EXPECT_FALSE(IsLoopbackAuthority(text)) << text;
  }
}

// --- heads ---

TEST(HeadTest, ReadsInterimHeadAndTrailers) {
  using Event = AnswerHeadReader::Event;
  AnswerHeadReader reader;
  EXPECT_EQ(reader.Read("HTTP/1.1 103 Early Hints\r\n"), Event::kNone);
  EXPECT_EQ(reader.Read("Link: </a>\r\n"), Event::kNone);
  EXPECT_EQ(reader.Read("\r\n"), Event::kInterim);
  EXPECT_EQ(reader.Read("HTTP/1.1 200 All is well\r\n"), Event::kNone);
  EXPECT_EQ(reader.Read("X-A:  b \r\n"), Event::kNone);
  EXPECT_EQ(reader.Read("\tfolded\r\n"), Event::kNone);
  EXPECT_EQ(reader.Read("transfer-encoding: chunked\r\n"), Event::kNone);
  EXPECT_EQ(reader.Read("\r\n"), Event::kHead);
  EXPECT_EQ(reader.head().status, 200);
  EXPECT_EQ(reader.head().reason, "All is well");
  EXPECT_TRUE(reader.head().chunked);
  EXPECT_EQ(reader.head().headers[0], (std::pair<std::string, std::string>("X-A", "b folded")));
  EXPECT_EQ(reader.Read("X-Sum: 7\r\n"), Event::kTrailer);
  EXPECT_EQ(reader.trailer().second, "7");
}

TEST(HeadTest, KeepsWhatIsEndToEnd) {
  const Headers headers = {{"Connection", "keep-alive, X-Private"},
                           {"x-private", "1"},
                           {"Keep-Alive", "5"},
                           {"TE", "trailers"},
                           {"X-Kept", "a"},
                           {"X-Kept", "b"}};
  EXPECT_EQ(EndToEndHeaders(headers), (Headers{{"X-Kept", "a"}, {"X-Kept", "b"}}));
}

// --- bodies ---

TEST(RequestBodyTest, KeepsAllWithinTheBudgetAndGivesItBack) {
  BodyBudget budget{10};
  {
    RequestBody body(&budget);
    body.Append("12345");
    char out[3];
    EXPECT_EQ(body.Read(out, sizeof(out)), 3u);
    EXPECT_EQ(body.unread(), 2u);
    EXPECT_TRUE(body.Rewind());
    EXPECT_EQ(body.unread(), 5u);
    EXPECT_EQ(budget.left, 5u);
  }
  EXPECT_EQ(budget.left, 10u);
}

TEST(RequestBodyTest, PassesOnWhatItCannotKeep) {
  BodyBudget budget{4};
  RequestBody body(&budget);
  body.Append("123");
  char out[8];
  EXPECT_EQ(body.Read(out, 2), 2u);
  body.Append("4567");
  EXPECT_FALSE(body.is_whole());
  EXPECT_FALSE(body.Rewind());
  EXPECT_EQ(budget.left, 4u);
  EXPECT_EQ(body.Read(out, sizeof(out)), 5u);
  EXPECT_EQ(std::string(out, 5), "34567");
  EXPECT_EQ(body.size(), 7u);
}

// --- content encodings ---

using schema::ContentDecoder;
using testing::Encoded;

TEST(ContentDecoderTest, DecodesWhateverTheCuts) {
  std::string text;
  for (int i = 0; i < 40; ++i) text += "data: {\"n\":" + std::to_string(i * 7919) + "}\n\n";
  const std::pair<const char*, std::string> cases[] = {
      {"gzip", Encoded(text, "gzip")},       {"x-gzip", Encoded(text, "gzip")},
      {"deflate", Encoded(text, "deflate")}, {"deflate", testing::RawDeflated(text)},
      {"br", Encoded(text, "br")},           {"ZSTD", Encoded(text, "zstd")}};
  for (const auto& [encoding, wire] : cases) {
    for (size_t cut = 0; cut <= wire.size(); ++cut) {
      const auto decoder = ContentDecoder::For(encoding);
      std::string out;
      const auto sink = [&](std::string_view piece) { out += piece; };
      ASSERT_TRUE(decoder->Decode(std::string_view(wire).substr(0, cut), sink)) << encoding << cut;
      ASSERT_TRUE(decoder->Decode(std::string_view(wire).substr(cut), sink)) << encoding << cut;
      ASSERT_EQ(out, text) << encoding << cut;
    }
  }
}

TEST(ContentDecoderTest, SaysWhatItCannotDecode) {
  EXPECT_EQ(ContentDecoder::For("identity"), nullptr);
  EXPECT_EQ(ContentDecoder::For(""), nullptr);
  EXPECT_EQ(ContentDecoder::For("gzip, br"), nullptr);
  for (const char* encoding : {"gzip", "br", "zstd", "deflate"}) {
    EXPECT_FALSE(ContentDecoder::For(encoding)->Decode("Xthis is plain text, no less",
                                                       [](std::string_view) {}))
        << encoding;
  }
}

TEST(ContentDecoderTest, LeavesWhatWouldFillTheMemory) {
  const std::string frame = Encoded(std::string(size_t{1} << 20, 'a'), "zstd");
  const auto decoder = ContentDecoder::For("zstd");
  uint64_t made = 0;
  const auto sink = [&](std::string_view piece) { made += piece.size(); };
  while (made < schema::kMostDecodedBytes) ASSERT_TRUE(decoder->Decode(frame, sink));
  EXPECT_FALSE(decoder->Decode(frame, sink));
  EXPECT_EQ(made, schema::kMostDecodedBytes);
}

// --- attempts ---

TEST(AttemptBookTest, OnlyWhatFailedIsTriedAgain) {
  AttemptBook book;
  const SteadyTime now;
  EXPECT_EQ(book.Begin(1, "", now).attempt, 0u);
  book.End(1, /*failed=*/true, now);
  EXPECT_EQ(book.Begin(1, "", now).attempt, 1u);
  book.End(1, /*failed=*/false, now);
  const auto next = book.Begin(1, "", now);
  EXPECT_EQ(next.attempt, 0u);
  EXPECT_EQ(next.call, 2u);
}

TEST(AttemptBookTest, AnOldFailureIsForgotten) {
  AttemptBook book;
  const SteadyTime now;
  book.Begin(1, "", now);
  book.End(1, /*failed=*/true, now);
  EXPECT_EQ(book.Begin(1, "", now + std::chrono::minutes(3)).attempt, 0u);
}

TEST(AttemptBookTest, NonsenseCountsAreIgnored) {
  AttemptBook book;
  const SteadyTime now;
  for (const char* said : {"x", "-1", "99999999999", "1 "}) {
    EXPECT_EQ(book.Begin(7, said, now).attempt, 0u) << said;
  }
}

}  // namespace
}  // namespace reenact::proxy
