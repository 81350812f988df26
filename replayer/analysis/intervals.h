// Intervals for one mean and for one pass rate. Confidence is two-sided and in (0, 1).

#ifndef REENACT_REPLAYER_ANALYSIS_INTERVALS_H_
#define REENACT_REPLAYER_ANALYSIS_INTERVALS_H_

#include <cstdint>
#include <span>

#include "replayer/analysis/descriptive.h"
#include "replayer/analysis/measure.h"

namespace reenact::analysis {

inline constexpr double kDefaultConfidence = 0.95;

struct MeanInterval {
  Summary summary;
  int64_t df = 0;
  Measure t_critical;
  // Says kZeroVariance when all values are equal: for scores in [0, 1] print a Wilson or
  // Clopper-Pearson bound instead.
  Interval interval;
};

// Mean +- t sd / sqrt(n). One value has no interval (kInsufficientN), not one of width 0.
MeanInterval StudentInterval(std::span<const double> values,
                             double confidence = kDefaultConfidence);
// `estimate` +- t se with `df` degrees.
Interval StudentInterval(double estimate, double se, double df, double confidence);

// k of n. Wilson is the default for display; Clopper-Pearson covers at least the confidence and is
// for guarantees. Ends are 0 at k = 0 and 1 at k = n. n = 0: kNoData.
Interval WilsonInterval(int64_t k, int64_t n, double confidence = kDefaultConfidence);
// For an effective n that is not whole (clustered runs); successes in the same unit.
Interval WilsonInterval(double successes, double n, double confidence);
Interval ClopperPearsonInterval(int64_t k, int64_t n, double confidence = kDefaultConfidence);
Interval JeffreysInterval(int64_t k, int64_t n, double confidence = kDefaultConfidence);
// p +- z sqrt(p (1 - p) / n): to explain a figure of somebody else, never for a verdict. At n = 5
// and p = 0.95 it covers 22.6 % where it claims 95 %. Not cut off at 0 and 1.
Interval WaldInterval(int64_t k, int64_t n, double confidence = kDefaultConfidence);

// What n runs without one failure say about the rate of failure.
struct ZeroFailureBound {
  Measure one_sided_upper;  // 1 - alpha^(1/n): the honest "up to".
  Measure two_sided_upper;  // Upper end of Clopper-Pearson.
  Measure rule_of_three;    // 3 / n: poor below n = 30.
};

ZeroFailureBound BoundWithoutFailure(int64_t n, double confidence = kDefaultConfidence);

// The effective number of independent observations among n cases of K runs: nK / (1 + (K-1) icc+).
Measure EffectiveCount(int64_t case_count, int64_t runs_per_case, double icc);

}  // namespace reenact::analysis

#endif  // REENACT_REPLAYER_ANALYSIS_INTERVALS_H_
