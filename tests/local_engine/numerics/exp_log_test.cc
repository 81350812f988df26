#include "local_engine/numerics/exp_log.h"

#include <cmath>
#include <cstdint>

#include "gtest/gtest.h"

#include "local_engine/numerics/pow_sincos.h"
#include "tests/local_engine/numerics/float_sweep.h"

namespace reenact::local_engine {
namespace {

TEST(ExpLog, ExpIsWithinAUnitInTheLastPlace) {
  double worst = 0;
  const auto measure = [&](float x) {
    worst = std::fmax(worst, UlpError(Exp(x), std::exp(static_cast<long double>(x))));
  };
  SweepBits(0, float_bits(kExpHighest), measure);
  SweepBits(0x80000000u, float_bits(kExpLowest), measure);
  RecordProperty("worst_ulp", std::to_string(worst));
  EXPECT_LT(worst, 0.9);
  EXPECT_GT(worst, 0.5) << "no binary32 exp is that good: the measure is broken";
}

TEST(ExpLog, FromOneInputToTheNextExpFallsByALastPlaceAtMost) {
  const auto compare = [](float x) {
    const float beyond = std::nextafter(x, x > 0 ? 100.0f : -100.0f);
    const float lower = x > 0 ? Exp(x) : Exp(beyond);
    const float upper = x > 0 ? Exp(beyond) : Exp(x);
    ASSERT_LE(lower, float_from_bits(float_bits(upper) + 1)) << x;
  };
  SweepBits(1, float_bits(kExpHighest) - 1, compare);
  SweepBits(0x80000001u, float_bits(kExpLowest) - 1, compare);
}

TEST(ExpLog, ExpAtTheEdges) {
  EXPECT_EQ(Exp(0.0f), 1.0f);
  EXPECT_EQ(Exp(-0.0f), 1.0f);
  EXPECT_GE(Exp(kExpLowest), 0x1p-126f);
  EXPECT_EQ(float_bits(Exp(std::nextafter(kExpLowest, -100.0f))), 0u);
  EXPECT_EQ(float_bits(Exp(-HUGE_VALF)), 0u);
  EXPECT_TRUE(is_finite(Exp(kExpHighest)));
  EXPECT_EQ(Exp(std::nextafter(kExpHighest, 100.0f)), HUGE_VALF);
  EXPECT_EQ(Exp(1e30f), HUGE_VALF);
}

TEST(ExpLog, LogIsWithinAUnitInTheLastPlace) {
  double worst = 0;
  SweepBits(0x00800000u, 0x7f7fffffu, [&](float x) {
    worst = std::fmax(worst, UlpError(Log(x), std::log(static_cast<long double>(x))));
  });
  RecordProperty("worst_ulp", std::to_string(worst));
  EXPECT_LT(worst, 0.94);
  EXPECT_EQ(float_bits(Log(1.0f)), 0u);
}

TEST(PowSinCos, RotaryFrequenciesRoundLikeTheExactOnes) {
  for (double base : {10000.0, 500000.0, 1000000.0, 10000000.0}) {
    for (int pair = 0; pair < 128; ++pair) {
      const double exponent = -pair / 128.0;
      const long double exact = std::pow(static_cast<long double>(base), exponent);
      const double got = Pow(base, exponent);
      ASSERT_LT(std::fabs(got / exact - 1.0L), 0x1p-46L) << base << "^" << exponent;
      ASSERT_EQ(static_cast<float>(got), static_cast<float>(exact)) << base << "^" << exponent;
    }
  }
}

TEST(PowSinCos, SinAndCosHoldTheirBoundUpToAMillionRadians) {
  long double worst = 0;
  for (double angle = -0x1p+20; angle <= 0x1p+20; angle += 7.30103) {
    const SinCosPair got = SinCos(angle);
    worst = std::fmax(worst, std::fabs(got.sin - std::sin(static_cast<long double>(angle))));
    worst = std::fmax(worst, std::fabs(got.cos - std::cos(static_cast<long double>(angle))));
  }
  EXPECT_LT(worst, 0x1p-50L);
  EXPECT_GT(worst, 0x1p-58L) << "the measure is broken";
  EXPECT_EQ(SinCos(0.0).cos, 1.0);
  EXPECT_EQ(SinCos(0.0).sin, 0.0);
}

TEST(PowSinCos, LogAndExpHoldTheirBounds) {
  for (double x = 1e-300; x < 1e300; x *= 1.37) {
    const long double exact = std::log(static_cast<long double>(x));
    ASSERT_LE(std::fabs(LogDouble(x) - exact), std::fabs(exact) * 0x1p-50L + 0x1p-60L) << x;
  }
  for (double x = -690; x <= 690; x += 0.37) {
    const long double exact = std::exp(static_cast<long double>(x));
    ASSERT_LT(std::fabs(ExpDouble(x) / exact - 1.0L), 0x1p-50L) << x;
  }
}

}  // namespace
}  // namespace reenact::local_engine
