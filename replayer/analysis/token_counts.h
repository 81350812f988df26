// Two tallies of the same thing: first tokens of a canary, fingerprints of an endpoint. The
// distance is biased upwards for few samples; it is judged by an exact permutation test or a noise
// floor.

#ifndef REENACT_REPLAYER_ANALYSIS_TOKEN_COUNTS_H_
#define REENACT_REPLAYER_ANALYSIS_TOKEN_COUNTS_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "replayer/analysis/measure.h"
#include "replayer/analysis/paired.h"
#include "replayer/analysis/random.h"

namespace reenact::analysis {

using Counts = std::map<std::string, int64_t>;

struct CountOptions {
  int64_t exact_up_to = 2000000;  // Tables to enumerate; beyond, `draws` random ones.
  int64_t draws = kDefaultDraws;
  uint64_t seed = kDefaultSeed;
};

struct CountComparison {
  std::vector<std::string> tokens;  // Of both, by bytes; those counted 0 on both sides left out.
  Measure tv;                       // Half the sum of the differences of shares.
  bool exact = false;
  Measure p;         // Of tv, by permutation; exact: multivariate hypergeometric.
  Measure fisher_p;  // Fisher, Freeman and Halton; only where exact.
  // Asymptotic: invalid where an expected count is below 5, and then not to be reported.
  Measure chi2, chi2_p, g, g_p;
  int64_t df = 0;
  bool expected_below_five = false;
};

CountComparison CompareCounts(const Counts& reference, const Counts& current,
                              const CountOptions& options = {});

struct FingerprintMix {
  std::vector<std::string> novel;     // Never seen before: an event, whatever the share.
  std::vector<std::string> vanished;  // Not seen now.
  Measure novel_share;
  // Chance that a vanished value only went unseen: (1 - old share)^n. Gone once below alpha.
  std::map<std::string, double> unseen_by_chance;
  CountComparison mix;
};

// Values of one endpoint and model string; an absent fingerprint is a value of its own.
FingerprintMix CompareFingerprints(const Counts& before, const Counts& after,
                                   const CountOptions& options = {});

}  // namespace reenact::analysis

#endif  // REENACT_REPLAYER_ANALYSIS_TOKEN_COUNTS_H_
