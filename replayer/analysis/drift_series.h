// A statistic over time: when it has moved for good. Indices count from 0; nothing looks ahead of
// the index that it judges, except where "after" is asked for. Values must
// be finite.

#ifndef REENACT_REPLAYER_ANALYSIS_DRIFT_SERIES_H_
#define REENACT_REPLAYER_ANALYSIS_DRIFT_SERIES_H_

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "replayer/analysis/measure.h"

namespace reenact::analysis {

// The first index where `exceeds` has held `persistence` times running (the last of them).
std::optional<size_t> FirstPersistent(const std::vector<bool>& exceeds, int64_t persistence);

// Mean of up to `window` values from `index` on, minus mean of up to `window` before it.
// kInsufficientN with fewer than `min_after` after, or none before.
Measure LevelShift(std::span<const double> series, size_t index, size_t window = 7,
                   size_t min_after = 3);

struct TrailingRule {
  size_t window = 14;       // Values in the baseline, at most.
  size_t exclusion = 4;     // Values before the judged one that are not in it.
  size_t min_baseline = 5;  // Fewer: not judged.
  double sigma_k = 4;       // Deviations above the baseline's mean, and
  double abs_delta = 0.2;   // at least this much, in the unit of the series.
  size_t persistence = 3;
  size_t cooldown = 10;  // After an event begins, none begins.
};

struct TrailingResult {
  std::vector<std::optional<bool>> deviates;  // Nothing: not enough baseline.
  std::vector<size_t> events;                 // Where each began.
};

// Compares each value with a trailing baseline. The baseline is empty until it lies wholly in the
// past.
TrailingResult DetectTrailing(std::span<const double> series, const TrailingRule& rule = {});

struct Cusum {
  std::vector<double> above, below;
  std::optional<size_t> alarm;
};

// Of standardised values; k = 0.5 and h = 5 raise a false alarm every 465 values on average.
Cusum RunCusum(std::span<const double> z, double k = 0.5, double h = 5);

struct Ewma {
  std::vector<double> average, limit;
  std::optional<size_t> alarm;
};

// Exponentially weighted mean with its exact limits.
Ewma RunEwma(std::span<const double> z, double lambda = 0.2, double width = 2.962);

struct EProcess {
  std::vector<double> e;
  std::optional<size_t> alarm;  // The first e >= 1 / alpha.
};

// Product of kappa p^(kappa - 1) (Vovk and Wang 2021). Valid only if each p is valid given the
// past: not with one shared baseline. A p of 0 or above 1 counts as no evidence: no p of this
// library is one.
EProcess RunEProcess(std::span<const double> p, double kappa = 0.5, double alpha = 0.05);

}  // namespace reenact::analysis

#endif  // REENACT_REPLAYER_ANALYSIS_DRIFT_SERIES_H_
