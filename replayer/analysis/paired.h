// Two systems on the same cases: tests of the mean of the differences d = a - b of case means. This
// is the verdict of a comparison; the overlap of two intervals is shown beside it and is not one.

#ifndef REENACT_REPLAYER_ANALYSIS_PAIRED_H_
#define REENACT_REPLAYER_ANALYSIS_PAIRED_H_

#include <cstdint>
#include <span>

#include "replayer/analysis/intervals.h"
#include "replayer/analysis/measure.h"
#include "replayer/analysis/random.h"

namespace reenact::analysis {

// Below this many cases a comparison is marked as exploratory.
inline constexpr int64_t kSmallSample = 15;
// The default number of random draws where not all can be enumerated.
inline constexpr int64_t kDefaultDraws = 9999;

// In the unit of the scores.
struct PairedT {
  int64_t n = 0;
  Measure mean_a, mean_b;
  Measure diff;  // mean a - mean b.
  Measure sd_diff;
  Measure se_paired;
  int64_t df = 0;
  Interval interval;  // Of the difference.
  Measure t, p;       // kConstantShift when all differences are equal and not 0: see SignTest.
  Measure correlation;
  Measure se_unpaired;  // What the standard error is when the pairing is thrown away.
  Measure welch_t, welch_p;
  Interval interval_a, interval_b;
  bool intervals_overlap = false;
  bool small_sample = false;
};

// Lists of different length: kNotComparable. Align by case first.
PairedT ComparePaired(std::span<const double> a, std::span<const double> b,
                      double confidence = kDefaultConfidence);

struct SignFlip {
  Measure p;               // Two-sided; with draws (b + 1) / (B + 1).
  Measure smallest_p;      // That n allows: 2^(1-n), or 1 / (B + 1).
  int64_t draw_count = 0;  // All 2^n, or B.
  int64_t as_extreme = 0;  // Of those.
  bool exact = false;
};

// H0: the differences are symmetric about 0. All sign patterns up to n = 20, else `draws` random
// ones. Sums within 1e-12 of the observed one count as equal, so that ties are no matter of
// rounding.
SignFlip SignFlipTest(std::span<const double> differences, int64_t draws = kDefaultDraws,
                      uint64_t seed = kDefaultSeed);

// Binomial on the differences that are not 0; 1 when there is none.
Measure SignTest(std::span<const double> differences);

struct SignedRank {
  Measure statistic;  // The smaller of the two rank sums.
  Measure p;          // Exact, two-sided.
};

// Wilcoxon's; exact only without ties and zeros, else kOutOfRange: use SignFlipTest.
SignedRank SignedRankTest(std::span<const double> differences);

}  // namespace reenact::analysis

#endif  // REENACT_REPLAYER_ANALYSIS_PAIRED_H_
