// Two top-k lists of one position, same prefix and same temperature. What a list does not show is
// unknown but bounded: a token outside it has at most the mass of its tail, and at most the chance
// of its last entry.

#ifndef REENACT_REPLAYER_ANALYSIS_TOP_DIVERGENCE_H_
#define REENACT_REPLAYER_ANALYSIS_TOP_DIVERGENCE_H_

#include <string>
#include <vector>

#include "replayer/analysis/logprob_shift.h"
#include "replayer/analysis/measure.h"

namespace reenact::analysis {

// Divergences in nats; masses are probabilities.
struct TopDivergence {
  Status status = Status::kOk;  // kNoData: a list is empty. kOutOfRange: a logprob above 0.
  // A list that adds up to more than 1.001 is rounded, or was taken after temperature.
  bool mass_above_one = false;
  std::vector<std::string> common, only_p, only_q;
  Measure mass_only_p, mass_only_q;
  Measure bound_q_of_only_p;  // Most that q can give to the tokens that only p lists.
  Measure bound_p_of_only_q;
  Measure tail_p, tail_q;  // Mass outside the list.
  Measure rest_p, rest_q;  // Mass outside the common tokens.
  // Total variation is at least this, whatever the tails hold.
  Measure tv_lower_bound;
  // Over {common tokens, only p, only q, rest} with the bounds in place of what is unknown: an
  // estimate, not a bound. KL may be infinite; JS is at most log 2.
  Measure js, kl_pq, kl_qp;
  // Over {common tokens, rest}: guaranteed to be too small, and 0 for disjoint lists.
  Measure js_coarse, kl_pq_coarse, kl_qp_coarse, tv_coarse, hellinger_coarse;
  Measure mean_abs_dlogp, max_abs_dlogp;  // Of common tokens.
  Measure mean_abs_dlogp_censored;        // Of all, the missing at the lowest value seen.
  Measure jaccard;
  bool top1_same = false;
  Measure margin_p, margin_q;  // Best minus second; one entry has no margin (kInsufficientN).
};

TopDivergence CompareTop(const TopTokens& p, const TopTokens& q);

}  // namespace reenact::analysis

#endif  // REENACT_REPLAYER_ANALYSIS_TOP_DIVERGENCE_H_
