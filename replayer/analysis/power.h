// How many cases or runs a question needs, and what can be seen with those there are. All
// two-sided.

#ifndef REENACT_REPLAYER_ANALYSIS_POWER_H_
#define REENACT_REPLAYER_ANALYSIS_POWER_H_

#include <cstdint>

#include "replayer/analysis/measure.h"

namespace reenact::analysis {

struct TestLevel {
  double alpha = 0.05;
  double power = 0.8;
};

struct SampleSize {
  Measure exact;  // Before rounding up.
  Measure n;
};

// Where the variance of a paired difference comes from: in squared units of the score.
struct PairedDesign {
  double omega2 = 0;                  // Variance of the difference between cases, without noise.
  double sigma2_a = 0, sigma2_b = 0;  // Decoding noise of one run.
  int64_t runs_a = 1, runs_b = 1;     // Runs a case.
};

// Cases to see a mean difference of `delta`. Source: Miller 2024, equation 9. For a t test add
// StudentCorrection.
SampleSize CasesForMean(const PairedDesign& design, double delta, TestLevel level = {});
// What the unknown variance costs a t test: z^2 / 2 cases (Guenther 1981).
Measure StudentCorrection(double alpha);
// The smallest difference of means that n cases show.
Measure DetectableDifference(const PairedDesign& design, int64_t n, TestLevel level = {});

// Cases for McNemar's test, of which a share `discordant` differs and `delta` is the difference of
// the two pass rates. Source: Connor 1987.
SampleSize CasesForMcNemar(double discordant, double delta, TestLevel level = {});
// Cases a side for two independent pass rates.
SampleSize CasesForProportions(double p1, double p2, TestLevel level = {});

// A case that passes with probability p, run n times.
struct FlakeOdds {
  Measure all_pass;
  Measure all_same;  // It looks stable, passing or failing.
  Measure detected;  // 1 - all_same.
};

FlakeOdds OddsOfFlake(double p, int64_t n);
// Runs until the flake shows with probability `probability`.
Measure RunsToSeeFlake(double p, double probability);

// Money for one year of probing, in the currency of the prices.
struct ProbeCost {
  double queries_per_probe = 0;
  double probes_per_year = 0;
  double input_tokens = 0, output_tokens = 0;  // A query.
  double price_input = 0, price_output = 0;    // For a million tokens.
};

Measure CostPerYear(const ProbeCost& cost);

}  // namespace reenact::analysis

#endif  // REENACT_REPLAYER_ANALYSIS_POWER_H_
