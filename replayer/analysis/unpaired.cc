#include "replayer/analysis/unpaired.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "replayer/analysis/special_functions.h"

namespace reenact::analysis {
namespace {

// Mean distance of all pairs of two samples.
double MeanDistance(std::span<const double> x, std::span<const double> y) {
  std::vector<double> distances;
  distances.reserve(x.size() * y.size());
  for (const double a : x) {
    for (const double b : y) distances.push_back(std::fabs(a - b));
  }
  return MeanOf(distances);
}

// What both distributions look like at one value of the pooled sample.
struct Step {
  double value = 0;
  int64_t x_count = 0;  // Values of x up to here.
  int64_t y_count = 0;
};

std::vector<Step> Steps(std::span<const double> x, std::span<const double> y) {
  std::vector<Step> steps;
  size_t i = 0;
  size_t j = 0;
  while (i < x.size() || j < y.size()) {
    const double value = j == y.size() || (i < x.size() && x[i] < y[j]) ? x[i] : y[j];
    while (i < x.size() && x[i] == value) ++i;
    while (j < y.size() && y[j] == value) ++j;
    steps.push_back({value, static_cast<int64_t>(i), static_cast<int64_t>(j)});
  }
  return steps;
}

// |i/n1 - j/n2| without rounding.
int64_t ScaledGap(int64_t i, int64_t j, int64_t n1, int64_t n2) {
  return std::abs(i * n2 - j * n1);
}

// The share of all orders of the pooled sample whose largest gap reaches `gap`: of lattice paths
// from (0, 0) to (n1, n2), those that leave the corridor.
double ExactKsP(int64_t n1, int64_t n2, int64_t gap) {
  std::vector<double> inside(n2 + 1, 0);
  // Shares, not counts, so that nothing overflows: each path's chance under random order.
  for (int64_t i = 0; i <= n1; ++i) {
    for (int64_t j = 0; j <= n2; ++j) {
      double share = i == 0 && j == 0 ? 1 : 0;
      const double left = static_cast<double>(n1 + n2 - i - j);
      if (i > 0) share += inside[j] * static_cast<double>(n1 - i + 1) / (left + 1);
      if (j > 0) share += inside[j - 1] * static_cast<double>(n2 - j + 1) / (left + 1);
      inside[j] = ScaledGap(i, j, n1, n2) >= gap ? 0 : share;
    }
  }
  return 1 - inside[n2];
}

// Two-sided, without ties: of all subsets of ranks, those with a U as far from the middle.
double ExactMannWhitneyP(int64_t n1, int64_t n2, int64_t u) {
  const int64_t most = n1 * n2;
  // ways[i][s]: i values of x with U = s so far, over growing numbers of y.
  std::vector<std::vector<double>> ways(n1 + 1, std::vector<double>(most + 1, 0));
  ways[0][0] = 1;
  for (int64_t rank = 1; rank <= n1 + n2; ++rank) {
    for (int64_t i = std::min(rank, n1); i >= 1; --i) {
      const int64_t below = rank - i;  // Values of y that this x exceeds.
      if (below > n2) continue;
      for (int64_t s = most; s >= below; --s) ways[i][s] += ways[i - 1][s - below];
    }
  }
  const int64_t smaller = std::min(u, most - u);
  double tail = 0;
  for (int64_t s = 0; s <= smaller; ++s) tail += ways[n1][s];
  return std::min(1.0, 2 * tail / Choose(n1 + n2, n1));
}

}  // namespace

WelchT CompareWelch(std::span<const double> x, std::span<const double> y) {
  WelchT result;
  if (x.empty() || y.empty()) return result;
  if (!AllFinite(x) || !AllFinite(y)) {
    result.mean_diff = result.se = result.t = result.df = result.p = Status::kOutOfRange;
    return result;
  }
  const Summary of_x = Summarise(x);
  const Summary of_y = Summarise(y);
  result.mean_diff = of_x.mean.value() - of_y.mean.value();
  if (!of_x.se.ok() || !of_y.se.ok()) {
    result.se = result.t = result.df = result.p = Status::kInsufficientN;
    return result;
  }
  const double square_x = of_x.se.value() * of_x.se.value();
  const double square_y = of_y.se.value() * of_y.se.value();
  const double se = std::sqrt(square_x + square_y);
  result.se = se;
  if (se == 0) {
    result.t = result.df = result.p = Status::kZeroVariance;
    return result;
  }
  const double sum = square_x + square_y;
  const double df = sum * sum /
                    (square_x * square_x / static_cast<double>(of_x.n - 1) +
                     square_y * square_y / static_cast<double>(of_y.n - 1));
  result.df = df;
  result.t = result.mean_diff.value() / se;
  result.p = StudentTwoSidedP(result.t.value(), df);
  return result;
}

Measure FisherExactP(int64_t a, int64_t b, int64_t c, int64_t d) {
  if (a < 0 || b < 0 || c < 0 || d < 0) return Status::kOutOfRange;
  const int64_t row = a + b;
  const int64_t column = a + c;
  const int64_t n = a + b + c + d;
  if (n == 0) return Status::kNoData;
  const int64_t first = std::max<int64_t>(0, row + column - n);
  const int64_t last = std::min(row, column);
  // Chances relative to the observed table, by the ratio of neighbours.
  std::vector<double> chance(last - first + 1);
  chance[a - first] = 1;
  const auto ratio = [&](int64_t k) {  // P(k + 1) / P(k)
    return static_cast<double>(row - k) * static_cast<double>(column - k) /
           (static_cast<double>(k + 1) * static_cast<double>(n - row - column + k + 1));
  };
  for (int64_t k = a; k < last; ++k) chance[k + 1 - first] = chance[k - first] * ratio(k);
  for (int64_t k = a; k > first; --k) chance[k - 1 - first] = chance[k - first] / ratio(k - 1);
  std::vector<double> no_likelier;
  for (const double c2 : chance) {
    if (c2 <= 1 + 1e-7) no_likelier.push_back(c2);
  }
  return std::min(1.0, SumOf(no_likelier) / SumOf(chance));
}

TwoProportions CompareProportions(int64_t x1, int64_t n1, int64_t x2, int64_t n2,
                                  double confidence) {
  TwoProportions result;
  const Interval of_1 = WilsonInterval(x1, n1, confidence);
  const Interval of_2 = WilsonInterval(x2, n2, confidence);
  for (const Interval& one : {of_1, of_2}) {
    if (one.status == Status::kOk) continue;
    result.diff = result.fisher_p = result.z_pooled = result.z_p = one.status;
    result.newcombe = NoInterval(one.status);
    return result;
  }
  const double p1 = static_cast<double>(x1) / static_cast<double>(n1);
  const double p2 = static_cast<double>(x2) / static_cast<double>(n2);
  const double d = p1 - p2;
  result.diff = d;
  const auto root = [](double u, double v) { return std::sqrt(u * u + v * v); };
  result.newcombe = {.lo = d - root(p1 - of_1.lo.value(), of_2.hi.value() - p2),
                     .hi = d + root(of_1.hi.value() - p1, p2 - of_2.lo.value())};
  result.fisher_p = FisherExactP(x1, n1 - x1, x2, n2 - x2);
  result.wilson_intervals_overlap =
      of_1.lo.value() <= of_2.hi.value() && of_2.lo.value() <= of_1.hi.value();
  const double pooled = static_cast<double>(x1 + x2) / static_cast<double>(n1 + n2);
  const double variance =
      pooled * (1 - pooled) * (1 / static_cast<double>(n1) + 1 / static_cast<double>(n2));
  if (variance == 0) {
    result.z_pooled = result.z_p = Status::kZeroVariance;
    return result;
  }
  result.z_pooled = d / std::sqrt(variance);
  result.z_p = 2 * NormalCdf(-std::fabs(result.z_pooled.value()));
  return result;
}

SampleDistance CompareSamples(std::span<const double> x_in, std::span<const double> y_in) {
  SampleDistance result;
  if (x_in.empty() || y_in.empty()) return result;
  if (!AllFinite(x_in) || !AllFinite(y_in)) {
    result.ks = result.ks_p = result.mann_whitney_u = result.mann_whitney_p = Status::kOutOfRange;
    result.energy = result.wasserstein = result.cliffs_delta = Status::kOutOfRange;
    return result;
  }
  const std::vector<double> x = Sorted(x_in);
  const std::vector<double> y = Sorted(y_in);
  const int64_t n1 = static_cast<int64_t>(x.size());
  const int64_t n2 = static_cast<int64_t>(y.size());
  const double pairs = static_cast<double>(n1) * static_cast<double>(n2);
  const std::vector<Step> steps = Steps(x, y);
  int64_t gap = 0;
  std::vector<double> area;
  int64_t twice_u = 0;  // Pairs with x above y count 2, ties 1.
  bool tied = false;
  Step before;
  for (const Step& step : steps) {
    const int64_t dx = step.x_count - before.x_count;
    const int64_t dy = step.y_count - before.y_count;
    tied = tied || dx + dy > 1;
    twice_u += dx * (2 * before.y_count + dy);
    const int64_t level = ScaledGap(before.x_count, before.y_count, n1, n2);
    area.push_back(static_cast<double>(level) / pairs * (step.value - before.value));
    gap = std::max(gap, ScaledGap(step.x_count, step.y_count, n1, n2));
    before = step;
  }
  result.ks = static_cast<double>(gap) / pairs;
  result.ks_p = gap == 0 ? 1 : ExactKsP(n1, n2, gap);
  result.wasserstein = SumOf(area);
  result.mann_whitney_u = static_cast<double>(twice_u) / 2;
  result.cliffs_delta = static_cast<double>(twice_u) / pairs - 1;
  result.energy = 2 * MeanDistance(x, y) - MeanDistance(x, x) - MeanDistance(y, y);
  if (tied) {
    result.mann_whitney_p = Status::kOutOfRange;
  } else if (n1 + n2 > 100) {
    result.mann_whitney_p = Status::kTooLarge;
  } else {
    result.mann_whitney_p = ExactMannWhitneyP(n1, n2, twice_u / 2);
  }
  return result;
}

}  // namespace reenact::analysis
