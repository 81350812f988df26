#include "replayer/analysis/rl_mismatch.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "replayer/analysis/clustered.h"
#include "replayer/analysis/elementary.h"

namespace reenact::analysis {
namespace {

// Sums of delta are cut off here before they are exponents, as in verl.
constexpr double kLargestLogRatio = 20;

// The tokens that count, token by token and sequence by sequence.
struct Collected {
  std::vector<double> delta, k1, k2, k3, absolute, weight, squared_weight, probability_gap;
  std::vector<double> rollout_probability, trainer_probability;
  std::vector<int64_t> sequence;
  std::vector<double> chi2_by_sequence, log_ppl_diff, log_ppl_abs, ppl_ratio, trainer_ppl,
      rollout_ppl, mean_abs;
};

void AddToken(double rollout, double trainer, int64_t sequence, Collected* all) {
  const double delta = trainer - rollout;
  const double weight = Exp(delta);
  all->delta.push_back(delta);
  all->k1.push_back(K1(delta));
  all->k2.push_back(K2(delta));
  all->k3.push_back(K3(delta));
  all->absolute.push_back(std::fabs(delta));
  all->weight.push_back(weight);
  all->squared_weight.push_back(weight * weight);
  all->rollout_probability.push_back(Exp(rollout));
  all->trainer_probability.push_back(Exp(trainer));
  all->probability_gap.push_back(
      std::fabs(all->trainer_probability.back() - all->rollout_probability.back()));
  all->sequence.push_back(sequence);
}

// Adds the valid tokens of one sequence and its own means.
void AddSequence(const ScoredSequence& one, int64_t index, Collected* all, Mismatch* result) {
  std::vector<double> rollout;
  std::vector<double> trainer;
  std::vector<double> deltas;
  std::vector<double> absolute;
  for (size_t t = 0; t < one.rollout.size(); ++t) {
    if (!one.mask.empty() && !one.mask[t]) continue;
    if (!std::isfinite(one.rollout[t]) || std::isnan(one.trainer[t])) {
      ++result->invalid_rollout;
      continue;
    }
    ++result->tokens;
    const bool equal =
        std::bit_cast<uint64_t>(one.rollout[t]) == std::bit_cast<uint64_t>(one.trainer[t]);
    result->bitwise_equal += equal;
    if (!equal && result->first_unequal_sequence < 0) {
      result->first_unequal_sequence = index;
      result->first_unequal_token = static_cast<int64_t>(t);
    }
    if (!std::isfinite(one.trainer[t])) {
      ++result->impossible_in_trainer;
      continue;
    }
    AddToken(one.rollout[t], one.trainer[t], index, all);
    rollout.push_back(one.rollout[t]);
    trainer.push_back(one.trainer[t]);
    deltas.push_back(all->delta.back());
    absolute.push_back(all->absolute.back());
    if (!result->max_abs.ok() || absolute.back() > result->max_abs.value()) {
      result->max_abs = absolute.back();
      result->worst_sequence = index;
      result->worst_token = static_cast<int64_t>(t);
    }
  }
  if (deltas.empty()) return;
  const double sum = SumOf(deltas);
  const double mean = sum / static_cast<double>(deltas.size());
  result->sequence_log_ratio.push_back(sum);
  all->chi2_by_sequence.push_back(Exp(2 * std::clamp(sum, -kLargestLogRatio, kLargestLogRatio)));
  all->log_ppl_diff.push_back(-mean);
  all->log_ppl_abs.push_back(std::fabs(mean));
  all->ppl_ratio.push_back(Exp(-mean));
  all->trainer_ppl.push_back(Exp(-MeanOf(trainer)));
  all->rollout_ppl.push_back(Exp(-MeanOf(rollout)));
  all->mean_abs.push_back(MeanOf(absolute));
}

MismatchLevel LevelOf(const Mismatch& result) {
  if (result.bitwise_equal == result.tokens) return MismatchLevel::kBitwise;
  if (!result.k3.ok()) return MismatchLevel::kBroken;
  if (result.max_abs.value() <= 1e-6) return MismatchLevel::kAligned;
  if (result.k3.value() < 1e-3 && result.probs_diff_mean.value() < 0.005) {
    return MismatchLevel::kHealthy;
  }
  return result.k3.value() < 0.015 ? MismatchLevel::kWatch : MismatchLevel::kBroken;
}

void Fill(const Collected& all, double confidence, Mismatch* result) {
  result->k1 = MeanOf(all.k1);
  result->k2 = MeanOf(all.k2);
  result->k3 = MeanOf(all.k3);
  result->k3_interval = MeanOfClusters(all.k3, all.sequence, confidence).interval;
  result->mean_abs = MeanOf(all.absolute);
  result->probs_diff_mean = MeanOf(all.probability_gap);
  result->probs_diff_max =
      *std::max_element(all.probability_gap.begin(), all.probability_gap.end());
  result->pearson = Correlation(all.rollout_probability, all.trainer_probability);
  const double weights = SumOf(all.weight);
  const double squares = SumOf(all.squared_weight);
  const double n = static_cast<double>(all.weight.size());
  result->weight_mean = weights / n;
  result->ess_fraction = weights * weights / (n * squares);
  result->chi2_token = squares / n - 1;
  result->chi2_sequence = MeanOf(all.chi2_by_sequence) - 1;
  result->log_ppl_diff = MeanOf(all.log_ppl_diff);
  result->log_ppl_abs_diff = MeanOf(all.log_ppl_abs);
  result->ppl_ratio = MeanOf(all.ppl_ratio);
  result->trainer_ppl = MeanOf(all.trainer_ppl);
  result->rollout_ppl = MeanOf(all.rollout_ppl);
  result->sequence_mean_abs = MeanOf(all.mean_abs);
  if (result->impossible_in_trainer > 0) result->k1 = result->k2 = result->k3 = Status::kInfinite;
}

}  // namespace

double K1(double delta) {
  return -delta;
}

double K2(double delta) {
  return delta * delta / 2;
}

double K3(double delta) {
  if (std::fabs(delta) < 1e-2) {
    // The series of e^d - 1 - d; the next term is below 1e-17 of the first.
    double series = 0;
    for (int k = 10; k >= 3; --k) series = (series + 1) * delta / k;
    return delta * delta / 2 * (1 + series);
  }
  return ExpMinusOne(delta) - delta;
}

EstimatorMoments ExactMoments(std::span<const double> sampling, std::span<const double> other) {
  EstimatorMoments result;
  const auto fail = [&](Status why) {
    result.kl = result.mean_k1 = result.mean_k2 = result.mean_k3 = why;
    result.sd_k1 = result.sd_k2 = result.sd_k3 = why;
    return result;
  };
  if (sampling.size() != other.size()) return fail(Status::kNotComparable);
  if (sampling.empty()) return fail(Status::kNoData);
  std::vector<double> delta;
  std::vector<double> weight;
  for (size_t i = 0; i < sampling.size(); ++i) {
    if (sampling[i] == 0) continue;
    if (!(sampling[i] > 0) || !(other[i] >= 0)) return fail(Status::kOutOfRange);
    if (other[i] == 0) return fail(Status::kInfinite);
    delta.push_back(Log(other[i] / sampling[i]));
    weight.push_back(sampling[i]);
  }
  const auto moments = [&](double (*estimator)(double), Measure* mean, Measure* sd) {
    std::vector<double> terms;
    for (size_t i = 0; i < delta.size(); ++i) terms.push_back(weight[i] * estimator(delta[i]));
    const double centre = SumOf(terms);
    for (size_t i = 0; i < delta.size(); ++i) {
      const double distance = estimator(delta[i]) - centre;
      terms[i] = weight[i] * distance * distance;
    }
    *mean = centre;
    *sd = std::sqrt(SumOf(terms));
  };
  moments(K1, &result.mean_k1, &result.sd_k1);
  moments(K2, &result.mean_k2, &result.sd_k2);
  moments(K3, &result.mean_k3, &result.sd_k3);
  result.kl = result.mean_k1;
  return result;
}

std::string_view MismatchLevelName(MismatchLevel level) {
  switch (level) {
    case MismatchLevel::kUnknown:
      return "unknown";
    case MismatchLevel::kBitwise:
      return "bitwise";
    case MismatchLevel::kAligned:
      return "aligned";
    case MismatchLevel::kHealthy:
      return "healthy";
    case MismatchLevel::kWatch:
      return "watch";
    case MismatchLevel::kBroken:
      return "broken";
  }
  return "unknown";
}

Mismatch CompareLogprobs(std::span<const ScoredSequence> sequences, double confidence) {
  Mismatch result;
  Collected all;
  for (size_t i = 0; i < sequences.size(); ++i) {
    const ScoredSequence& one = sequences[i];
    if (one.rollout.size() != one.trainer.size() ||
        (!one.mask.empty() && one.mask.size() != one.rollout.size())) {
      Mismatch refused;
      refused.status = Status::kNotComparable;
      return refused;
    }
    AddSequence(one, static_cast<int64_t>(i), &all, &result);
  }
  if (result.tokens == 0) {
    result.status = Status::kNoData;
    return result;
  }
  if (all.delta.empty()) {
    result.k1 = result.k2 = result.k3 = Status::kInfinite;
    result.level = MismatchLevel::kBroken;
    return result;
  }
  Fill(all, confidence, &result);
  result.level = LevelOf(result);
  return result;
}

}  // namespace reenact::analysis
