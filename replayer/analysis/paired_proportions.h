// Two systems on the same cases, one verdict each: the 2 x 2 table of passes and fails. With
// several runs a case compare case means instead (paired.h): a majority vote throws most of the
// power away.

#ifndef REENACT_REPLAYER_ANALYSIS_PAIRED_PROPORTIONS_H_
#define REENACT_REPLAYER_ANALYSIS_PAIRED_PROPORTIONS_H_

#include <cstdint>

#include "replayer/analysis/intervals.h"
#include "replayer/analysis/measure.h"

namespace reenact::analysis {

struct PairedTable {
  int64_t both_pass = 0;
  int64_t only_a = 0;  // A passes, B fails.
  int64_t only_b = 0;
  int64_t both_fail = 0;

  int64_t n() const { return both_pass + only_a + only_b + both_fail; }
};

struct McNemar {
  int64_t discordant = 0;
  // kNoDiscordant: no pair differs; both p are 1 then and the chi-squares do not exist.
  Status status = Status::kOk;
  Measure p_exact;  // Two-sided binomial; conservative.
  Measure p_mid;    // The recommended one (Fagerland et al. 2013).
  Measure chi2, chi2_p;
  Measure chi2_corrected, chi2_corrected_p;  // With continuity correction.
};

McNemar McNemarTest(int64_t only_a, int64_t only_b);

// Intervals of p(A) - p(B). No pair at all: kNoData.
struct PairedDifference {
  Measure diff;
  // Score interval (Tango 1998), the default: excludes 0 exactly when McNemar's chi-square rejects.
  Interval tango;
  Interval newcombe;  // Method 10 of Newcombe 1998, without root finding.
  Measure phi;        // Its correlation of the two verdicts, with continuity correction.
  Interval bonett_price;
  Interval wald;  // To explain a figure of somebody else only: it covers 70 to 95 %.
};

PairedDifference DifferenceOfPaired(const PairedTable& table,
                                    double confidence = kDefaultConfidence);

}  // namespace reenact::analysis

#endif  // REENACT_REPLAYER_ANALYSIS_PAIRED_PROPORTIONS_H_
