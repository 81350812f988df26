// Everything rests on one product, x^a (1-x)^b / B(a, b), which binomial, beta and Student share.
// It is computed by its distance from the peak (Loader 2000), so that no large logarithms cancel:
//
//   x^a (1-x)^b / B(a, b) = sqrt(ab / (2 pi n)) e^(D + d(n) - d(a) - d(b)),       n = a + b
//   D = a log(x n / a) + b log((1-x) n / b),     d = what Stirling's formula leaves of log gamma
//
// The incomplete integrals are continued fractions (Lentz); the quantiles are bisections of
// doubles, which end at neighbours and need no starting value.

#include "replayer/analysis/special_functions.h"

#include <cmath>
#include <initializer_list>
#include <limits>
#include <numbers>

#include "replayer/analysis/elementary.h"

namespace reenact::analysis {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kTiny = 1e-300;
constexpr double kPrecision = 1e-16;

// log gamma(z) - ((z - 1/2) log z - z + log(2 pi) / 2).
double StirlingRest(double z) {
  double steps = 0;
  while (z < 16) {
    // From z to z + 1: gamma(z + 1) = z gamma(z).
    steps += (z + 0.5) * LogOnePlus(1 / z) - 1;
    z += 1;
  }
  const double w = 1 / (z * z);
  const double series =
      1.0 / 12 - w * (1.0 / 360 - w * (1.0 / 1260 -
                                       w * (1.0 / 1680 - w * (1.0 / 1188 - w * (691.0 / 360360)))));
  return steps + series / z;
}

// x^a y^b / B(a, b), y = 1 - x: both given, since a small one keeps its digits only by itself.
double BetaKernel(double x, double y, double a, double b) {
  if (x <= 0 || y <= 0) return 0;
  const double n = a + b;
  const double offset = x < y ? x * n - a : b - y * n;
  const bool near_peak = std::fabs(offset) < 0.5 * a && std::fabs(offset) < 0.5 * b;
  const double log_x = x < y ? Log(x) : LogOnePlus(-y);
  const double log_y = x < y ? LogOnePlus(-x) : Log(y);
  const double distance = near_peak ? a * LogOnePlus(offset / a) + b * LogOnePlus(-offset / b)
                                    : a * (log_x - Log(a / n)) + b * (log_y - Log(b / n));
  const double rest = StirlingRest(n) - StirlingRest(a) - StirlingRest(b);
  return std::sqrt(a / n * b / (2 * std::numbers::pi)) * Exp(distance + rest);
}

// The continued fraction of I_x(a, b) for x < (a + 1) / (a + b + 2).
double BetaFraction(double x, double a, double b) {
  double c = 1;
  double d = 1 - (a + b) * x / (a + 1);
  d = 1 / (std::fabs(d) < kTiny ? kTiny : d);
  double value = d;
  for (int m = 1; m < 100000; ++m) {
    const double m2 = 2.0 * m;
    const double even = m * (b - m) * x / ((a + m2 - 1) * (a + m2));
    const double odd = -(a + m) * (a + b + m) * x / ((a + m2) * (a + m2 + 1));
    double step = 1;
    for (const double term : {even, odd}) {
      d = 1 + term * d;
      d = 1 / (std::fabs(d) < kTiny ? kTiny : d);
      c = 1 + term / c;
      if (std::fabs(c) < kTiny) c = kTiny;
      value *= c * d;
      step = c * d;
    }
    if (std::fabs(step - 1) < kPrecision) break;
  }
  return value;
}

// I_x(a, b) with y = 1 - x.
double IncompleteBeta(double x, double y, double a, double b) {
  const double kernel = BetaKernel(x, y, a, b);
  if (x < (a + 1) / (a + b + 2)) return kernel * BetaFraction(x, a, b) / a;
  return 1 - kernel * BetaFraction(y, b, a) / b;
}

// P(Z >= z) for z >= 0.
double NormalUpperTail(double z) {
  const double density = Exp(-0.5 * z * z) / std::sqrt(2 * std::numbers::pi);
  if (z < 2) {
    // 1/2 - density * (z + z^3/3 + z^5/15 + ...): all terms positive.
    double term = z;
    double sum = z;
    for (int k = 3; term > kPrecision * sum; k += 2) {
      term *= z * z / k;
      sum += term;
    }
    return 0.5 - density * sum;
  }
  double fraction = z;
  for (int k = 200; k >= 1; --k) fraction = z + k / fraction;
  return density / fraction;
}

// The x between lo and hi where the increasing `cdf` reaches p. Ends when the middle is an end.
template <typename Cdf>
double Bisect(double lo, double hi, double p, Cdf cdf) {
  for (int step = 0; step < 2000; ++step) {
    const double middle = lo + (hi - lo) / 2;
    if (middle <= lo || middle >= hi) break;
    (cdf(middle) < p ? lo : hi) = middle;
  }
  return lo + (hi - lo) / 2;
}

}  // namespace

double NormalCdf(double z) {
  return z <= 0 ? NormalUpperTail(-z) : 1 - NormalUpperTail(z);
}

double NormalQuantile(double p) {
  if (!(p > 0 && p < 1)) return kNan;
  if (p == 0.5) return 0;
  // In the lower half, where the tail keeps its relative precision.
  const double tail = p < 0.5 ? p : 1 - p;
  const double z = Bisect(-39, 0, tail, [](double x) { return NormalUpperTail(-x); });
  return p < 0.5 ? z : -z;
}

double BetaCdf(double x, double a, double b) {
  if (!(a > 0 && b > 0) || std::isnan(x)) return kNan;
  if (x <= 0) return 0;
  if (x >= 1) return 1;
  return IncompleteBeta(x, 1 - x, a, b);
}

double BetaQuantile(double p, double a, double b) {
  if (!(p >= 0 && p <= 1)) return kNan;
  if (p == 0 || p == 1) return p;
  return Bisect(0, 1, p, [a, b](double x) { return BetaCdf(x, a, b); });
}

double StudentTwoSidedP(double t, double df) {
  if (!(df > 0) || std::isnan(t)) return kNan;
  if (std::isinf(t)) return 0;
  // P = I_x(df/2, 1/2) with x = df / (df + t^2).
  const double square = t * t;
  return IncompleteBeta(df / (df + square), square / (df + square), df / 2, 0.5);
}

double StudentCdf(double t, double df) {
  const double tail = StudentTwoSidedP(t, df) / 2;
  return t > 0 ? 1 - tail : tail;
}

double StudentQuantile(double p, double df) {
  if (!(p > 0 && p < 1) || !(df > 0)) return kNan;
  if (p == 0.5) return 0;
  const double tail = p < 0.5 ? p : 1 - p;
  double far = -2;
  while (StudentCdf(far, df) > tail && far > -1e150) far *= far < -1e3 ? 1e3 : 2;
  const double t = Bisect(far, 0, tail, [df](double x) { return StudentCdf(x, df); });
  return p < 0.5 ? t : -t;
}

double ChiSquareUpperTail(double x, int64_t df) {
  if (df < 1 || std::isnan(x)) return kNan;
  if (x <= 0) return 1;
  // Two degrees more add one term of a finite sum: x^(k/2) e^(-x/2) / gamma.
  const bool odd = df % 2 != 0;
  double sum = odd ? 2 * NormalUpperTail(std::sqrt(x)) : Exp(-x / 2);
  double term = odd ? std::sqrt(2 * x / std::numbers::pi) * Exp(-x / 2) : Exp(-x / 2) * x / 2;
  for (int64_t k = odd ? 1 : 2; k < df; k += 2) {
    sum += term;
    term *= x / static_cast<double>(k + 2);
  }
  return sum;
}

double LogChoose(int64_t n, int64_t k) {
  if (k < 0 || k > n) return -std::numeric_limits<double>::infinity();
  if (k == 0 || k == n) return 0;
  // n choose k = 1 / ((n + 1) B(k + 1, n - k + 1)), and B from the kernel at its peak.
  const double a = static_cast<double>(k) + 1;
  const double b = static_cast<double>(n - k) + 1;
  const double s = a + b;
  const double log_beta = 0.5 * Log(2 * std::numbers::pi) + (a - 0.5) * Log(a) +
                          (b - 0.5) * Log(b) - (s - 0.5) * Log(s) + StirlingRest(a) +
                          StirlingRest(b) - StirlingRest(s);
  return -Log(static_cast<double>(n) + 1) - log_beta;
}

double Choose(int64_t n, int64_t k) {
  if (k < 0 || k > n) return 0;
  if (k > n - k) k = n - k;
  double product = 1;
  // Each partial product is itself a whole number, and exact while it is below 2^53.
  for (int64_t i = 1; i <= k; ++i) {
    product = product * static_cast<double>(n - k + i) / static_cast<double>(i);
    if (std::isinf(product)) break;
  }
  return product;
}

double BinomialPmf(int64_t k, int64_t n, double p) {
  if (k < 0 || k > n) return 0;
  if (k == 0) return p >= 1 ? (n == 0) : Exp(static_cast<double>(n) * LogOnePlus(-p));
  if (k == n) return p <= 0 ? 0 : Exp(static_cast<double>(n) * Log(p));
  // C(n, k) p^k q^(n-k) = kernel(p; k, n-k) n / (k (n-k)), since 1 / B(k, n-k) = C(n, k) k (n-k) /
  // n.
  const double a = static_cast<double>(k);
  const double b = static_cast<double>(n - k);
  return BetaKernel(p, 1 - p, a, b) * (a + b) / (a * b);
}

double BinomialCdf(int64_t k, int64_t n, double p) {
  if (k < 0) return 0;
  if (k >= n) return 1;
  return BetaCdf(1 - p, static_cast<double>(n - k), static_cast<double>(k) + 1);
}

}  // namespace reenact::analysis
