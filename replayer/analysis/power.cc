#include "replayer/analysis/power.h"

#include <algorithm>
#include <cmath>

#include "replayer/analysis/elementary.h"
#include "replayer/analysis/special_functions.h"

namespace reenact::analysis {
namespace {

bool IsLevel(TestLevel level) {
  return level.alpha > 0 && level.alpha < 1 && level.power > 0 && level.power < 1;
}

bool IsProbability(double p) {
  return p >= 0 && p <= 1;
}

SampleSize RoundedUp(double exact) {
  return {.exact = exact, .n = std::ceil(exact)};
}

SampleSize NoSize() {
  return {.exact = Status::kOutOfRange, .n = Status::kOutOfRange};
}

Measure VarianceOf(const PairedDesign& design) {
  if (design.runs_a < 1 || design.runs_b < 1) return Status::kOutOfRange;
  if (!(design.omega2 >= 0 && design.sigma2_a >= 0 && design.sigma2_b >= 0)) {
    return Status::kOutOfRange;
  }
  return design.omega2 + design.sigma2_a / static_cast<double>(design.runs_a) +
         design.sigma2_b / static_cast<double>(design.runs_b);
}

double SumOfCriticals(TestLevel level) {
  return NormalQuantile(1 - level.alpha / 2) + NormalQuantile(level.power);
}

}  // namespace

SampleSize CasesForMean(const PairedDesign& design, double delta, TestLevel level) {
  const Measure variance = VarianceOf(design);
  if (!variance.ok() || !IsLevel(level) || delta == 0 || !std::isfinite(delta)) return NoSize();
  const double z = SumOfCriticals(level) / delta;
  return RoundedUp(z * z * variance.value());
}

Measure StudentCorrection(double alpha) {
  if (!(alpha > 0 && alpha < 1)) return Status::kOutOfRange;
  const double z = NormalQuantile(1 - alpha / 2);
  return z * z / 2;
}

Measure DetectableDifference(const PairedDesign& design, int64_t n, TestLevel level) {
  const Measure variance = VarianceOf(design);
  if (n < 1) return Status::kNoData;
  if (!variance.ok() || !IsLevel(level)) return Status::kOutOfRange;
  return SumOfCriticals(level) * std::sqrt(variance.value() / static_cast<double>(n));
}

SampleSize CasesForMcNemar(double discordant, double delta, TestLevel level) {
  if (!(discordant > 0 && discordant <= 1) || delta == 0 || !IsLevel(level)) return NoSize();
  if (!(std::fabs(delta) <= discordant)) return NoSize();
  const double root = NormalQuantile(1 - level.alpha / 2) * std::sqrt(discordant) +
                      NormalQuantile(level.power) * std::sqrt(discordant - delta * delta);
  return RoundedUp(root * root / (delta * delta));
}

SampleSize CasesForProportions(double p1, double p2, TestLevel level) {
  if (!IsProbability(p1) || !IsProbability(p2) || p1 == p2 || !IsLevel(level)) return NoSize();
  const double middle = (p1 + p2) / 2;
  const double root = NormalQuantile(1 - level.alpha / 2) * std::sqrt(2 * middle * (1 - middle)) +
                      NormalQuantile(level.power) * std::sqrt(p1 * (1 - p1) + p2 * (1 - p2));
  return RoundedUp(root * root / ((p1 - p2) * (p1 - p2)));
}

FlakeOdds OddsOfFlake(double p, int64_t n) {
  if (!IsProbability(p) || n < 1) {
    const Status wrong = n < 1 ? Status::kNoData : Status::kOutOfRange;
    return {.all_pass = wrong, .all_same = wrong, .detected = wrong};
  }
  const double all_pass = IntegerPower(p, n);
  const double all_same = all_pass + IntegerPower(1 - p, n);
  return {.all_pass = all_pass, .all_same = all_same, .detected = 1 - all_same};
}

Measure RunsToSeeFlake(double p, double probability) {
  if (!(probability > 0 && probability < 1)) return Status::kOutOfRange;
  if (!(p > 0 && p < 1)) return Status::kInfinite;  // No flake: it never shows.
  // Never more than the likelier outcome alone asks for, plus one that the other outcome adds.
  const double likelier = std::max(p, 1 - p);
  const double alone = std::max(1.0, std::floor(Log(1 - probability) / Log(likelier)) - 1);
  if (!(alone < 1e15)) return Status::kInfinite;
  for (int64_t n = static_cast<int64_t>(alone);; ++n) {
    if (IntegerPower(p, n) + IntegerPower(1 - p, n) <= 1 - probability) {
      return static_cast<double>(n);
    }
  }
}

Measure CostPerYear(const ProbeCost& cost) {
  const double query =
      cost.input_tokens * cost.price_input + cost.output_tokens * cost.price_output;
  return cost.queries_per_probe * cost.probes_per_year * query / 1e6;
}

}  // namespace reenact::analysis
