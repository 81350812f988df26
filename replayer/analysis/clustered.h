// Standard errors when observations come in groups: runs of one case, cases of one passage. Runs of
// a case are never pooled as if they were independent.

#ifndef REENACT_REPLAYER_ANALYSIS_CLUSTERED_H_
#define REENACT_REPLAYER_ANALYSIS_CLUSTERED_H_

#include <cstdint>
#include <span>
#include <vector>

#include "replayer/analysis/intervals.h"
#include "replayer/analysis/measure.h"

namespace reenact::analysis {

struct ClusteredMean {
  int64_t n = 0;
  int64_t cluster_count = 0;
  Measure mean;
  Measure se_naive;       // As if all were independent.
  Measure se_cr0;         // Miller 2024, appendix A.
  Measure se_cr1;         // CR0 times C / (C - 1): for few clusters; the one that reports use.
  Measure se_cr2;         // Bias-reduced (Bell and McCaffrey 2002).
  Measure df_cr2;         // Satterthwaite's, of CR2.
  int64_t df = 0;         // C - 1, of CR1.
  Interval interval;      // mean +- t(df) se_cr1.
  Measure design_effect;  // (se_cr1 / se_naive)^2.
};

// `cluster[i]` names the group of values[i]. One cluster has no CR1 (kInsufficientN).
ClusteredMean MeanOfClusters(std::span<const double> values, std::span<const int64_t> cluster,
                             double confidence = kDefaultConfidence);

// Scores of `values[case][run]`, split into what differs between cases and what between runs of one
// case. Two questions have two answers:
//   se_superpopulation   new questions of the same kind: question and decoding noise
//   se_fixed_suite       these questions, asked again: decoding noise only
struct VarianceSplit {
  int64_t case_count = 0;
  int64_t runs_per_case = 0;  // 0: not the same for all.
  Measure mean;               // Of case means: every case weighs the same.
  Measure mean_square_between;
  Measure mean_square_within;
  Measure variance_within;   // Decoding noise of one run.
  Measure variance_between;  // Of case means without that noise; never below 0.
  Measure icc;               // Intraclass correlation ICC(1); may be negative.
  Measure se_superpopulation;
  Measure se_fixed_suite;
  Measure instability;            // Share of the variance that is decoding noise.
  std::vector<double> run_means;  // Where every case has the same runs.
  Measure sd_of_run_means;
  Measure se_from_run_means;  // Estimates what se_fixed_suite does, with K - 1 degrees only.
};

// Cases of unequal numbers of runs: mean and se_superpopulation only, the rest kNotComparable.
VarianceSplit SplitVariance(std::span<const std::vector<double>> values);

}  // namespace reenact::analysis

#endif  // REENACT_REPLAYER_ANALYSIS_CLUSTERED_H_
