// How far a trainer's logprobs are from those of the sampler that made the tokens. delta = log
// trainer - log rollout, of the response tokens; all in binary64. The divergence is KL(rollout ||
// trainer), estimated under the rollout; what others call "forward" or "reverse" differs.

#ifndef REENACT_REPLAYER_ANALYSIS_RL_MISMATCH_H_
#define REENACT_REPLAYER_ANALYSIS_RL_MISMATCH_H_

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "replayer/analysis/intervals.h"
#include "replayer/analysis/measure.h"

namespace reenact::analysis {

// The estimators of one token (Schulman 2020). k1 is unbiased and may be negative; k2 is biased; k3
// is unbiased and never below 0.
double K1(double delta);
double K2(double delta);
// e^delta - 1 - delta without cancellation near 0, where binary32 gives noise and negative values.
double K3(double delta);

// Mean and deviation of each estimator under a sampling distribution over a finite support.
struct EstimatorMoments {
  Measure kl;  // Exact KL(q || p).
  Measure mean_k1, mean_k2, mean_k3;
  Measure sd_k1, sd_k2, sd_k3;
};

// `sampling` q and `other` p, both over the same tokens. A token that only q can make: kInfinite.
EstimatorMoments ExactMoments(std::span<const double> sampling, std::span<const double> other);

struct ScoredSequence {
  std::vector<double> rollout;  // Log probabilities, nats.
  std::vector<double> trainer;
  std::vector<bool> mask;  // Empty: all count.
};

enum class MismatchLevel {
  kUnknown,
  kBitwise,  // All bits equal.
  kAligned,  // max |delta| <= 1e-6
  kHealthy,  // k3 < 1e-3 and mean |probability difference| < 0.005
  kWatch,    // k3 < 0.015
  kBroken,
};
std::string_view MismatchLevelName(MismatchLevel level);

struct Mismatch {
  Status status =
      Status::kOk;  // kNotComparable: lists of different length. kNoData: no token counts.
  MismatchLevel level = MismatchLevel::kUnknown;
  int64_t tokens = 0;
  int64_t bitwise_equal = 0;
  // A rollout of -inf or NaN cannot have been sampled: left out and counted.
  int64_t invalid_rollout = 0;
  int64_t impossible_in_trainer = 0;  // -inf there: k1 and k3 are infinite.
  Measure k1, k2, k3;
  Interval k3_interval;                           // Clustered by sequence.
  Measure mean_abs, max_abs;                      // |delta|, nats.
  int64_t worst_sequence = -1, worst_token = -1;  // Of max_abs; the token in its own sequence.
  int64_t first_unequal_sequence = -1, first_unequal_token = -1;
  Measure probs_diff_mean, probs_diff_max;  // |e^trainer - e^rollout|
  Measure pearson;                          // Of the probabilities.
  Measure weight_mean;                      // Importance weight e^delta.
  Measure ess_fraction;                     // Effective sample size over n.
  Measure chi2_token, chi2_sequence;
  std::vector<double> sequence_log_ratio;  // Sum of delta; of sequences with a token.
  // Means over sequences, of means over their tokens.
  Measure log_ppl_diff, log_ppl_abs_diff, ppl_ratio, trainer_ppl, rollout_ppl, sequence_mean_abs;
};

Mismatch CompareLogprobs(std::span<const ScoredSequence> sequences,
                         double confidence = kDefaultConfidence);

}  // namespace reenact::analysis

#endif  // REENACT_REPLAYER_ANALYSIS_RL_MISMATCH_H_
