// Two independent samples: only when the two sides did not answer the same cases. Otherwise see
// paired.h.

#ifndef REENACT_REPLAYER_ANALYSIS_UNPAIRED_H_
#define REENACT_REPLAYER_ANALYSIS_UNPAIRED_H_

#include <cstdint>
#include <span>

#include "replayer/analysis/intervals.h"
#include "replayer/analysis/measure.h"

namespace reenact::analysis {

struct WelchT {
  Measure mean_diff;
  Measure se;  // Of the difference.
  Measure t, df, p;
};

// Unequal variances. Both sides without variance: kZeroVariance.
WelchT CompareWelch(std::span<const double> x, std::span<const double> y);

struct TwoProportions {
  Measure diff;       // p1 - p2.
  Interval newcombe;  // Hybrid score, Newcombe 1998 method 10 for independent samples.
  Measure fisher_p;   // Exact, two-sided.
  Measure z_pooled, z_p;
  bool wilson_intervals_overlap = false;
};

// x1 of n1 against x2 of n2.
TwoProportions CompareProportions(int64_t x1, int64_t n1, int64_t x2, int64_t n2,
                                  double confidence = kDefaultConfidence);

// Fisher's exact test of the table {a, b; c, d}, two-sided: all tables with the same margins that
// are no likelier than this one.
Measure FisherExactP(int64_t a, int64_t b, int64_t c, int64_t d);

// How far two samples of numbers lie apart.
struct SampleDistance {
  Measure ks, ks_p;        // Kolmogorov-Smirnov; p exact.
  Measure mann_whitney_u;  // Of x: pairs with x above y, ties half.
  Measure mann_whitney_p;  // Exact; kOutOfRange with ties.
  Measure energy;          // 2E|X-Y| - E|X-X'| - E|Y-Y'|, in the unit of the values.
  Measure wasserstein;     // Area between the two distributions, in the unit of the values.
  Measure cliffs_delta;    // P(x > y) - P(x < y).
};

SampleDistance CompareSamples(std::span<const double> x, std::span<const double> y);

}  // namespace reenact::analysis

#endif  // REENACT_REPLAYER_ANALYSIS_UNPAIRED_H_
