#include "replayer/analysis/bootstrap.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "replayer/analysis/special_functions.h"

namespace reenact::analysis {
namespace {

constexpr size_t kLargestExhaustive = 6;

std::vector<double> AllResamples(std::span<const double> values, const Statistic& statistic) {
  const size_t n = values.size();
  std::vector<size_t> picks(n, 0);
  std::vector<double> resample(n, values[0]);
  std::vector<double> results;
  while (true) {
    results.push_back(statistic(resample));
    size_t digit = 0;
    while (digit < n && ++picks[digit] == n) {
      picks[digit] = 0;
      resample[digit++] = values[0];
    }
    if (digit == n) return results;
    resample[digit] = values[picks[digit]];
  }
}

std::vector<double> DrawnResamples(std::span<const double> values, const Statistic& statistic,
                                   const BootstrapOptions& options) {
  std::vector<double> resample(values.size());
  std::vector<double> results;
  results.reserve(options.draws);
  for (int64_t draw = 0; draw < options.draws; ++draw) {
    RandomStream random(options.seed, static_cast<uint64_t>(draw));
    for (double& value : resample) {
      value = values[random.Below(static_cast<uint32_t>(values.size()))];
    }
    results.push_back(statistic(resample));
  }
  return results;
}

Measure Acceleration(std::span<const double> values, const Statistic& statistic) {
  std::vector<double> left_out;
  for (size_t skip = 0; skip < values.size(); ++skip) {
    std::vector<double> rest;
    for (size_t i = 0; i < values.size(); ++i) {
      if (i != skip) rest.push_back(values[i]);
    }
    left_out.push_back(statistic(rest));
  }
  const double mean = MeanOf(left_out);
  std::vector<double> squares;
  std::vector<double> cubes;
  for (const double value : left_out) {
    const double d = mean - value;
    squares.push_back(d * d);
    cubes.push_back(d * d * d);
  }
  const double square = SumOf(squares);
  if (square == 0) return Status::kZeroVariance;
  return SumOf(cubes) / (6 * square * std::sqrt(square));
}

Interval Quantiles(std::span<const double> sorted, double lo, double hi, QuantileRule rule) {
  return {.lo = SortedQuantile(sorted, lo, rule), .hi = SortedQuantile(sorted, hi, rule)};
}

void CorrectBias(std::span<const double> values, std::span<const double> sorted,
                 const Statistic& statistic, double confidence, Bootstrap* result) {
  // Equal up to rounding: the same mean summed from other values.
  const double slack = 1e-12 * std::max(std::fabs(sorted.front()), std::fabs(sorted.back()));
  const double estimate = result->estimate.value();
  double below = 0;
  for (const double value : sorted) {
    if (std::fabs(value - estimate) <= slack) {
      below += 0.5;
    } else if (value < estimate) {
      below += 1;
    }
  }
  const double share = below / static_cast<double>(sorted.size());
  result->share_below = share;
  if (share == 0 || share == 1) {
    result->z0 = Status::kInfinite;
    result->bca_linear = result->bca_inverted = NoInterval(Status::kInfinite);
    return;
  }
  const double z0 = NormalQuantile(share);
  result->z0 = z0;
  result->acceleration = Acceleration(values, statistic);
  if (!result->acceleration.ok()) {
    result->bca_linear = result->bca_inverted = NoInterval(result->acceleration.status());
    return;
  }
  const auto corrected = [&](double p) {
    const double shifted = z0 + NormalQuantile(p);
    return NormalCdf(z0 + shifted / (1 - result->acceleration.value() * shifted));
  };
  const double lo = corrected((1 - confidence) / 2);
  const double hi = corrected(1 - (1 - confidence) / 2);
  result->alpha_lo = lo;
  result->alpha_hi = hi;
  result->bca_linear = Quantiles(sorted, lo, hi, QuantileRule::kLinear);
  result->bca_inverted = Quantiles(sorted, lo, hi, QuantileRule::kInverted);
}

}  // namespace

Bootstrap BootstrapInterval(std::span<const double> values_in, const Statistic& statistic,
                            const BootstrapOptions& options) {
  Bootstrap result;
  result.n = static_cast<int64_t>(values_in.size());
  result.small_sample = result.n < kSmallSample;
  Status wrong = Status::kOk;
  if (values_in.size() == 1) wrong = Status::kInsufficientN;
  if (values_in.empty()) wrong = Status::kNoData;
  if (!AllFinite(values_in) || options.draws < 1 ||
      !(options.confidence > 0 && options.confidence < 1)) {
    wrong = Status::kOutOfRange;
  }
  if (wrong != Status::kOk) {
    result.percentile_linear = result.percentile_inverted = NoInterval(wrong);
    result.bca_linear = result.bca_inverted = NoInterval(wrong);
    result.se = result.z0 = result.acceleration = result.share_below = wrong;
    return result;
  }
  const std::vector<double> values = Sorted(values_in);
  result.estimate = statistic(values);
  result.exhaustive = values.size() <= kLargestExhaustive;
  std::vector<double> sorted = result.exhaustive ? AllResamples(values, statistic)
                                                 : DrawnResamples(values, statistic, options);
  std::sort(sorted.begin(), sorted.end());
  const double count = static_cast<double>(sorted.size());
  result.resamples = static_cast<int64_t>(sorted.size());
  result.se = std::sqrt(SquaredDeviations(sorted) / (result.exhaustive ? count : count - 1));
  const double tail = (1 - options.confidence) / 2;
  result.percentile_linear = Quantiles(sorted, tail, 1 - tail, QuantileRule::kLinear);
  result.percentile_inverted = Quantiles(sorted, tail, 1 - tail, QuantileRule::kInverted);
  if (AllEqual(values)) {
    result.percentile_linear.status = result.percentile_inverted.status = Status::kZeroVariance;
    result.share_below = result.z0 = result.acceleration = Status::kZeroVariance;
    result.bca_linear = result.bca_inverted = NoInterval(Status::kZeroVariance);
    return result;
  }
  CorrectBias(values, sorted, statistic, options.confidence, &result);
  return result;
}

}  // namespace reenact::analysis
