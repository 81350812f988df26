// Bootstrap intervals of one sample (paired comparisons pass their differences: cases are what is
// resampled). Below about 15 values they cover less than they claim; `small_sample` says so.
//
// Bits: a function of the values, the seed and the number of draws; not of their order, nor of
// threads.

#ifndef REENACT_REPLAYER_ANALYSIS_BOOTSTRAP_H_
#define REENACT_REPLAYER_ANALYSIS_BOOTSTRAP_H_

#include <cstdint>
#include <functional>
#include <span>

#include "replayer/analysis/descriptive.h"
#include "replayer/analysis/intervals.h"
#include "replayer/analysis/measure.h"
#include "replayer/analysis/paired.h"
#include "replayer/analysis/random.h"

namespace reenact::analysis {

// In the unit of the statistic.
struct Bootstrap {
  int64_t n = 0;
  int64_t resamples = 0;
  bool exhaustive = false;  // All n^n, not drawn.
  bool small_sample = false;
  Measure estimate;
  Measure se;  // Of all resamples when exhaustive, else the sample deviation of the draws.
  Interval percentile_linear, percentile_inverted;  // The two rules of SortedQuantile.
  // Bias-corrected and accelerated. kZeroVariance when all values are equal.
  Measure share_below;  // Of resamples below the estimate, ties half (as scipy; R counts none).
  Measure z0;
  Measure acceleration;        // From the jackknife.
  Measure alpha_lo, alpha_hi;  // The quantiles that the corrections choose.
  Interval bca_linear, bca_inverted;
};

using Statistic = std::function<double(std::span<const double>)>;

struct BootstrapOptions {
  double confidence = kDefaultConfidence;
  int64_t draws = kDefaultDraws;
  uint64_t seed = kDefaultSeed;
};

// All n^n resamples for n <= 6, else `draws`.
Bootstrap BootstrapInterval(std::span<const double> values, const Statistic& statistic = MeanOf,
                            const BootstrapOptions& options = {});

}  // namespace reenact::analysis

#endif  // REENACT_REPLAYER_ANALYSIS_BOOTSTRAP_H_
