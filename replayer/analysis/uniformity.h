// Are numbers of (0, 1) uniform? For ranks of a score among samples of a local reference model
// (RUT).

#ifndef REENACT_REPLAYER_ANALYSIS_UNIFORMITY_H_
#define REENACT_REPLAYER_ANALYSIS_UNIFORMITY_H_

#include <span>

#include "replayer/analysis/measure.h"

namespace reenact::analysis {

// Where a score falls among m reference scores; `tie_break` in [0, 1) comes from a seeded generator
// and is stored, so that the rank can be had again.
struct RandomisedRank {
  Measure exact;  // (lower + tie_break (equal + 1)) / (m + 1): uniform for every m.
  Measure
      published;  // (lower + tie_break equal) / m: not uniform for small m; to compare with papers.
};

RandomisedRank RankAmong(double score, std::span<const double> reference, double tie_break);

struct Uniformity {
  Measure omega2;  // Cramer-von Mises.
  Measure p;       // Csorgo and Faraway 1996; kInsufficientN for one value.
  Measure ks;      // Kolmogorov-Smirnov.
  Measure ks_p;    // Exact (Durbin 1973, Marsaglia et al. 2003); kTooLarge above 1,000 values.
};

// Values outside [0, 1]: kOutOfRange.
Uniformity TestUniformity(std::span<const double> values);

}  // namespace reenact::analysis

#endif  // REENACT_REPLAYER_ANALYSIS_UNIFORMITY_H_
