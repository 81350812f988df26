// How much an unchanged endpoint moves: a statistic between baselines taken at different times is
// the null against which today's is judged. This holds where windows share load and host, as
// samples do not.

#ifndef REENACT_REPLAYER_ANALYSIS_NOISE_FLOOR_H_
#define REENACT_REPLAYER_ANALYSIS_NOISE_FLOOR_H_

#include <cstdint>
#include <span>

#include "replayer/analysis/measure.h"

namespace reenact::analysis {

// All values in the unit of the statistic (nats).
struct NoiseFloor {
  int64_t baseline_count = 0;  // m
  // kBitStable: all of the null and the observation are one value, as a rule 0. kBitwiseChange:
  // only the null is. kZeroVariance: most of the null is one value. In all three there is no robust
  // z.
  Status status = Status::kOk;
  Measure p;           // (1 + null values >= observed) / (m + 1).
  Measure smallest_p;  // 1 / (m + 1): more baselines are the only way below.
  Measure median, mad;
  Measure robust_z;  // 0.6745 (observed - median) / MAD (Iglewicz and Hoaglin 1993).
  Measure mean, sd, z;
  Measure q95;  // Of the null, type 7.
  // What the observation must exceed for p <= 0.05; kInsufficientN below 19 baselines.
  Measure threshold_alpha05;
};

NoiseFloor JudgeAgainstBaselines(std::span<const double> null, double observed);

// Baselines that a test of level alpha needs at least.
Measure BaselinesNeeded(double alpha);

// An alarm needs a small p, an effect that matters, and both in this many windows running.
struct DriftGates {
  double alpha = 0.05;
  double times_median = 3;
  double least_nats = 0.05;
  int64_t persistence = 3;
};

bool PassesGates(const NoiseFloor& floor, double observed, const DriftGates& gates = {});

}  // namespace reenact::analysis

#endif  // REENACT_REPLAYER_ANALYSIS_NOISE_FLOOR_H_
