#include "schema/exchange.h"

#include <gtest/gtest.h>

#include <limits>

#include "schema/varint.h"

namespace reenact::schema {
namespace {

ExchangeItem Head(int64_t offset_ns, int32_t status, Headers headers = {}) {
  return {.kind = ExchangeItemKind::kHead,
          .offset_ns = offset_ns,
          .status = status,
          .headers = std::move(headers)};
}

ExchangeItem Bytes(int64_t offset_ns, uint64_t size) {
  return {.kind = ExchangeItemKind::kBytes, .offset_ns = offset_ns, .size = size};
}

ExchangeItem AttemptEnd(int64_t offset_ns, std::string detail) {
  return {
      .kind = ExchangeItemKind::kAttemptEnd, .offset_ns = offset_ns, .detail = std::move(detail)};
}

// cases/replay.md 30: 429, then 200.
Exchange Retried() {
  return {Head(10, 429, {{"retry-after", "2"}}),
          Bytes(12, 4),
          AttemptEnd(13, "provider_error"),
          Head(2'000'000'013, 200, {{"X-Twice", "a"}, {"x-twice", "b"}}),
          Bytes(2'000'000'020, 3),
          Bytes(2'000'000'019, 5)};
}

TEST(Exchange, RoundTripKeepsEveryItem) {
  const Exchange exchange = Retried();
  EXPECT_EQ(DecodeExchange(EncodeExchange(exchange)), exchange);
  EXPECT_EQ(DecodeExchange(""), Exchange{});
}

TEST(Exchange, ExtremeNumbersRoundTrip) {
  constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  const Exchange exchange = {Bytes(kMax, std::numeric_limits<uint64_t>::max()), Bytes(kMin, 0),
                             Head(kMax, std::numeric_limits<int32_t>::min())};
  EXPECT_EQ(DecodeExchange(EncodeExchange(exchange)), exchange);
  EXPECT_EQ(BodySize({Bytes(0, std::numeric_limits<uint64_t>::max()), Bytes(0, 2)}),
            std::numeric_limits<uint64_t>::max());
}

TEST(Exchange, LastAttemptIsWhatTheCallerSaw) {
  const Exchange exchange = Retried();
  const std::string body = "busyabcdefgh";
  const LastAttempt last = FindLastAttempt(exchange, body);
  EXPECT_EQ(AttemptCount(exchange), 2);
  EXPECT_EQ(BodySize(exchange), body.size());
  EXPECT_EQ(last.status, 200);
  EXPECT_EQ(last.body, "abcdefgh");
  ASSERT_NE(last.headers, nullptr);
  EXPECT_EQ(last.headers->size(), 2u);
}

TEST(Exchange, AttemptWithoutHeadHasNone) {
  const LastAttempt last = FindLastAttempt({Head(0, 500), AttemptEnd(1, "reset")}, "");
  EXPECT_EQ(last.status, 0);
  EXPECT_EQ(last.headers, nullptr);
  EXPECT_EQ(last.body, "");
}

TEST(Exchange, SizesBeyondTheBodyStayWithinIt) {
  EXPECT_EQ(FindLastAttempt({Bytes(0, 100), AttemptEnd(0, ""), Bytes(0, 7)}, "abc").body, "");
  EXPECT_EQ(FindLastAttempt({Bytes(0, 1), AttemptEnd(0, ""), Bytes(0, ~uint64_t{0})}, "abc").body,
            "bc");
}

TEST(Exchange, DamageIsRefused) {
  const std::string encoded = EncodeExchange(Retried());
  for (size_t size = 1; size < encoded.size(); ++size) {
    const std::optional<Exchange> decoded = DecodeExchange(encoded.substr(0, size));
    if (decoded) {  // A cut between two items.
      EXPECT_EQ(EncodeExchange(*decoded), encoded.substr(0, size));
    }
  }
  EXPECT_FALSE(DecodeExchange(encoded + '\x09'));
  EXPECT_FALSE(DecodeExchange(std::string_view("\x04\x00", 2)));
  // A longer way to write a number: 2 as two bytes.
  EXPECT_FALSE(DecodeExchange(std::string_view("\x82\x00\x00\x01", 4)));
  // A head that claims 2^63 headers.
  std::string hostile("\x01\x00\x00", 3);
  PutVarint(&hostile, uint64_t{1} << 63);
  EXPECT_FALSE(DecodeExchange(hostile));
}

}  // namespace
}  // namespace reenact::schema
