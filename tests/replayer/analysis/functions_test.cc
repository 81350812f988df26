// The functions below the statistics: against the C library, closed forms, and frozen bits.

#include <bit>
#include <cmath>
#include <cstdint>
#include <vector>

#include "gtest/gtest.h"

#include "replayer/analysis/elementary.h"
#include "replayer/analysis/random.h"
#include "replayer/analysis/special_functions.h"
#include "replayer/analysis/ulp.h"
#include "replayer/analysis/unpaired.h"

namespace reenact::analysis {
namespace {

// Units in the last place of binary64 between two numbers of one sign.
int64_t UlpsApart(double a, double b) {
  return std::abs(std::bit_cast<int64_t>(a) - std::bit_cast<int64_t>(b));
}

TEST(Elementary, IsWithinThreeUnitsOfTheCLibrary) {
  RandomStream random(1, 0);
  for (int i = 0; i < 20000; ++i) {
    const double x = (random.Uniform() - 0.5) * 1400;
    const double small = (random.Uniform() - 0.5) * std::exp2(-static_cast<int>(random.Below(40)));
    EXPECT_LE(UlpsApart(Exp(x), std::exp(x)), 3) << x;
    EXPECT_LE(UlpsApart(Log(std::fabs(x)), std::log(std::fabs(x))), 3) << x;
    EXPECT_LE(UlpsApart(Log(1 + small), std::log(1 + small)), 3) << small;
    EXPECT_LE(UlpsApart(ExpMinusOne(small), std::expm1(small)), 3) << small;
    EXPECT_LE(UlpsApart(LogOnePlus(small), std::log1p(small)), 3) << small;
  }
  EXPECT_EQ(Exp(0), 1);
  EXPECT_EQ(Exp(-1000), 0);
  EXPECT_EQ(Log(1), 0);
  EXPECT_EQ(Power(0, 0), 1);
  EXPECT_EQ(IntegerPower(3, 5), 243);
}

// Bits that every machine must give: a change here changes stored results.
TEST(Elementary, HasFrozenBits) {
  uint64_t digest = 0;
  for (int i = 1; i <= 2000; ++i) {
    for (const double value : {Exp(-0.013 * i), Log(0.37 * i), LogOnePlus(1e-3 * i),
                               NormalQuantile(i / 2001.0), BetaCdf(i / 2001.0, 2.5, 7)}) {
      digest = std::rotl(digest, 7) * 0x9E3779B97F4A7C15u ^ std::bit_cast<uint64_t>(value);
    }
  }
  EXPECT_EQ(digest, 0x88b8139789d2971cu);
}

TEST(SpecialFunctions, AgreeWithClosedForms) {
  for (double z = -8; z <= 8; z += 0.125) {
    EXPECT_NEAR(NormalCdf(z) / (std::erfc(-z / std::sqrt(2.0)) / 2), 1, 1e-13) << z;
  }
  for (double x = 0.01; x < 1; x += 0.01) {
    EXPECT_NEAR(BetaCdf(x, 1, 3), 1 - std::pow(1 - x, 3), 1e-14);
    EXPECT_NEAR(BetaCdf(x, 0.5, 0.5), 2 / M_PI * std::asin(std::sqrt(x)), 1e-14);
    EXPECT_NEAR(BetaCdf(BetaQuantile(x, 2.5, 40), 2.5, 40), x, 1e-13);
    EXPECT_NEAR(NormalCdf(NormalQuantile(x)), x, 1e-14);
  }
  // One degree is Cauchy's distribution; two have a closed form.
  for (double t = -5; t <= 5; t += 0.25) {
    EXPECT_NEAR(StudentCdf(t, 1), 0.5 + std::atan(t) / M_PI, 1e-14);
    EXPECT_NEAR(StudentCdf(t, 2), 0.5 + t / (2 * std::sqrt(2 + t * t)), 1e-14);
  }
  // Far tails with many degrees, where 1 - P would have no digits (values of Boost.Math 1.74).
  EXPECT_NEAR(StudentTwoSidedP(-6.05, 1234.5) / 1.9174757161098712e-09, 1, 1e-11);
  EXPECT_NEAR(StudentTwoSidedP(8, 1e6) / 1.2455063433202503e-15, 1, 1e-9);
  EXPECT_NEAR(ChiSquareUpperTail(3, 2), std::exp(-1.5), 1e-15);
  EXPECT_NEAR(ChiSquareUpperTail(3.841458820694124, 1), 0.05, 1e-13);
  EXPECT_NEAR(ChiSquareUpperTail(7.814727903251179, 3), 0.05, 1e-13);
}

TEST(SpecialFunctions, BinomialSumsToOneAndLargeCountsKeepTheirDigits) {
  for (const double p : {0.01, 0.5, 0.97}) {
    double sum = 0;
    for (int64_t k = 0; k <= 200; ++k) {
      sum += BinomialPmf(k, 200, p);
      EXPECT_NEAR(BinomialCdf(k, 200, p), sum, 1e-13);
    }
  }
  EXPECT_EQ(Choose(48, 24), 32247603683100.0);
  EXPECT_NEAR(LogChoose(1000000, 500000), std::lgamma(1000001.0) - 2 * std::lgamma(500001.0), 1e-8);
  EXPECT_NEAR(BetaCdf(0.5, 500000.5, 500000.5), 0.5, 1e-10);
}

TEST(RandomStream, IsPhiloxAndDoesNotFavourANumber) {
  // The published test vector of Philox4x32-10 for counter and key 0.
  RandomStream zero(0, 0);
  EXPECT_EQ(zero.Bits(), 0x6627e8d5u);
  EXPECT_EQ(zero.Bits(), 0xe169c58du);
  RandomStream random(5, 6);
  std::vector<int> seen(7, 0);
  for (int i = 0; i < 70000; ++i) ++seen[random.Below(7)];
  for (const int count : seen) EXPECT_NEAR(count, 10000, 400);
}

TEST(Ulp, NotANumberHasNoDistance) {
  EXPECT_EQ(DistanceOf(NAN, 1).ulp.status(), Status::kOutOfRange);
  EXPECT_EQ(DistanceOf(INFINITY, 1).absolute.status(), Status::kInfinite);
  EXPECT_TRUE(DistanceOf(INFINITY, INFINITY).bitwise_equal);
}

TEST(Unpaired, TiesHaveNoExactRankTest) {
  const std::vector<double> x = {1, 2, 2};
  const std::vector<double> y = {2, 3};
  EXPECT_EQ(CompareSamples(x, y).mann_whitney_p.status(), Status::kOutOfRange);
  EXPECT_EQ(CompareSamples(x, y).mann_whitney_u.value(), 1);
}

}  // namespace
}  // namespace reenact::analysis
