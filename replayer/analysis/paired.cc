#include "replayer/analysis/paired.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

#include "replayer/analysis/elementary.h"
#include "replayer/analysis/special_functions.h"
#include "replayer/analysis/unpaired.h"

namespace reenact::analysis {
namespace {

constexpr size_t kLargestExactFlip = 20;

bool Overlap(const Interval& a, const Interval& b) {
  if (!a.lo.ok() || !b.lo.ok()) return false;
  return a.lo.value() <= b.hi.value() && b.lo.value() <= a.hi.value();
}

}  // namespace

PairedT ComparePaired(std::span<const double> a, std::span<const double> b, double confidence) {
  PairedT result;
  if (a.size() != b.size() || a.empty()) {
    const Status why = a.size() != b.size() ? Status::kNotComparable : Status::kNoData;
    result.t = result.p = result.diff = why;
    result.interval = result.interval_a = result.interval_b = NoInterval(why);
    return result;
  }
  std::vector<double> differences(a.size());
  for (size_t i = 0; i < a.size(); ++i) differences[i] = a[i] - b[i];
  const MeanInterval of_a = StudentInterval(a, confidence);
  const MeanInterval of_b = StudentInterval(b, confidence);
  const MeanInterval of_diff = StudentInterval(differences, confidence);
  result.n = of_diff.summary.n;
  result.mean_a = of_a.summary.mean;
  result.mean_b = of_b.summary.mean;
  result.diff = of_diff.summary.mean;
  result.sd_diff = of_diff.summary.sd;
  result.se_paired = of_diff.summary.se;
  result.df = of_diff.df;
  result.interval = of_diff.interval;
  result.interval_a = of_a.interval;
  result.interval_b = of_b.interval;
  result.intervals_overlap = Overlap(of_a.interval, of_b.interval);
  result.correlation = Correlation(a, b);
  result.small_sample = result.n < kSmallSample;
  const WelchT welch = CompareWelch(a, b);
  result.se_unpaired = welch.se;
  result.welch_t = welch.t;
  result.welch_p = welch.p;
  if (!result.se_paired.ok()) {
    result.t = result.p = result.se_paired;
  } else if (of_diff.summary.all_equal) {
    result.t = result.p = result.diff.value() == 0 ? Status::kZeroVariance : Status::kConstantShift;
  } else {
    const double t = result.diff.value() / result.se_paired.value();
    result.t = t;
    result.p = StudentTwoSidedP(t, static_cast<double>(result.df));
  }
  return result;
}

SignFlip SignFlipTest(std::span<const double> differences, int64_t draws, uint64_t seed) {
  SignFlip result;
  if (differences.empty()) {
    result.p = result.smallest_p = Status::kNoData;
    return result;
  }
  if (!AllFinite(differences)) {
    result.p = result.smallest_p = Status::kOutOfRange;
    return result;
  }
  // In an order of their own: draws must not depend on that of the cases.
  const std::vector<double> d = Sorted(differences);
  const size_t n = d.size();
  double scale = 0;
  for (const double value : d) scale += std::fabs(value);
  const double observed = std::fabs(SumOf(d)) - 1e-12 * scale;
  result.exact = n <= kLargestExactFlip;
  if (result.exact) {
    result.draw_count = int64_t{1} << n;
    // Neighbouring Gray codes differ in one sign; a fresh sum now and then keeps rounding away.
    double sum = 0;
    for (int64_t i = 0; i < result.draw_count; ++i) {
      const uint64_t code = static_cast<uint64_t>(i) ^ static_cast<uint64_t>(i) >> 1;
      if (i % 256 == 0) {
        sum = 0;
        for (size_t k = 0; k < n; ++k) sum += code >> k & 1 ? -d[k] : d[k];
      } else {
        const int flipped = std::countr_zero(static_cast<uint64_t>(i));
        sum += code >> flipped & 1 ? -2 * d[flipped] : 2 * d[flipped];
      }
      result.as_extreme += std::fabs(sum) >= observed;
    }
    result.p = static_cast<double>(result.as_extreme) / static_cast<double>(result.draw_count);
    result.smallest_p = std::ldexp(2.0, -static_cast<int>(n));
    return result;
  }
  if (draws < 1) {
    result.p = result.smallest_p = Status::kOutOfRange;
    return result;
  }
  result.draw_count = draws;
  for (int64_t draw = 0; draw < draws; ++draw) {
    RandomStream random(seed, static_cast<uint64_t>(draw));
    double sum = 0;
    uint32_t bits = 0;
    for (size_t k = 0; k < n; ++k) {
      if (k % 32 == 0) bits = random.Bits();
      sum += bits >> (k % 32) & 1 ? -d[k] : d[k];
    }
    result.as_extreme += std::fabs(sum) >= observed;
  }
  result.p = static_cast<double>(result.as_extreme + 1) / static_cast<double>(draws + 1);
  result.smallest_p = 1 / static_cast<double>(draws + 1);
  return result;
}

Measure SignTest(std::span<const double> differences) {
  if (differences.empty()) return Status::kNoData;
  if (!AllFinite(differences)) return Status::kOutOfRange;
  int64_t above = 0;
  int64_t below = 0;
  for (const double d : differences) {
    above += d > 0;
    below += d < 0;
  }
  return std::min(1.0, 2 * BinomialCdf(std::min(above, below), above + below, 0.5));
}

SignedRank SignedRankTest(std::span<const double> differences) {
  if (differences.empty()) return {};
  if (!AllFinite(differences)) return {.statistic = Status::kOutOfRange, .p = Status::kOutOfRange};
  std::vector<double> d(differences.begin(), differences.end());
  std::sort(d.begin(), d.end(), [](double x, double y) { return std::fabs(x) < std::fabs(y); });
  const size_t n = d.size();
  for (size_t i = 0; i < n; ++i) {
    const bool tied = i + 1 < n && std::fabs(d[i]) == std::fabs(d[i + 1]);
    if (d[i] == 0 || tied) return {.statistic = Status::kOutOfRange, .p = Status::kOutOfRange};
  }
  // Not beyond: a double counts subsets exactly up to here, and the t test serves.
  if (n > 50) return {.statistic = Status::kTooLarge, .p = Status::kTooLarge};
  const size_t total = n * (n + 1) / 2;
  size_t positive = 0;
  // ways[s]: sets of ranks with sum s.
  std::vector<double> ways(total + 1, 0);
  ways[0] = 1;
  for (size_t rank = 1; rank <= n; ++rank) {
    if (d[rank - 1] > 0) positive += rank;
    for (size_t sum = total; sum >= rank; --sum) ways[sum] += ways[sum - rank];
  }
  const size_t smaller = std::min(positive, total - positive);
  double tail = 0;
  for (size_t sum = 0; sum <= smaller; ++sum) tail += ways[sum];
  return {.statistic = static_cast<double>(smaller),
          .p = std::min(1.0, std::ldexp(tail, 1 - static_cast<int>(n)))};
}

}  // namespace reenact::analysis
