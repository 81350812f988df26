#include "replayer/analysis/clustered.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace reenact::analysis {
namespace {

struct Cluster {
  double n = 0;
  double residual = 0;  // Sum of the distances from the grand mean.
};

// CR2 of a mean: the projection of the mean takes n_c / N of cluster c's variance away, and what is
// left is scaled up again. The degrees of freedom follow from the same vectors' products.
void BiasReduced(std::span<const Cluster> clusters, double total, ClusteredMean* result) {
  std::vector<double> squares;
  double trace = 0;
  double trace_of_square = 0;
  for (const Cluster& c : clusters) {
    const double kept = 1 - c.n / total;
    squares.push_back(c.residual * c.residual / kept);
    trace += (c.n - c.n * c.n / total) / kept;
    for (const Cluster& d : clusters) {
      const double product = (&c == &d ? c.n : 0) - c.n * d.n / total;
      trace_of_square += product * product / (kept * (1 - d.n / total));
    }
  }
  result->se_cr2 = std::sqrt(SumOf(squares)) / total;
  result->df_cr2 = trace * trace / trace_of_square;
}

void FillRunMeans(std::span<const std::vector<double>> values, VarianceSplit* split) {
  std::vector<double> column(values.size());
  for (size_t run = 0; run < values[0].size(); ++run) {
    for (size_t i = 0; i < values.size(); ++i) column[i] = values[i][run];
    split->run_means.push_back(MeanOf(column));
  }
  split->sd_of_run_means = StandardDeviation(split->run_means);
  if (split->sd_of_run_means.ok()) {
    split->se_from_run_means =
        split->sd_of_run_means.value() / std::sqrt(static_cast<double>(split->run_means.size()));
  } else {
    split->se_from_run_means = split->sd_of_run_means;
  }
}

// The analysis of variance where every case has the same K >= 2 runs.
void FillBalanced(std::span<const std::vector<double>> values, std::span<const double> means,
                  VarianceSplit* split) {
  const double cases = static_cast<double>(values.size());
  const double runs = static_cast<double>(split->runs_per_case);
  std::vector<double> within;
  for (const std::vector<double>& row : values) within.push_back(SquaredDeviations(row));
  const double msw = SumOf(within) / (cases * (runs - 1));
  split->mean_square_within = msw;
  split->variance_within = msw;
  split->se_fixed_suite = std::sqrt(msw / (cases * runs));
  if (values.size() < 2) return;
  const double msb = runs * SquaredDeviations(means) / (cases - 1);
  split->mean_square_between = msb;
  const double between = std::max(0.0, (msb - msw) / runs);
  split->variance_between = between;
  if (msb == 0 && msw == 0) {
    split->icc = split->instability = Status::kZeroVariance;
    return;
  }
  split->icc = (msb - msw) / (msb + (runs - 1) * msw);
  split->instability = msw / (msw + between);
}

}  // namespace

ClusteredMean MeanOfClusters(std::span<const double> values, std::span<const int64_t> cluster,
                             double confidence) {
  ClusteredMean result;
  if (values.size() != cluster.size()) {
    result.mean = Status::kNotComparable;
    result.interval = NoInterval(Status::kNotComparable);
    return result;
  }
  const Summary summary = Summarise(values);
  result.n = summary.n;
  result.mean = summary.mean;
  result.se_naive = summary.se;
  if (values.empty()) {
    result.interval = NoInterval(Status::kNoData);
    return result;
  }
  if (!summary.mean.ok()) {
    result.se_cr0 = result.se_cr1 = result.se_cr2 = result.df_cr2 = summary.mean;
    result.design_effect = summary.mean;
    result.interval = NoInterval(summary.mean.status());
    return result;
  }
  std::map<int64_t, std::vector<double>> members;
  for (size_t i = 0; i < values.size(); ++i) {
    members[cluster[i]].push_back(summary.all_equal ? 0 : values[i] - summary.mean.value());
  }
  std::vector<Cluster> clusters;
  std::vector<double> squares;
  for (const auto& [name, residuals] : members) {
    clusters.push_back({.n = static_cast<double>(residuals.size()), .residual = SumOf(residuals)});
    squares.push_back(clusters.back().residual * clusters.back().residual);
  }
  const double total = static_cast<double>(values.size());
  const double count = static_cast<double>(clusters.size());
  result.cluster_count = static_cast<int64_t>(clusters.size());
  const double cr0 = std::sqrt(SumOf(squares)) / total;
  result.se_cr0 = cr0;
  result.df = result.cluster_count - 1;
  if (clusters.size() < 2) {
    result.se_cr1 = result.se_cr2 = result.df_cr2 = result.design_effect = Status::kInsufficientN;
    result.interval = NoInterval(Status::kInsufficientN);
    return result;
  }
  const double cr1 = cr0 * std::sqrt(count / (count - 1));
  result.se_cr1 = cr1;
  BiasReduced(clusters, total, &result);
  result.interval = StudentInterval(summary.mean.value(), cr1, count - 1, confidence);
  result.design_effect = summary.all_equal
                             ? Measure(Status::kZeroVariance)
                             : Measure(cr1 / summary.se.value() * (cr1 / summary.se.value()));
  return result;
}

VarianceSplit SplitVariance(std::span<const std::vector<double>> values) {
  VarianceSplit split;
  split.case_count = static_cast<int64_t>(values.size());
  std::vector<double> means;
  bool balanced = true;
  for (const std::vector<double>& row : values) {
    if (!AllFinite(row)) {
      split = VarianceSplit{};
      split.mean = Status::kOutOfRange;
      return split;
    }
    if (row.empty()) return split;  // A case without a run has no mean: every measure is kNoData.
    means.push_back(MeanOf(row));
    balanced = balanced && row.size() == values[0].size();
  }
  if (values.empty()) return split;
  split.mean = MeanOf(means);
  const Measure sd = StandardDeviation(means);
  split.se_superpopulation =
      sd.ok() ? Measure(sd.value() / std::sqrt(static_cast<double>(means.size()))) : sd;
  split.runs_per_case = balanced ? static_cast<int64_t>(values[0].size()) : 0;
  const Status missing = balanced ? Status::kInsufficientN : Status::kNotComparable;
  split.mean_square_between = split.mean_square_within = missing;
  split.variance_within = split.variance_between = split.icc = missing;
  split.se_fixed_suite = split.instability = missing;
  split.sd_of_run_means = split.se_from_run_means = missing;
  if (!balanced) return split;
  FillRunMeans(values, &split);
  if (split.runs_per_case >= 2) FillBalanced(values, means, &split);
  return split;
}

}  // namespace reenact::analysis
