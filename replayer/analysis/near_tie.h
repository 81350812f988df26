// Decisions so close that noise may turn them: tokens by their margin in nats, cases by their
// score.

#ifndef REENACT_REPLAYER_ANALYSIS_NEAR_TIE_H_
#define REENACT_REPLAYER_ANALYSIS_NEAR_TIE_H_

#include <cstdint>
#include <span>
#include <vector>

#include "replayer/analysis/intervals.h"
#include "replayer/analysis/measure.h"

namespace reenact::analysis {

// P(flip) of a Gaussian margin: Phi(-margin / deviation). An exact tie is a coin toss even without
// noise; without noise nothing else flips.
Measure FlipProbability(double margin_nats, double margin_deviation);

// Of two alternatives that share all mass.
struct TwoWayOdds {
  Measure odds_ratio;  // e^margin
  Measure likelier;    // Probability of the first.
};

TwoWayOdds OddsOfMargin(double margin_nats);

// The least that the margin can be when only the best logprob is known: the rest may be one token.
// kOutOfRange when it has no more than half of the mass.
Measure LeastMargin(double best_logprob);

struct SequenceRisk {
  std::vector<double> flip;  // Of each token.
  Measure any_flip;          // 1 - product of (1 - flip).
  int64_t below = 0;         // Margins below the threshold.
  Measure share_below;
  Measure least, q05, median;  // Of the margins, nats.
  int64_t least_index = -1;    // The first of the least.
};

SequenceRisk RiskOfSequence(std::span<const double> margins, double margin_deviation,
                            double threshold_nats);

// A case whose verdict is "score at or above the threshold".
struct ScoreTie {
  Measure mean;
  Measure half_width;  // Of the t interval.
  Measure distance;    // |mean - threshold| in standard errors.
  bool interval_straddles = false;
  bool verdict_flips = false;  // Between runs.
  bool near_tie = false;       // Either.
};

ScoreTie JudgeScores(std::span<const double> scores, double threshold,
                     double confidence = kDefaultConfidence);

// What K runs of one case say.
enum class CaseStability { kUnknown, kStablePass, kStableFail, kFlaky };

struct Flakiness {
  CaseStability stability = CaseStability::kUnknown;
  Interval pass_rate;  // Wilson.
  Measure flip_rate;   // Share of pairs of runs that disagree.
  // A stable case could still do the other in up to this share of its runs (one-sided).
  Measure hidden_upper;
};

Flakiness JudgeCase(int64_t passes, int64_t runs, double confidence = kDefaultConfidence);

}  // namespace reenact::analysis

#endif  // REENACT_REPLAYER_ANALYSIS_NEAR_TIE_H_
