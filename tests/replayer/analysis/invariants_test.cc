// What must hold for all inputs: checked on whole grids, or on seeded random ones.

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "gtest/gtest.h"

#include "replayer/analysis/bootstrap.h"
#include "replayer/analysis/clustered.h"
#include "replayer/analysis/elementary.h"
#include "replayer/analysis/first_divergence.h"
#include "replayer/analysis/intervals.h"
#include "replayer/analysis/logprob_shift.h"
#include "replayer/analysis/multiplicity.h"
#include "replayer/analysis/paired.h"
#include "replayer/analysis/paired_proportions.h"
#include "replayer/analysis/pass_at_k.h"
#include "replayer/analysis/rl_mismatch.h"
#include "replayer/analysis/top_divergence.h"

namespace reenact::analysis {
namespace {

std::vector<double> RandomValues(uint64_t seed, size_t count) {
  RandomStream random(seed, 0);
  std::vector<double> values(count);
  for (double& value : values) value = random.Uniform() * 3 - 1;
  return values;
}

TEST(Intervals, WilsonHoldsTheEstimateAndClopperPearsonToo) {
  for (int64_t n = 1; n <= 40; ++n) {
    for (int64_t k = 0; k <= n; ++k) {
      const double p = static_cast<double>(k) / static_cast<double>(n);
      for (const Interval& interval : {WilsonInterval(k, n), ClopperPearsonInterval(k, n)}) {
        EXPECT_LE(interval.lo.value(), p);
        EXPECT_GE(interval.hi.value(), p);
      }
    }
  }
}

// Not always wider: the exact interval may begin above Wilson's.
TEST(Intervals, ClopperPearsonDoesNotAlwaysContainWilson) {
  EXPECT_GT(ClopperPearsonInterval(499, 500).lo.value(),
            WilsonInterval(int64_t{499}, 500).lo.value());
}

TEST(PairedProportions, TangoExcludesZeroExactlyWhenMcNemarRejects) {
  for (const int64_t n : {5, 12, 30, 77}) {
    for (int64_t b = 0; b <= n; ++b) {
      for (int64_t c = 0; b + c <= n; ++c) {
        const PairedDifference d =
            DifferenceOfPaired({.both_pass = n - b - c, .only_a = b, .only_b = c});
        const bool excludes = d.tango.lo.value() > 0 || d.tango.hi.value() < 0;
        const McNemar test = McNemarTest(b, c);
        const bool rejects = test.chi2.ok() && test.chi2_p.value() < 0.05;
        EXPECT_EQ(excludes, rejects) << n << " " << b << " " << c;
        EXPECT_LE(d.tango.lo.value(), d.diff.value());
        EXPECT_GE(d.tango.hi.value(), d.diff.value());
      }
    }
  }
}

TEST(PairedProportions, WithoutDiscordantPairsTangoHasAClosedForm) {
  const double z = 1.959963984540054;
  for (const int64_t n : {1, 7, 50}) {
    const PairedDifference d = DifferenceOfPaired({.both_pass = n});
    EXPECT_NEAR(d.tango.hi.value(), z * z / (static_cast<double>(n) + z * z), 1e-12);
    EXPECT_NEAR(d.tango.lo.value(), -z * z / (static_cast<double>(n) + z * z), 1e-12);
  }
}

TEST(Paired, ExchangingTheSystemsNegatesEveryInterval) {
  const auto mirrored = [](const Interval& one, const Interval& other) {
    EXPECT_NEAR(one.lo.value(), -other.hi.value(), 1e-12);
    EXPECT_NEAR(one.hi.value(), -other.lo.value(), 1e-12);
  };
  const PairedDifference ab =
      DifferenceOfPaired({.both_pass = 7, .only_a = 5, .only_b = 2, .both_fail = 3});
  const PairedDifference ba =
      DifferenceOfPaired({.both_pass = 7, .only_a = 2, .only_b = 5, .both_fail = 3});
  mirrored(ab.tango, ba.tango);
  mirrored(ab.newcombe, ba.newcombe);
  mirrored(ab.bonett_price, ba.bonett_price);
  const std::vector<double> a = RandomValues(1, 12);
  const std::vector<double> b = RandomValues(2, 12);
  mirrored(ComparePaired(a, b).interval, ComparePaired(b, a).interval);
  EXPECT_EQ(ComparePaired(a, b).p, ComparePaired(b, a).p);
}

TEST(Clustered, BalancedRunsHaveTheStandardErrorOfCaseMeans) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    std::vector<std::vector<double>> cases;
    std::vector<double> pooled;
    std::vector<double> means;
    std::vector<int64_t> cluster;
    for (int64_t i = 0; i < 6; ++i) {
      cases.push_back(RandomValues(seed * 100 + i, 5));
      means.push_back(MeanOf(cases.back()));
      for (const double value : cases.back()) {
        pooled.push_back(value);
        cluster.push_back(i);
      }
    }
    const double expected = StandardDeviation(means).value() / std::sqrt(6.0);
    EXPECT_NEAR(MeanOfClusters(pooled, cluster).se_cr1.value(), expected, 1e-13);
    EXPECT_NEAR(SplitVariance(cases).se_superpopulation.value(), expected, 1e-15);
  }
}

TEST(PassAtK, IsMonotoneAndMeetsTheShareAtOne) {
  for (int64_t n = 1; n <= 12; ++n) {
    for (int64_t c = 0; c <= n; ++c) {
      const PassCount count{.runs = n, .passes = c};
      const double share = static_cast<double>(c) / static_cast<double>(n);
      EXPECT_DOUBLE_EQ(PassAtK(count, 1).value(), share);
      EXPECT_DOUBLE_EQ(PassHatK(count, 1).value(), share);
      for (int64_t k = 2; k <= n; ++k) {
        EXPECT_GE(PassAtK(count, k).value(), PassAtK(count, k - 1).value() - 1e-15);
        EXPECT_LE(PassHatK(count, k).value(), PassHatK(count, k - 1).value());
      }
      EXPECT_EQ(PassAtK(count, n + 1).status(), Status::kOutOfRange);
      EXPECT_EQ(PassHatK(count, n + 1).status(), Status::kOutOfRange);
    }
  }
}

TEST(Multiplicity, HolmIsNeverBelowBenjaminiHochberg) {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    RandomStream random(seed, 0);
    std::vector<double> p(1 + random.Below(12));
    for (double& value : p) value = random.Uniform();
    const std::vector<double> holm = Holm(p);
    const std::vector<double> bh = BenjaminiHochberg(p);
    for (size_t i = 0; i < p.size(); ++i) {
      EXPECT_GE(holm[i], bh[i]);
      EXPECT_GE(bh[i], p[i]);
      EXPECT_LE(holm[i], 1);
    }
  }
}

TEST(Order, OfSamplesChangesNoBit) {
  std::vector<double> x = RandomValues(3, 40);
  std::vector<double> y = x;
  RandomStream random(7, 7);
  Shuffle(y, random);
  ASSERT_NE(x, y);
  EXPECT_EQ(SumOf(x), SumOf(y));
  EXPECT_EQ(Summarise(x).sd, Summarise(y).sd);
  EXPECT_EQ(SignFlipTest(x).p, SignFlipTest(y).p);
  const BootstrapOptions few{.draws = 499};
  EXPECT_EQ(BootstrapInterval(x, MeanOf, few).bca_linear.lo,
            BootstrapInterval(y, MeanOf, few).bca_linear.lo);

  std::vector<TopTokens> first;
  std::vector<TopTokens> second;
  for (int i = 0; i < 14; ++i) {
    first.push_back({{"a", x[i] - 3}, {"b", x[i + 14] - 5}});
    second.push_back({{"a", y[i] - 3}, {"c", y[i + 14] - 5}});
  }
  const ShiftOptions drawn{.draws = 199};
  const LogprobShift straight = TestShift(first, second, drawn);
  ASSERT_FALSE(straight.exact);
  Shuffle(first, random);
  Shuffle(second, random);
  const LogprobShift shuffled = TestShift(first, second, drawn);
  EXPECT_EQ(straight.statistic, shuffled.statistic);
  EXPECT_EQ(straight.p, shuffled.p);
}

TEST(Resampling, GivesTheSameBitsForASeedAndOthersForAnother) {
  const std::vector<double> x = RandomValues(4, 30);
  const int64_t draws = 999;
  EXPECT_EQ(SignFlipTest(x, draws, 1).as_extreme, SignFlipTest(x, draws, 1).as_extreme);
  EXPECT_NE(BootstrapInterval(x, MeanOf, {.draws = draws, .seed = 1}).se,
            BootstrapInterval(x, MeanOf, {.draws = draws, .seed = 2}).se);
  const Measure p = SignFlipTest(std::vector<double>(30, 1.0), draws).p;
  EXPECT_EQ(p.value(), 1.0 / 1000);  // Never 0.
}

TEST(LogprobShift, OfASampleAndItselfIsNothing) {
  const std::vector<TopTokens> x = {{{"a", -0.1}, {"b", -2.0}}, {{"a", -0.2}, {"c", -2.5}}};
  const LogprobShift shift = TestShift(x, x);
  EXPECT_EQ(shift.statistic.value(), 0);
  EXPECT_EQ(shift.p.value(), 1);
}

// A missing token is below the lowest value of the series, not at the lowest of its own sample; a
// sentinel is a missing token, a smallest float an invalid sample.
TEST(LogprobShift, CensorsWhatAListDoesNotShow) {
  const std::vector<TopTokens> x = {{{"a", -0.1}, {"b", -4.0}}, {{"a", -0.1}, {"b", -4.0}}};
  const std::vector<TopTokens> short_list = {{{"a", -0.1}, {"b", -9999.0}}, {{"a", -0.1}}};
  EXPECT_EQ(TestShift(x, short_list).statistic.value(), 0);
  EXPECT_GT(TestShift(x, short_list, {.censoring = Censoring::kSampleMin}).statistic.value(), 1.9);
  EXPECT_GT(TestShift(x, short_list, {.censoring = Censoring::kFixed}).statistic.value(), 17);
  const std::vector<TopTokens> broken = {{{"a", -3.4e38}}, {{"a", -0.1}, {"b", -4.0}}};
  EXPECT_EQ(TestShift(x, broken).invalid_samples, 1);
}

TEST(TopDivergence, BoundIsNeverAboveTheTotalVariationOfFullVocabularies) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    RandomStream random(seed, 1);
    std::vector<std::pair<double, std::string>> p;
    std::vector<std::pair<double, std::string>> q;
    double sum_p = 0;
    double sum_q = 0;
    for (int t = 0; t < 26; ++t) {
      const double shared = -3 * std::log(random.Uniform());
      p.emplace_back(std::exp(-shared - random.Uniform()),
                     std::string(1, static_cast<char>('a' + t)));
      q.emplace_back(std::exp(-shared - 2 * random.Uniform()), p.back().second);
      sum_p += p.back().first;
      sum_q += q.back().first;
    }
    double tv = 0;
    for (size_t t = 0; t < p.size(); ++t)
      tv += std::fabs(p[t].first / sum_p - q[t].first / sum_q) / 2;
    const size_t k = 1 + random.Below(12);
    const auto top = [k](auto all, double sum) {
      std::sort(all.rbegin(), all.rend());
      TopTokens list;
      for (size_t i = 0; i < k; ++i) list[all[i].second] = std::log(all[i].first / sum);
      return list;
    };
    const TopDivergence d = CompareTop(top(p, sum_p), top(q, sum_q));
    EXPECT_LE(d.tv_lower_bound.value(), tv + 1e-12) << seed;
    EXPECT_LE(d.tv_coarse.value(), tv + 1e-12) << seed;
    EXPECT_LE(d.js.value(), std::log(2.0) + 1e-12);
  }
}

TEST(RlMismatch, K3IsNeverNegativeAndZeroOnlyForEqualBits) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    RandomStream random(seed, 2);
    const double delta =
        (random.Uniform() - 0.5) * IntegerPower(10, -static_cast<int64_t>(seed % 14));
    EXPECT_GT(K3(delta), 0) << delta;
  }
  EXPECT_EQ(K3(0), 0);
  const std::vector<ScoredSequence> equal = {{.rollout = {-0.5, -1}, .trainer = {-0.5, -1}}};
  EXPECT_EQ(CompareLogprobs(equal).level, MismatchLevel::kBitwise);
  EXPECT_EQ(CompareLogprobs(equal).k3.value(), 0);
  const std::vector<ScoredSequence> off = {
      {.rollout = {-0.5, -1}, .trainer = {-0.5, std::nextafter(-1, 0)}}};
  EXPECT_EQ(CompareLogprobs(off).level, MismatchLevel::kAligned);
  EXPECT_GT(CompareLogprobs(off).k3.value(), 0);
  const std::vector<ScoredSequence> impossible = {
      {.rollout = {-0.5, -1}, .trainer = {-0.5, -INFINITY}}};
  EXPECT_EQ(CompareLogprobs(impossible).k3.status(), Status::kInfinite);
  EXPECT_EQ(CompareLogprobs(impossible).level, MismatchLevel::kBroken);
}

TEST(FirstDivergence, OfAllRunsIsTheEarliestOfAllPairs) {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    RandomStream random(seed, 3);
    std::vector<Tokens> runs(5);
    for (Tokens& run : runs) {
      for (uint32_t i = 0, length = random.Below(6); i < length; ++i)
        run.push_back(random.Below(2));
    }
    const DivergenceIndex index = FindDivergence(runs);
    std::optional<int64_t> earliest;
    for (const std::optional<int64_t>& pair : index.pairwise) {
      if (pair && (!earliest || *pair < *earliest)) earliest = pair;
    }
    EXPECT_EQ(index.n_way, earliest);
  }
}

}  // namespace
}  // namespace reenact::analysis
