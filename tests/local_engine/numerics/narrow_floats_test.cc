#include "local_engine/numerics/narrow_floats.h"

#include <cmath>
#include <cstdint>

#include "gtest/gtest.h"

#include "tests/local_engine/numerics/float_sweep.h"

namespace reenact::local_engine {
namespace {

// The definition of binary16, through long double.
long double Binary16(uint16_t half) {
  const int exponent = (half >> 10) & 31;
  const int fraction = half & 1023;
  const long double magnitude = exponent == 0 ? std::ldexp(static_cast<long double>(fraction), -24)
                                              : std::ldexp(1024.0L + fraction, exponent - 25);
  return (half & 0x8000) ? -magnitude : magnitude;
}

template <typename Widen>
void ExpectNearest(float value, uint16_t narrowed, const Widen& widen, const char* type) {
  const long double x = value;
  const long double error = std::fabs(widen(narrowed) - x);
  for (int step : {-1, 1}) {
    const auto neighbour = static_cast<uint16_t>(narrowed + step);
    if ((neighbour ^ narrowed) & 0x8000) continue;
    const long double other = std::fabs(widen(neighbour) - x);
    const bool nearest = error < other || (error == other && (narrowed & 1) == 0);
    ASSERT_TRUE(nearest) << type << " of " << std::hexfloat << value << ": " << narrowed;
  }
  ASSERT_EQ(std::signbit(value), (narrowed & 0x8000) != 0) << type << " of " << value;
}

TEST(NarrowFloats, EveryBinary16WidensToItsValueAndBack) {
  for (uint32_t half = 0; half < 65536; ++half) {
    const auto h = static_cast<uint16_t>(half);
    const float wide = widen_fp16(h);
    if ((h & 0x7c00) == 0x7c00) {
      EXPECT_EQ(std::isinf(wide), (h & 0x3ff) == 0) << h;
      EXPECT_EQ(std::isnan(wide), (h & 0x3ff) != 0) << h;
      continue;
    }
    ASSERT_EQ(static_cast<long double>(wide), Binary16(h)) << h;
    ASSERT_EQ(std::signbit(wide), (h & 0x8000) != 0) << h;
    ASSERT_EQ(narrow_to_fp16(wide), h);
  }
}

TEST(NarrowFloats, EveryBf16WidensAndNarrowsBack) {
  for (uint32_t half = 0; half < 65536; ++half) {
    const auto h = static_cast<uint16_t>(half);
    if (std::isnan(widen_bf16(h))) continue;
    ASSERT_EQ(narrow_to_bf16(widen_bf16(h)), h);
  }
}

TEST(NarrowFloats, NarrowingToBinary16TakesTheNearestOrTheEvenOne) {
  const auto widen = [](uint16_t h) { return Binary16(h); };
  for (uint32_t sign : {0u, 0x80000000u}) {
    SweepBits(sign, sign | 0x477fefffu,
              [&](float value) { ExpectNearest(value, narrow_to_fp16(value), widen, "binary16"); });
  }
  EXPECT_EQ(narrow_to_fp16(65519.996f), 0x7bff);
  EXPECT_EQ(narrow_to_fp16(65520.0f), 0x7c00);
  EXPECT_EQ(narrow_to_fp16(-1e30f), 0xfc00);
  EXPECT_EQ(narrow_to_fp16(0x1p-25f), 0) << "half of the least subnormal goes to even";
  EXPECT_EQ(narrow_to_fp16(0x1.000002p-25f), 1);
  EXPECT_EQ(narrow_to_fp16(float_from_bits(0xffc12345u)), 0x7fff);
}

TEST(NarrowFloats, NarrowingToBf16TakesTheNearestOrTheEvenOneAndKeepsSubnormals) {
  const auto widen = [](uint16_t h) { return static_cast<long double>(widen_bf16(h)); };
  for (uint32_t sign : {0u, 0x80000000u}) {
    SweepBits(sign, sign | 0x7f7f7fffu,
              [&](float value) { ExpectNearest(value, narrow_to_bf16(value), widen, "bf16"); });
  }
  EXPECT_EQ(narrow_to_bf16(1e-39f), 0x000b);
  EXPECT_EQ(narrow_to_bf16(0x1.fffffep+127f), 0x7f80);
  EXPECT_EQ(narrow_to_bf16(float_from_bits(0xffc12345u)), 0x7fff);
}

}  // namespace
}  // namespace reenact::local_engine
