// Do tests keep their level, and see what they should? Seeded simulations: a few hundred here, many
// with REENACT_LONG. Bounds are what a binomial of that size allows at four standard errors.

#include <cmath>
#include <cstdlib>
#include <string>
#include <vector>

#include "gtest/gtest.h"

#include "replayer/analysis/drift_series.h"
#include "replayer/analysis/logprob_shift.h"
#include "replayer/analysis/noise_floor.h"
#include "replayer/analysis/paired.h"
#include "replayer/analysis/paired_proportions.h"

namespace reenact::analysis {
namespace {

int Simulations(int usual, int many) {
  return std::getenv("REENACT_LONG") != nullptr ? many : usual;
}

// A standard normal draw (Box and Muller).
double Normal(RandomStream& random) {
  const double radius = std::sqrt(-2 * std::log(random.Uniform()));
  return radius * std::cos(2 * M_PI * random.Uniform());
}

double FourErrors(double rate, int n) {
  return 4 * std::sqrt(rate * (1 - rate) / n);
}

// 50 cases of 5 runs with pass chances drawn per case; B is better by delta (the table of
// decisions).
struct Rates {
  double paired = 0;
  double majority = 0;
  double unpaired = 0;
};

Rates Reject(double delta, int simulations) {
  int paired = 0;
  int majority = 0;
  int unpaired = 0;
  for (int s = 0; s < simulations; ++s) {
    RandomStream random(100, static_cast<uint64_t>(s));
    std::vector<double> a;
    std::vector<double> b;
    int64_t only_a = 0;
    int64_t only_b = 0;
    for (int i = 0; i < 50; ++i) {
      const double p = (1 - delta) * random.Uniform();
      int passes_a = 0;
      int passes_b = 0;
      for (int run = 0; run < 5; ++run) {
        passes_a += random.Uniform() < p;
        passes_b += random.Uniform() < p + delta;
      }
      a.push_back(passes_a / 5.0);
      b.push_back(passes_b / 5.0);
      only_a += passes_a > 2 && passes_b <= 2;
      only_b += passes_b > 2 && passes_a <= 2;
    }
    const PairedT result = ComparePaired(a, b);
    paired += result.p.ok() && result.p.value() < 0.05;
    unpaired += result.welch_p.ok() && result.welch_p.value() < 0.05;
    majority += McNemarTest(only_a, only_b).p_mid.value() < 0.05;
  }
  const double n = simulations;
  return {.paired = paired / n, .majority = majority / n, .unpaired = unpaired / n};
}

TEST(Calibration, PairedTestKeepsItsLevelAndSeesMoreThanMajorityVotes) {
  const int n = Simulations(400, 4000);
  EXPECT_NEAR(Reject(0, n).paired, 0.05, FourErrors(0.05, n));
  const Rates shifted = Reject(0.1, n);
  EXPECT_GT(shifted.paired, 0.5);
  EXPECT_GT(shifted.paired, shifted.majority + 0.2);
  EXPECT_GT(shifted.paired, shifted.unpaired + 0.2);
}

TEST(Calibration, SignFlipDrawsKeepTheirLevel) {
  const int n = Simulations(300, 2000);
  int rejected = 0;
  for (int s = 0; s < n; ++s) {
    RandomStream random(200, static_cast<uint64_t>(s));
    std::vector<double> d(25);
    for (double& value : d) value = Normal(random);
    rejected += SignFlipTest(d, 199, static_cast<uint64_t>(s)).p.value() <= 0.05;
  }
  EXPECT_NEAR(static_cast<double>(rejected) / n, 0.05, FourErrors(0.05, n));
}

// One window of probes: every token's logprob with noise 1 and what the window shares.
std::vector<TopTokens> Window(RandomStream& random, int probes, double shared, double shift) {
  double offsets[8];
  for (double& offset : offsets) offset = shared * Normal(random) + shift;
  std::vector<TopTokens> window;
  for (int probe = 0; probe < probes; ++probe) {
    TopTokens sample;
    for (int token = 0; token < 8; ++token) {
      sample[std::string(1, static_cast<char>('a' + token))] =
          -20 + token + offsets[token] + Normal(random);
    }
    window.push_back(std::move(sample));
  }
  return window;
}

// The trap: samples of one minute share load and host, so that they are not exchangeable.
TEST(Calibration, SharedWindowEffectsFoolThePermutationTestButNotTheNoiseFloor) {
  const int n = Simulations(120, 2000);
  const ShiftOptions few{.exact_up_to = 0, .draws = 99};
  const ShiftOptions statistic_only{.exact_up_to = 0, .draws = 1};
  int permutation_quiet = 0;
  int permutation = 0;
  int floor = 0;
  int found = 0;
  for (int s = 0; s < n; ++s) {
    RandomStream random(300, static_cast<uint64_t>(s));
    const std::vector<TopTokens> reference = Window(random, 24, 0.5, 0);
    std::vector<double> null;
    for (int m = 0; m < 19; ++m) {
      null.push_back(
          TestShift(reference, Window(random, 24, 0.5, 0), statistic_only).statistic.value());
    }
    const std::vector<TopTokens> same = Window(random, 24, 0.5, 0);
    const LogprobShift shift = TestShift(reference, same, few);
    permutation += shift.p.value() <= 0.05;
    floor += JudgeAgainstBaselines(null, shift.statistic.value()).p.value() <= 0.05;
    const double moved =
        TestShift(reference, Window(random, 24, 0.5, 1.5), statistic_only).statistic.value();
    found += JudgeAgainstBaselines(null, moved).p.value() <= 0.05;
    permutation_quiet +=
        TestShift(Window(random, 24, 0, 0), Window(random, 24, 0, 0), few).p.value() <= 0.05;
  }
  EXPECT_NEAR(static_cast<double>(permutation_quiet) / n, 0.05, FourErrors(0.05, n));
  EXPECT_GT(static_cast<double>(permutation) / n, 0.5);
  EXPECT_NEAR(static_cast<double>(floor) / n, 0.05, FourErrors(0.05, n));
  EXPECT_GT(static_cast<double>(found) / n, 0.9);
}

// Ville's inequality: a null e-process ever reaches 1 / alpha in at most alpha of all series.
TEST(Calibration, EProcessRarelyAccusesANull) {
  const int n = Simulations(1000, 10000);
  int accused = 0;
  for (int s = 0; s < n; ++s) {
    RandomStream random(400, static_cast<uint64_t>(s));
    std::vector<double> p(200);
    for (double& value : p) value = random.Uniform();
    accused += RunEProcess(p).alarm.has_value();
  }
  EXPECT_LE(static_cast<double>(accused) / n, 0.05 + FourErrors(0.05, n));
}

}  // namespace
}  // namespace reenact::analysis
