// Where repeated answers part, and how long an answer may be before they do. Indices count tokens
// from 0. Answers that agree to their end are censored there: their length is no divergence.

#ifndef REENACT_REPLAYER_ANALYSIS_FIRST_DIVERGENCE_H_
#define REENACT_REPLAYER_ANALYSIS_FIRST_DIVERGENCE_H_

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "replayer/analysis/measure.h"

namespace reenact::analysis {

using Tokens = std::vector<int64_t>;

// The first index where two answers differ; one that is a prefix of the other differs at its end.
// Nothing: they are equal.
std::optional<int64_t> FirstDivergence(std::span<const int64_t> a, std::span<const int64_t> b);

struct DivergenceIndex {
  std::optional<int64_t> n_way;  // The earliest of all pairs (Div_Index, Yuan et al. 2025).
  // Of runs i < j, in the order (0,1), (0,2), ..., (1,2), ...
  std::vector<std::optional<int64_t>> pairwise;
  std::vector<std::optional<int64_t>> from_first;  // Of each run and run 0.
  Measure pairs_identical;                         // Share of pairs.
};

DivergenceIndex FindDivergence(std::span<const Tokens> runs);

// One pair or prompt: the index of its divergence, or the length to which it agreed.
struct Observed {
  int64_t token_index = 0;
  bool diverged = false;
};

struct SurvivalStep {
  int64_t token_index = 0;
  int64_t at_risk = 0;
  int64_t diverged = 0;
  double survival = 1;  // Share that agrees beyond this index.
};

struct DivergenceSurvival {
  std::vector<SurvivalStep> steps;  // Kaplan and Meier, where something diverged.
  int64_t events = 0;
  int64_t exposure_tokens = 0;
  Measure hazard;  // Per token: events / exposure.
  // Upper 95 % bound, where nothing diverged (else kOutOfRange): 3.0 / exposure.
  Measure hazard_upper95;
};

DivergenceSurvival EstimateSurvival(std::span<const Observed> observed);

// (1 - hazard)^length: two answers of this length are equal.
Measure IdenticalProbability(double hazard, int64_t length);
// The longest length with a probability of at least `probability`; kInfinite without a hazard.
Measure LongestIdentical(double hazard, double probability);
// 1 / hazard tokens.
Measure ExpectedFirstDivergence(double hazard);

// Sample deviations over configurations or runs (Yuan et al. 2025), averaged over examples:
// Std@Acc is StandardDeviation of the accuracies; Avg_Std@Output_Length is this of the lengths.
Measure MeanDeviation(std::span<const std::vector<double>> values_by_example);

// Avg_Std@top1_prob: deviation over runs of the top-1 probability at each position before the runs
// diverge; `probability[run][position]` for one example.
using ProbabilityRuns = std::vector<std::vector<double>>;

struct TopProbabilityDeviation {
  Measure pooled;  // All positions of all examples weigh the same.
  Measure macro;   // All examples do.
};

TopProbabilityDeviation DeviationOfTopProbability(std::span<const ProbabilityRuns> examples);

}  // namespace reenact::analysis

#endif  // REENACT_REPLAYER_ANALYSIS_FIRST_DIVERGENCE_H_
