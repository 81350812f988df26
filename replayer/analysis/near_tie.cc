#include "replayer/analysis/near_tie.h"

#include <algorithm>
#include <cmath>

#include "replayer/analysis/elementary.h"
#include "replayer/analysis/special_functions.h"

namespace reenact::analysis {

Measure FlipProbability(double margin_nats, double margin_deviation) {
  if (!(margin_nats >= 0) || !(margin_deviation >= 0) || std::isinf(margin_deviation))
    return Status::kOutOfRange;
  if (margin_nats == 0) return 0.5;
  if (margin_deviation == 0) return 0.0;
  return NormalCdf(-margin_nats / margin_deviation);
}

TwoWayOdds OddsOfMargin(double margin_nats) {
  return {.odds_ratio = Exp(margin_nats), .likelier = 1 / (1 + Exp(-margin_nats))};
}

Measure LeastMargin(double best_logprob) {
  const double best = Exp(best_logprob);
  if (!(best > 0.5 && best_logprob <= 0)) return Status::kOutOfRange;
  const double rest = -ExpMinusOne(best_logprob);
  if (rest == 0) return Status::kInfinite;
  return best_logprob - Log(rest);
}

SequenceRisk RiskOfSequence(std::span<const double> margins, double margin_deviation,
                            double threshold_nats) {
  SequenceRisk risk;
  if (margins.empty()) return risk;
  double log_none = 0;
  for (size_t i = 0; i < margins.size(); ++i) {
    const Measure flip = FlipProbability(margins[i], margin_deviation);
    if (!flip.ok()) {
      risk = SequenceRisk{};
      risk.any_flip = risk.share_below = risk.least = risk.q05 = risk.median = flip.status();
      return risk;
    }
    risk.flip.push_back(flip.value());
    log_none += LogOnePlus(-flip.value());
    risk.below += margins[i] < threshold_nats;
    if (risk.least_index < 0 || margins[i] < margins[risk.least_index]) {
      risk.least_index = static_cast<int64_t>(i);
    }
  }
  const std::vector<double> sorted = Sorted(margins);
  risk.any_flip = -ExpMinusOne(log_none);
  risk.share_below = static_cast<double>(risk.below) / static_cast<double>(margins.size());
  risk.least = sorted[0];
  risk.q05 = SortedQuantile(sorted, 0.05, QuantileRule::kLinear);
  risk.median = SortedQuantile(sorted, 0.5, QuantileRule::kLinear);
  return risk;
}

ScoreTie JudgeScores(std::span<const double> scores, double threshold, double confidence) {
  ScoreTie tie;
  if (scores.empty()) return tie;
  const MeanInterval result = StudentInterval(scores, confidence);
  const auto passes =
      std::count_if(scores.begin(), scores.end(), [&](double score) { return score >= threshold; });
  tie.verdict_flips = passes > 0 && passes < static_cast<ptrdiff_t>(scores.size());
  tie.mean = result.summary.mean;
  if (!result.summary.se.ok()) {
    tie.half_width = tie.distance = result.summary.se.status();
    tie.near_tie = scores[0] == threshold;
    return tie;
  }
  if (result.summary.all_equal) {
    // Compared as it was given: the mean of 0.8, 0.8, 0.8 need not be 0.8.
    tie.half_width = 0.0;
    tie.distance = Status::kZeroVariance;
    tie.interval_straddles = scores[0] == threshold;
  } else {
    const double mean = result.summary.mean.value();
    tie.half_width = result.t_critical.value() * result.summary.se.value();
    tie.distance = std::fabs(mean - threshold) / result.summary.se.value();
    tie.interval_straddles = std::fabs(mean - threshold) <= tie.half_width.value();
  }
  tie.near_tie = tie.interval_straddles || tie.verdict_flips;
  return tie;
}

Flakiness JudgeCase(int64_t passes, int64_t runs, double confidence) {
  Flakiness result;
  result.pass_rate = WilsonInterval(passes, runs, confidence);
  if (result.pass_rate.status != Status::kOk) {
    result.flip_rate = result.hidden_upper = result.pass_rate.status;
    return result;
  }
  const double k = static_cast<double>(runs);
  result.flip_rate = runs < 2 ? Measure(Status::kInsufficientN)
                              : Measure(2 * static_cast<double>(passes) *
                                        static_cast<double>(runs - passes) / (k * (k - 1)));
  if (passes > 0 && passes < runs) {
    result.stability = CaseStability::kFlaky;
    result.hidden_upper = Status::kOutOfRange;
    return result;
  }
  result.stability = passes == runs ? CaseStability::kStablePass : CaseStability::kStableFail;
  result.hidden_upper = BoundWithoutFailure(runs, confidence).one_sided_upper;
  return result;
}

}  // namespace reenact::analysis
