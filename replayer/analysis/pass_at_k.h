// Of n runs of a case, c passed. pass@k: at least one of k runs passes. pass^k: all k do.

#ifndef REENACT_REPLAYER_ANALYSIS_PASS_AT_K_H_
#define REENACT_REPLAYER_ANALYSIS_PASS_AT_K_H_

#include <cstdint>
#include <span>

#include "replayer/analysis/measure.h"

namespace reenact::analysis {

// Errors and timeouts are neither passes nor fails: they are not counted in `runs`.
struct PassCount {
  int64_t runs = 0;
  int64_t passes = 0;
};

// Unbiased for k <= n; beyond there is no such estimate (kOutOfRange).
// Source: Chen et al. 2021 (pass@k); Yao et al. 2024, tau-bench (pass^k).
Measure PassAtK(PassCount count, int64_t k);
Measure PassHatK(PassCount count, int64_t k);
// (c/n)^k: too high on average, shown only to explain somebody else's figure.
Measure PassHatKPlugIn(PassCount count, int64_t k);

// Means over cases. One case without a value makes the suite's undefined, with its reason.
Measure SuitePassAtK(std::span<const PassCount> cases, int64_t k);
Measure SuitePassHatK(std::span<const PassCount> cases, int64_t k);

}  // namespace reenact::analysis

#endif  // REENACT_REPLAYER_ANALYSIS_PASS_AT_K_H_
