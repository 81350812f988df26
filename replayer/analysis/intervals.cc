#include "replayer/analysis/intervals.h"

#include <algorithm>
#include <cmath>

#include "replayer/analysis/elementary.h"
#include "replayer/analysis/special_functions.h"

namespace reenact::analysis {
namespace {

bool IsConfidence(double confidence) {
  return confidence > 0 && confidence < 1;
}

double CriticalZ(double confidence) {
  return NormalQuantile(0.5 + confidence / 2);
}

// What is wrong with k of n, or kOk.
Status CheckCounts(int64_t k, int64_t n, double confidence) {
  if (n == 0) return Status::kNoData;
  if (k < 0 || k > n || !IsConfidence(confidence)) return Status::kOutOfRange;
  return Status::kOk;
}

// The quantiles of Beta(k + shift, n - k + shift'), with the ends where no quantile is needed.
Interval BetaInterval(int64_t k, int64_t n, double confidence, double lower_shift,
                      double upper_shift) {
  if (Status wrong = CheckCounts(k, n, confidence); wrong != Status::kOk) return NoInterval(wrong);
  const double alpha = 1 - confidence;
  const double passes = static_cast<double>(k);
  const double fails = static_cast<double>(n - k);
  Interval interval{.lo = 0.0, .hi = 1.0};
  if (k > 0) interval.lo = BetaQuantile(alpha / 2, passes + lower_shift, fails + upper_shift);
  if (k < n) interval.hi = BetaQuantile(1 - alpha / 2, passes + upper_shift, fails + lower_shift);
  return interval;
}

}  // namespace

Interval StudentInterval(double estimate, double se, double df, double confidence) {
  if (!IsConfidence(confidence)) return NoInterval(Status::kOutOfRange);
  if (!(df > 0)) return NoInterval(Status::kInsufficientN);
  const double half = StudentQuantile(0.5 + confidence / 2, df) * se;
  return {.lo = estimate - half,
          .hi = estimate + half,
          .status = se == 0 ? Status::kZeroVariance : Status::kOk};
}

MeanInterval StudentInterval(std::span<const double> values, double confidence) {
  MeanInterval result{.summary = Summarise(values)};
  const Summary& summary = result.summary;
  if (!summary.se.ok()) {
    result.t_critical = summary.se.status();
    result.interval = NoInterval(summary.se.status());
    return result;
  }
  result.df = summary.n - 1;
  result.t_critical = StudentQuantile(0.5 + confidence / 2, static_cast<double>(result.df));
  result.interval = StudentInterval(summary.mean.value(), summary.se.value(),
                                    static_cast<double>(result.df), confidence);
  return result;
}

Interval WilsonInterval(double successes, double n, double confidence) {
  if (n == 0) return NoInterval(Status::kNoData);
  if (!(n > 0 && successes >= 0 && successes <= n) || !IsConfidence(confidence)) {
    return NoInterval(Status::kOutOfRange);
  }
  const double z = CriticalZ(confidence);
  const double p = successes / n;
  const double scale = 1 + z * z / n;
  const double centre = (p + z * z / (2 * n)) / scale;
  const double half = z / scale * std::sqrt(p * (1 - p) / n + z * z / (4 * n * n));
  // At the ends the two terms cancel in theory, not in rounding.
  return {.lo = successes == 0 ? 0 : std::max(0.0, centre - half),
          .hi = successes == n ? 1 : std::min(1.0, centre + half)};
}

Interval WilsonInterval(int64_t k, int64_t n, double confidence) {
  if (Status wrong = CheckCounts(k, n, confidence); wrong != Status::kOk) return NoInterval(wrong);
  return WilsonInterval(static_cast<double>(k), static_cast<double>(n), confidence);
}

Interval ClopperPearsonInterval(int64_t k, int64_t n, double confidence) {
  return BetaInterval(k, n, confidence, 0, 1);
}

Interval JeffreysInterval(int64_t k, int64_t n, double confidence) {
  return BetaInterval(k, n, confidence, 0.5, 0.5);
}

Interval WaldInterval(int64_t k, int64_t n, double confidence) {
  if (Status wrong = CheckCounts(k, n, confidence); wrong != Status::kOk) return NoInterval(wrong);
  const double count = static_cast<double>(n);
  const double p = static_cast<double>(k) / count;
  const double half = CriticalZ(confidence) * std::sqrt(p * (1 - p) / count);
  return {
      .lo = p - half, .hi = p + half, .status = half == 0 ? Status::kZeroVariance : Status::kOk};
}

ZeroFailureBound BoundWithoutFailure(int64_t n, double confidence) {
  if (Status wrong = CheckCounts(0, n, confidence); wrong != Status::kOk) {
    return {.one_sided_upper = wrong, .two_sided_upper = wrong, .rule_of_three = wrong};
  }
  const double count = static_cast<double>(n);
  const double alpha = 1 - confidence;
  return {.one_sided_upper = -ExpMinusOne(Log(alpha) / count),
          .two_sided_upper = -ExpMinusOne(Log(alpha / 2) / count),
          .rule_of_three = 3 / count};
}

Measure EffectiveCount(int64_t case_count, int64_t runs_per_case, double icc) {
  if (case_count < 1 || runs_per_case < 1) return Status::kNoData;
  const double runs = static_cast<double>(runs_per_case);
  return static_cast<double>(case_count) * runs / (1 + (runs - 1) * std::clamp(icc, 0.0, 1.0));
}

}  // namespace reenact::analysis
