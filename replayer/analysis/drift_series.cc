#include "replayer/analysis/drift_series.h"

#include <algorithm>
#include <cmath>

#include "replayer/analysis/descriptive.h"
#include "replayer/analysis/elementary.h"

namespace reenact::analysis {
namespace {

// Whether series[index] lies above its baseline; nothing without one.
std::optional<bool> Deviates(std::span<const double> series, size_t index,
                             const TrailingRule& rule) {
  if (index < rule.exclusion + rule.min_baseline) return std::nullopt;
  const size_t end = index - rule.exclusion;
  const size_t begin = end > rule.window ? end - rule.window : 0;
  const std::span<const double> baseline = series.subspan(begin, end - begin);
  const Measure sd = StandardDeviation(baseline);
  if (!sd.ok()) return std::nullopt;
  const double rise = series[index] - MeanOf(baseline);
  return rise > rule.sigma_k * sd.value() && rise >= rule.abs_delta;
}

}  // namespace

std::optional<size_t> FirstPersistent(const std::vector<bool>& exceeds, int64_t persistence) {
  int64_t running = 0;
  for (size_t i = 0; i < exceeds.size(); ++i) {
    running = exceeds[i] ? running + 1 : 0;
    if (running >= persistence && exceeds[i]) return i;
  }
  return std::nullopt;
}

Measure LevelShift(std::span<const double> series, size_t index, size_t window, size_t min_after) {
  if (index >= series.size()) return Status::kNoData;
  const size_t begin = index > window ? index - window : 0;
  const std::span<const double> before = series.subspan(begin, index - begin);
  const std::span<const double> after =
      series.subspan(index, std::min(window, series.size() - index));
  if (before.empty() || after.empty() || after.size() < min_after) return Status::kInsufficientN;
  return MeanOf(after) - MeanOf(before);
}

TrailingResult DetectTrailing(std::span<const double> series, const TrailingRule& rule) {
  TrailingResult result;
  size_t running = 0;
  size_t quiet_until = 0;
  for (size_t i = 0; i < series.size(); ++i) {
    result.deviates.push_back(Deviates(series, i, rule));
    running = result.deviates.back().value_or(false) ? running + 1 : 0;
    const size_t onset = i + 1 - running;
    if (running >= std::max<size_t>(1, rule.persistence) && onset >= quiet_until) {
      result.events.push_back(onset);
      quiet_until = onset + std::max<size_t>(1, rule.cooldown);
    }
  }
  return result;
}

Cusum RunCusum(std::span<const double> z, double k, double h) {
  Cusum cusum;
  double above = 0;
  double below = 0;
  for (size_t i = 0; i < z.size(); ++i) {
    above = std::max(0.0, above + z[i] - k);
    below = std::max(0.0, below - z[i] - k);
    cusum.above.push_back(above);
    cusum.below.push_back(below);
    if (!cusum.alarm && (above > h || below > h)) cusum.alarm = i;
  }
  return cusum;
}

Ewma RunEwma(std::span<const double> z, double lambda, double width) {
  Ewma ewma;
  double average = 0;
  double forgotten = 1;
  for (size_t i = 0; i < z.size(); ++i) {
    average = lambda * z[i] + (1 - lambda) * average;
    forgotten *= (1 - lambda) * (1 - lambda);
    ewma.average.push_back(average);
    ewma.limit.push_back(width * std::sqrt(lambda / (2 - lambda) * (1 - forgotten)));
    if (!ewma.alarm && std::fabs(average) > ewma.limit.back()) ewma.alarm = i;
  }
  return ewma;
}

EProcess RunEProcess(std::span<const double> p, double kappa, double alpha) {
  EProcess process;
  double e = 1;
  for (size_t i = 0; i < p.size(); ++i) {
    if (p[i] > 0 && p[i] <= 1) e *= kappa * Power(p[i], kappa - 1);
    process.e.push_back(e);
    if (!process.alarm && e >= 1 / alpha) process.alarm = i;
  }
  return process;
}

}  // namespace reenact::analysis
