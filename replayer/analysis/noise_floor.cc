#include "replayer/analysis/noise_floor.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "replayer/analysis/descriptive.h"
#include "replayer/analysis/special_functions.h"

namespace reenact::analysis {
namespace {

// (x - centre) / spread where there is a spread.
Measure Standardised(double distance, const Measure& spread) {
  if (!spread.ok()) return spread;
  if (spread.value() == 0) return Status::kZeroVariance;
  return distance / spread.value();
}

}  // namespace

NoiseFloor JudgeAgainstBaselines(std::span<const double> null, double observed) {
  NoiseFloor floor;
  floor.baseline_count = static_cast<int64_t>(null.size());
  if (null.empty()) {
    floor.status = Status::kNoData;
    return floor;
  }
  if (!AllFinite(null) || !std::isfinite(observed)) {
    floor.status = Status::kOutOfRange;
    floor.p = floor.smallest_p = floor.median = floor.mad = floor.robust_z = Status::kOutOfRange;
    floor.mean = floor.sd = floor.z = floor.q95 = floor.threshold_alpha05 = Status::kOutOfRange;
    return floor;
  }
  const double count = static_cast<double>(null.size());
  const std::vector<double> sorted = Sorted(null);
  const double slack = 1e-12 * std::fabs(observed);
  const auto as_large = std::count_if(sorted.begin(), sorted.end(),
                                      [&](double value) { return value >= observed - slack; });
  floor.p = (1 + static_cast<double>(as_large)) / (count + 1);
  floor.smallest_p = 1 / (count + 1);
  const Summary summary = Summarise(null);
  floor.median = summary.median;
  floor.mad = summary.mad;
  floor.mean = summary.mean;
  floor.sd = summary.sd;
  floor.robust_z =
      Standardised(NormalQuantile(0.75) * (observed - summary.median.value()), floor.mad);
  floor.z = Standardised(observed - summary.mean.value(), floor.sd);
  floor.q95 = SortedQuantile(sorted, 0.95, QuantileRule::kLinear);
  // p <= alpha allows this many null values at or above the observation.
  const double allowed = std::floor(0.05 * (count + 1) + 1e-9) - 1;
  floor.threshold_alpha05 = allowed < 0
                                ? Measure(Status::kInsufficientN)
                                : Measure(sorted[sorted.size() - 1 - static_cast<size_t>(allowed)]);
  if (floor.mad.value() == 0) {
    if (summary.all_equal && observed == sorted[0]) {
      floor.status = Status::kBitStable;
    } else {
      floor.status = summary.all_equal ? Status::kBitwiseChange : Status::kZeroVariance;
    }
  }
  return floor;
}

Measure BaselinesNeeded(double alpha) {
  if (!(alpha > 0 && alpha < 1)) return Status::kOutOfRange;
  return std::ceil(1 / alpha - 1e-9) - 1;
}

bool PassesGates(const NoiseFloor& floor, double observed, const DriftGates& gates) {
  if (!floor.p.ok() || !floor.median.ok() || floor.p.value() > gates.alpha) return false;
  return observed >= std::max(gates.times_median * floor.median.value(), gates.least_nats);
}

}  // namespace reenact::analysis
