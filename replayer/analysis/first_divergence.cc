#include "replayer/analysis/first_divergence.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "replayer/analysis/descriptive.h"
#include "replayer/analysis/elementary.h"

namespace reenact::analysis {

std::optional<int64_t> FirstDivergence(std::span<const int64_t> a, std::span<const int64_t> b) {
  const auto [in_a, in_b] = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
  if (in_a == a.end() && in_b == b.end()) return std::nullopt;
  return in_a - a.begin();
}

DivergenceIndex FindDivergence(std::span<const Tokens> runs) {
  DivergenceIndex result;
  int64_t identical = 0;
  for (size_t i = 0; i < runs.size(); ++i) {
    result.from_first.push_back(FirstDivergence(runs[0], runs[i]));
    for (size_t j = i + 1; j < runs.size(); ++j) {
      const std::optional<int64_t> index = FirstDivergence(runs[i], runs[j]);
      result.pairwise.push_back(index);
      identical += !index;
      if (index && (!result.n_way || *index < *result.n_way)) result.n_way = index;
    }
  }
  if (runs.empty()) return result;
  result.pairs_identical =
      result.pairwise.empty()
          ? Measure(Status::kInsufficientN)
          : Measure(static_cast<double>(identical) / static_cast<double>(result.pairwise.size()));
  return result;
}

DivergenceSurvival EstimateSurvival(std::span<const Observed> observed) {
  DivergenceSurvival result;
  if (observed.empty()) return result;

  struct Leaving {
    int64_t diverged = 0;
    int64_t censored = 0;
  };

  std::map<int64_t, Leaving> leaving;
  for (const Observed& one : observed) {
    (one.diverged ? leaving[one.token_index].diverged : leaving[one.token_index].censored) += 1;
    result.exposure_tokens += one.token_index;
    result.events += one.diverged;
  }
  int64_t at_risk = static_cast<int64_t>(observed.size());
  double survival = 1;
  for (const auto& [index, left] : leaving) {
    if (left.diverged > 0) {
      survival *= 1 - static_cast<double>(left.diverged) / static_cast<double>(at_risk);
      result.steps.push_back({.token_index = index,
                              .at_risk = at_risk,
                              .diverged = left.diverged,
                              .survival = survival});
    }
    at_risk -= left.diverged + left.censored;
  }
  if (result.exposure_tokens <= 0) {
    result.hazard = result.hazard_upper95 = Status::kInsufficientN;
    return result;
  }
  const double exposure = static_cast<double>(result.exposure_tokens);
  result.hazard = static_cast<double>(result.events) / exposure;
  result.hazard_upper95 =
      result.events == 0 ? Measure(-Log(0.05) / exposure) : Measure(Status::kOutOfRange);
  return result;
}

Measure IdenticalProbability(double hazard, int64_t length) {
  if (!(hazard >= 0 && hazard <= 1) || length < 0) return Status::kOutOfRange;
  if (hazard == 1) return length == 0 ? 1 : 0;
  return Exp(static_cast<double>(length) * LogOnePlus(-hazard));
}

Measure LongestIdentical(double hazard, double probability) {
  if (!(hazard >= 0 && hazard <= 1) || !(probability > 0 && probability < 1)) {
    return Status::kOutOfRange;
  }
  if (hazard == 0) return Status::kInfinite;
  if (hazard == 1) return 0.0;
  return std::floor(Log(probability) / LogOnePlus(-hazard));
}

Measure ExpectedFirstDivergence(double hazard) {
  if (!(hazard >= 0 && hazard <= 1)) return Status::kOutOfRange;
  if (hazard == 0) return Status::kInfinite;
  return 1 / hazard;
}

Measure MeanDeviation(std::span<const std::vector<double>> values_by_example) {
  if (values_by_example.empty()) return Status::kNoData;
  std::vector<double> deviations;
  for (const std::vector<double>& values : values_by_example) {
    const Measure deviation = StandardDeviation(values);
    if (!deviation.ok()) return deviation;
    deviations.push_back(deviation.value());
  }
  return MeanOf(deviations);
}

TopProbabilityDeviation DeviationOfTopProbability(std::span<const ProbabilityRuns> examples) {
  TopProbabilityDeviation result;
  std::vector<double> all;
  std::vector<double> means;
  for (const ProbabilityRuns& runs : examples) {
    if (runs.size() < 2) return {.pooled = Status::kInsufficientN, .macro = Status::kInsufficientN};
    size_t positions = runs[0].size();
    for (const std::vector<double>& run : runs) positions = std::min(positions, run.size());
    std::vector<double> deviations;
    for (size_t position = 0; position < positions; ++position) {
      std::vector<double> values;
      for (const std::vector<double>& run : runs) values.push_back(run[position]);
      deviations.push_back(StandardDeviation(values).value());
    }
    // An example that diverges at its first token has no position to measure at.
    if (deviations.empty()) continue;
    means.push_back(MeanOf(deviations));
    all.insert(all.end(), deviations.begin(), deviations.end());
  }
  if (all.empty()) return result;
  return {.pooled = MeanOf(all), .macro = MeanOf(means)};
}

}  // namespace reenact::analysis
