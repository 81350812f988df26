#include "replayer/analysis/uniformity.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include "replayer/analysis/descriptive.h"
#include "replayer/analysis/elementary.h"

namespace reenact::analysis {
namespace {

using std::numbers::pi;

// The Bessel function K of fractional order: the integral of e^(-z cosh t) cosh(order t) over t >
// 0, by the trapezoidal rule, which converges exponentially here.
double BesselK(double order, double z) {
  constexpr double kStep = 0.02;
  double sum = 0.5 * Exp(-z);
  for (int i = 1; i < 2000; ++i) {
    const double t = i * kStep;
    const double e = Exp(t);
    const double o = Exp(order * t);
    const double term = Exp(-z * (e + 1 / e) / 2) * (o + 1 / o) / 2;
    sum += term;
    if (term < 1e-25 * sum) break;
  }
  return sum * kStep;
}

// The two functions of Csorgo and Faraway's equation 1.10.
double Ed2(double y) {
  const double z = y * y / 4;
  return Exp(-z) * Power(y / 2, 1.5) * (BesselK(0.25, z) + BesselK(0.75, z)) / std::sqrt(pi);
}

double Ed3(double y) {
  const double z = y * y / 4;
  return Exp(-z) / std::sqrt(pi) * Power(y / 2, 2.5) *
         (2 * BesselK(0.25, z) + 3 * BesselK(0.75, z) - BesselK(1.25, z));
}

// P(omega2 <= x) for n values: the limit, and its first correction.
double CramerVonMisesCdf(double x, double n) {
  if (x <= 1 / (12 * n)) return 0;
  if (x >= n / 3) return 1;
  double limit = 0;
  double correction = 0;
  double gamma = std::sqrt(pi);  // Of k + 1/2.
  double factorial = 1;
  const double root = 2 * std::sqrt(x);
  const double y1 = Power(x, 0.75);
  const double y2 = Power(x, 1.25);
  for (int k = 0; k < 60; ++k) {
    const double m = 2 * k + 1;
    const double y = 4 * k + 1;
    const double q = y * y / (16 * x);
    const double term =
        gamma / factorial / (pi * std::sqrt(pi * x)) * std::sqrt(y) * Exp(-q) * BesselK(0.25, q);
    const double e = m * gamma * Ed2((4 * k + 3) / root) / (9 * y1) +
                     gamma * Ed3((4 * k + 1) / root) / (72 * y2) +
                     2 * (m + 2) * gamma * (k + 0.5) * Ed3((4 * k + 5) / root) / (12 * y2) +
                     7 * m * gamma * Ed2((4 * k + 1) / root) / (144 * y1) +
                     7 * m * gamma * Ed2((4 * k + 5) / root) / (144 * y1);
    limit += term;
    correction -= e / (pi * factorial);
    if (term < 1e-18 && std::fabs(e) < 1e-18) break;
    gamma *= k + 0.5;
    factorial *= k + 1;
  }
  return std::clamp(limit * (1 + 1 / (12 * n)) + correction / n, 0.0, 1.0);
}

using Matrix = std::vector<double>;  // m x m, row by row.

Matrix Multiply(const Matrix& a, const Matrix& b, size_t m) {
  Matrix product(m * m, 0);
  for (size_t i = 0; i < m; ++i) {
    for (size_t k = 0; k < m; ++k) {
      for (size_t j = 0; j < m; ++j) product[i * m + j] += a[i * m + k] * b[k * m + j];
    }
  }
  return product;
}

// P(D >= d) of n values: 1 - n!/n^n times the middle of Durbin's matrix to the power n.
double KolmogorovUpperTail(int64_t n, double d) {
  const double count = static_cast<double>(n);
  const size_t k = static_cast<size_t>(count * d) + 1;
  const size_t m = 2 * k - 1;
  const double h = static_cast<double>(k) - count * d;
  Matrix step(m * m, 0);
  for (size_t i = 0; i < m; ++i) {
    for (size_t j = 0; j < m; ++j) step[i * m + j] = i + 1 >= j ? 1 : 0;
  }
  for (size_t i = 0; i < m; ++i) {
    step[i * m] -= IntegerPower(h, static_cast<int64_t>(i) + 1);
    step[(m - 1) * m + i] -= IntegerPower(h, static_cast<int64_t>(m - i));
  }
  step[(m - 1) * m] += h > 0.5 ? IntegerPower(2 * h - 1, static_cast<int64_t>(m)) : 0;
  for (size_t i = 0; i < m; ++i) {
    for (size_t j = 0; j <= i; ++j) {
      for (size_t g = 1; g <= i - j + 1; ++g) step[i * m + j] /= static_cast<double>(g);
    }
  }
  // n!/n^n is spread over the steps, so that nothing overflows.
  std::vector<double> logs;
  for (int64_t i = 1; i <= n; ++i) logs.push_back(Log(static_cast<double>(i) / count));
  const double scale = Exp(SumOf(logs) / count);
  for (double& value : step) value *= scale;
  Matrix power(m * m, 0);
  for (size_t i = 0; i < m; ++i) power[i * m + i] = 1;
  for (int64_t left = n; left > 0; left >>= 1) {
    if (left & 1) power = Multiply(power, step, m);
    if (left > 1) step = Multiply(step, step, m);
  }
  return std::clamp(1 - power[(k - 1) * m + k - 1], 0.0, 1.0);
}

}  // namespace

RandomisedRank RankAmong(double score, std::span<const double> reference, double tie_break) {
  if (reference.empty()) return {};
  double lower = 0;
  double equal = 0;
  for (const double value : reference) {
    lower += value < score;
    equal += value == score;
  }
  const double m = static_cast<double>(reference.size());
  return {.exact = (lower + tie_break * (equal + 1)) / (m + 1),
          .published = (lower + tie_break * equal) / m};
}

Uniformity TestUniformity(std::span<const double> values) {
  Uniformity result;
  if (values.empty()) return result;
  const std::vector<double> sorted = Sorted(values);
  if (!(sorted.front() >= 0 && sorted.back() <= 1)) {
    result.omega2 = result.p = result.ks = result.ks_p = Status::kOutOfRange;
    return result;
  }
  const double n = static_cast<double>(sorted.size());
  double omega2 = 1 / (12 * n);
  double ks = 0;
  for (size_t i = 0; i < sorted.size(); ++i) {
    const double below = static_cast<double>(i) / n;
    const double above = static_cast<double>(i + 1) / n;
    const double middle = static_cast<double>(2 * i + 1) / (2 * n) - sorted[i];
    omega2 += middle * middle;
    ks = std::max({ks, above - sorted[i], sorted[i] - below});
  }
  result.omega2 = omega2;
  result.p = sorted.size() < 2 ? Measure(Status::kInsufficientN)
                               : Measure(1 - CramerVonMisesCdf(omega2, n));
  result.ks = ks;
  if (sorted.size() > 1000) {
    result.ks_p = Status::kTooLarge;
  } else {
    result.ks_p = ks >= 1 ? 0 : KolmogorovUpperTail(static_cast<int64_t>(sorted.size()), ks);
  }
  return result;
}

}  // namespace reenact::analysis
