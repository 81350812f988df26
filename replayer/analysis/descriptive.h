// Sums and what follows from them. Order of the values never matters, not even in the last bit:
// they are sorted before they are added. A value that is not finite makes a result kOutOfRange.

#ifndef REENACT_REPLAYER_ANALYSIS_DESCRIPTIVE_H_
#define REENACT_REPLAYER_ANALYSIS_DESCRIPTIVE_H_

#include <cstdint>
#include <span>
#include <vector>

#include "replayer/analysis/measure.h"

namespace reenact::analysis {

bool AllFinite(std::span<const double> values);
// In an order that is total: NaN and the two zeros have their places too.
std::vector<double> Sorted(std::span<const double> values);

// Compensated, of the sorted values. Bits: independent of their order.
double SumOf(std::span<const double> values);
// 0 for no values.
double MeanOf(std::span<const double> values);
// Sum of squared distances from the mean; exactly 0 when all values are equal, whatever their mean
// rounds to (0.8, 0.8, 0.8).
double SquaredDeviations(std::span<const double> values);
bool AllEqual(std::span<const double> values);
// Divided by n - 1.
Measure StandardDeviation(std::span<const double> values);
Measure Median(std::span<const double> values);
// Median of the distances from the median, without a factor.
Measure MedianAbsoluteDeviation(std::span<const double> values);

// How a quantile falls between two values.
enum class QuantileRule {
  kLinear,    // Type 7 of Hyndman and Fan; numpy's default.
  kInverted,  // Type 1: always one of the values.
};
// Of values that are sorted already, not empty; 0 <= p <= 1.
double SortedQuantile(std::span<const double> sorted, double p, QuantileRule rule);

// Pearson's, of two lists of the same length.
Measure Correlation(std::span<const double> x, std::span<const double> y);

// Values of what was measured, in its own unit.
struct Summary {
  int64_t n = 0;
  Measure mean, median, mad, min, max;
  Measure sd;  // Sample deviation, divided by n - 1.
  Measure se;  // Of the mean: sd / sqrt(n). 0 when all are equal; see `all_equal`.
  bool all_equal = false;
};

Summary Summarise(std::span<const double> values);

}  // namespace reenact::analysis

#endif  // REENACT_REPLAYER_ANALYSIS_DESCRIPTIVE_H_
