#include "schema/ulid.h"

#include <gtest/gtest.h>

namespace reenact::schema {
namespace {

// Source: the example of the ULID specification.
TEST(Ulid, KnownText) {
  const std::optional<Ulid> ulid = ParseUlid("01ARZ3NDEKTSV4RRFFQ69G5FAV");
  ASSERT_TRUE(ulid);
  EXPECT_EQ(UnixMs(*ulid), 1469922850259);
  EXPECT_EQ(ToString(*ulid), "01ARZ3NDEKTSV4RRFFQ69G5FAV");
  EXPECT_EQ(ParseUlid("01arz3ndektsv4rrffq69g5fav"), ulid);
}

TEST(Ulid, LimitsRoundTrip) {
  EXPECT_EQ(ToString(Ulid{}), "00000000000000000000000000");
  Ulid last;
  last.bytes.fill(0xff);
  EXPECT_EQ(ToString(last), "7ZZZZZZZZZZZZZZZZZZZZZZZZZ");
  EXPECT_EQ(ParseUlid(ToString(last)), last);
  EXPECT_EQ(UlidFromBytes(last.AsBytes()), last);
}

TEST(Ulid, TextSortsByTime) {
  std::array<uint8_t, 10> entropy;
  entropy.fill(0xee);
  const Ulid before = MakeUlid(1'700'000'000'000, entropy);
  entropy.fill(0);
  const Ulid after = MakeUlid(1'700'000'000'001, entropy);
  EXPECT_LT(before, after);
  EXPECT_LT(ToString(before), ToString(after));
  EXPECT_EQ(UnixMs(after), 1'700'000'000'001);
}

TEST(Ulid, EveryByteSurvivesTheText) {
  for (size_t place = 0; place < 16; ++place) {
    for (int value = 0; value < 256; ++value) {
      Ulid ulid;
      ulid.bytes[place] = static_cast<uint8_t>(value);
      EXPECT_EQ(ParseUlid(ToString(ulid)), ulid);
    }
  }
}

TEST(Ulid, OtherTextsAreRefused) {
  for (const char* text : {"", "01ARZ3NDEKTSV4RRFFQ69G5FA", "01ARZ3NDEKTSV4RRFFQ69G5FAVX",
                           "81ARZ3NDEKTSV4RRFFQ69G5FAV", "01ARZ3NDEKTSV4RRFFQ69G5FAU",
                           "0IARZ3NDEKTSV4RRFFQ69G5FAV", "01ARZ3NDEKTSV4RRFFQ69G5FA-"}) {
    EXPECT_FALSE(ParseUlid(text)) << text;
  }
  EXPECT_FALSE(UlidFromBytes("fifteen bytes.."));
}

}  // namespace
}  // namespace reenact::schema
