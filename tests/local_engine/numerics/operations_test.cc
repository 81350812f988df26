#include "local_engine/numerics/operations.h"

#include <cmath>
#include <cstdint>
#include <random>

#include "gtest/gtest.h"

namespace reenact::local_engine {
namespace {

bool SameFloat(float a, float b) {
  return float_bits(a) == float_bits(b) || (std::isnan(a) && std::isnan(b));
}

// A product and an addend that meet near a rounding boundary of binary32, the cases where rounding
// twice goes wrong.
float NearCancelling(float a, float b, std::mt19937& random) {
  const float product = a * b;
  if (!is_finite(product)) return 0.0f;
  const auto nudge = static_cast<uint32_t>(random() % 5);
  return -float_from_bits(float_bits(product) + nudge);
}

struct FmaOperands {
  float a, b, c;
};

uint32_t Bits32(std::mt19937& random) {
  return static_cast<uint32_t>(random());
}

FmaOperands Draw(int kind, std::mt19937& random) {
  FmaOperands drawn = {float_from_bits(Bits32(random)), float_from_bits(Bits32(random)),
                       float_from_bits(Bits32(random))};
  if (kind == 1) drawn.c = NearCancelling(drawn.a, drawn.b, random);
  // A huge addend and a product far below its last bit: only the direction of the rest counts.
  if (kind == 2) drawn.c = std::ldexp(drawn.a * drawn.b, 24 + static_cast<int>(random() % 32));
  if (kind == 3) {  // The product lies 2^-46 beside half a last place of the addend.
    const float step = 0x1p-23f * static_cast<float>(1 + random() % 8);
    const auto odd = static_cast<float>((1u << 23) + (Bits32(random) & 0x7fffffu));
    drawn = {1.0f + step, random() % 2 ? 1.0f - step : step - 1.0f, 2.0f * odd};
  }
  return drawn;
}

TEST(Operations, FmaWithoutTheInstructionIsTheCorrectlyRoundedOne) {
  std::mt19937 random(1);
  int64_t twice_rounded_differs = 0;
  for (int i = 0; i < 2'000'000; ++i) {
    const auto [a, b, c] = Draw(i % 4, random);
    const float expected = std::fma(a, b, c);
    ASSERT_TRUE(SameFloat(fma_rn_by_round_to_odd(a, b, c), expected)) << a << " " << b << " " << c;
    ASSERT_TRUE(SameFloat(fma_rn(a, b, c), expected)) << a << " " << b << " " << c;
    const auto twice = static_cast<float>(static_cast<double>(a) * b + static_cast<double>(c));
    twice_rounded_differs += !SameFloat(twice, expected);
  }
  // The control: without the rounding to odd these inputs would not pass.
  EXPECT_GT(twice_rounded_differs, 1000);
}

TEST(Operations, FmaKeepsSubnormalsSignedZerosAndInfinities) {
  const float least = 0x1p-149f;
  const float inputs[] = {0.0f,         -0.0f,     least,      -least,   0x1p-126f,
                          -0x1.8p-127f, 1.0f,      -1.0f,      0x1p-75f, 0x1.fffffep+127f,
                          -0x1p+127f,   HUGE_VALF, -HUGE_VALF, 3.0f,     0x1.000002p-74f};
  for (float a : inputs) {
    for (float b : inputs) {
      for (float c : inputs) {
        EXPECT_TRUE(SameFloat(fma_rn_by_round_to_odd(a, b, c), std::fma(a, b, c)))
            << a << " " << b << " " << c;
      }
    }
  }
}

TEST(Operations, SqrtIsCorrectlyRounded) {
  std::mt19937 random(2);
  for (int i = 0; i < 200'000; ++i) {
    const float a = float_from_bits(static_cast<uint32_t>(random()) & 0x7f7fffffu);
    // The root of a binary32 in binary64 never lies so near a tie that rounding again goes wrong.
    EXPECT_EQ(sqrt_rn(a), static_cast<float>(std::sqrt(static_cast<double>(a)))) << a;
  }
}

TEST(Operations, MaxSelectTakesTheSecondOfEquals) {
  EXPECT_EQ(float_bits(max_select(-0.0f, 0.0f)), 0u);
  EXPECT_EQ(float_bits(max_select(0.0f, -0.0f)), 0x80000000u);
  EXPECT_EQ(max_select(2.0f, 1.0f), 2.0f);
}

TEST(Operations, RoundToIntTakesTiesToEven) {
  EXPECT_EQ(round_to_int(0.5f), 0);
  EXPECT_EQ(round_to_int(1.5f), 2);
  EXPECT_EQ(round_to_int(-2.5f), -2);
  EXPECT_EQ(round_to_int(-126.50001f), -127);
  for (int i = -127; i <= 127; ++i) EXPECT_EQ(round_to_int(static_cast<float>(i)), i);
  EXPECT_EQ(round_to_int(-4194304.0f), -4194304);
}

}  // namespace
}  // namespace reenact::local_engine
