#include "replayer/analysis/descriptive.h"

#include <algorithm>
#include <cmath>
#include <compare>
#include <vector>

namespace reenact::analysis {
namespace {

double MedianOfSorted(std::span<const double> sorted) {
  const size_t n = sorted.size();
  return n % 2 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
}

// Sum of (x - mean x)(y - mean y).
double CrossDeviations(std::span<const double> x, std::span<const double> y) {
  const double mean_x = MeanOf(x);
  const double mean_y = MeanOf(y);
  std::vector<double> products(x.size());
  for (size_t i = 0; i < x.size(); ++i) products[i] = (x[i] - mean_x) * (y[i] - mean_y);
  return SumOf(products);
}

}  // namespace

bool AllFinite(std::span<const double> values) {
  return std::all_of(values.begin(), values.end(), [](double v) { return std::isfinite(v); });
}

std::vector<double> Sorted(std::span<const double> values) {
  std::vector<double> sorted(values.begin(), values.end());
  std::sort(sorted.begin(), sorted.end(),
            [](double a, double b) { return std::is_lt(std::strong_order(a, b)); });
  return sorted;
}

double SumOf(std::span<const double> values) {
  double sum = 0;
  double lost = 0;
  for (const double value : Sorted(values)) {
    // What the addition rounds away is kept beside (Neumaier).
    const double next = sum + value;
    lost += std::fabs(sum) >= std::fabs(value) ? (sum - next) + value : (value - next) + sum;
    sum = next;
  }
  return sum + lost;
}

double MeanOf(std::span<const double> values) {
  return values.empty() ? 0 : SumOf(values) / static_cast<double>(values.size());
}

bool AllEqual(std::span<const double> values) {
  return std::all_of(values.begin(), values.end(), [&](double v) { return v == values[0]; });
}

double SquaredDeviations(std::span<const double> values) {
  if (AllEqual(values)) return 0;
  const double mean = MeanOf(values);
  std::vector<double> squares;
  squares.reserve(values.size());
  for (const double value : values) squares.push_back((value - mean) * (value - mean));
  return SumOf(squares);
}

Measure StandardDeviation(std::span<const double> values) {
  if (values.empty()) return Status::kNoData;
  if (!AllFinite(values)) return Status::kOutOfRange;
  if (values.size() < 2) return Status::kInsufficientN;
  return std::sqrt(SquaredDeviations(values) / static_cast<double>(values.size() - 1));
}

Measure Median(std::span<const double> values) {
  if (values.empty()) return Status::kNoData;
  if (!AllFinite(values)) return Status::kOutOfRange;
  return MedianOfSorted(Sorted(values));
}

Measure MedianAbsoluteDeviation(std::span<const double> values) {
  if (values.empty()) return Status::kNoData;
  if (!AllFinite(values)) return Status::kOutOfRange;
  const double median = MedianOfSorted(Sorted(values));
  std::vector<double> distances;
  distances.reserve(values.size());
  for (const double value : values) distances.push_back(std::fabs(value - median));
  return MedianOfSorted(Sorted(distances));
}

double SortedQuantile(std::span<const double> sorted, double p, QuantileRule rule) {
  const double n = static_cast<double>(sorted.size());
  if (rule == QuantileRule::kInverted) {
    const double rank = std::ceil(n * p);
    return sorted[static_cast<size_t>(std::clamp(rank, 1.0, n)) - 1];
  }
  const double position = (n - 1) * p;
  const size_t below = static_cast<size_t>(position);
  if (below + 1 >= sorted.size()) return sorted.back();
  return sorted[below] +
         (position - static_cast<double>(below)) * (sorted[below + 1] - sorted[below]);
}

Measure Correlation(std::span<const double> x, std::span<const double> y) {
  if (x.size() != y.size()) return Status::kNotComparable;
  if (x.empty()) return Status::kNoData;
  if (!AllFinite(x) || !AllFinite(y)) return Status::kOutOfRange;
  if (x.size() < 2) return Status::kInsufficientN;
  const double squares_x = SquaredDeviations(x);
  const double squares_y = SquaredDeviations(y);
  if (squares_x == 0 || squares_y == 0) return Status::kZeroVariance;
  const double r = CrossDeviations(x, y) / (std::sqrt(squares_x) * std::sqrt(squares_y));
  return std::clamp(r, -1.0, 1.0);
}

Summary Summarise(std::span<const double> values) {
  Summary summary;
  summary.n = static_cast<int64_t>(values.size());
  if (values.empty()) return summary;
  if (!AllFinite(values)) {
    summary.mean = summary.median = summary.mad = summary.min = summary.max = Status::kOutOfRange;
    summary.sd = summary.se = Status::kOutOfRange;
    return summary;
  }
  summary.mean = MeanOf(values);
  summary.median = Median(values);
  summary.mad = MedianAbsoluteDeviation(values);
  summary.min = *std::min_element(values.begin(), values.end());
  summary.max = *std::max_element(values.begin(), values.end());
  summary.all_equal = AllEqual(values);
  summary.sd = StandardDeviation(values);
  summary.se = summary.sd.ok()
                   ? Measure(summary.sd.value() / std::sqrt(static_cast<double>(values.size())))
                   : summary.sd;
  return summary;
}

}  // namespace reenact::analysis
