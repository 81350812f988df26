#include "schema/record.h"

#include <gtest/gtest.h>

namespace reenact::schema {
namespace {

TEST(Record, NamesOfCodesRoundTrip) {
  for (uint8_t code = 1; code <= 6; ++code) {
    const auto boundary = static_cast<Boundary>(code);
    EXPECT_EQ(ParseBoundary(ToString(boundary)), boundary);
  }
  for (uint8_t code = 1; code <= 8; ++code) {
    const auto state = static_cast<EndState>(code);
    EXPECT_EQ(ParseEndState(ToString(state)), state);
  }
  EXPECT_FALSE(ParseEndState(""));
  EXPECT_FALSE(ParseBoundary("unknown"));
  EXPECT_EQ(ToString(static_cast<EndState>(99)), "unknown");
}

TEST(Record, EndIsDescribedWithItsDetail) {
  EXPECT_EQ(DescribeEnd(EndState::kProviderError, "overloaded_error"),
            "provider_error:overloaded_error");
  EXPECT_EQ(DescribeEnd(EndState::kAbandonedByCaller, ""), "abandoned_by_caller");
}

}  // namespace
}  // namespace reenact::schema
