#include "replayer/analysis/elementary.h"

#include <cmath>
#include <limits>

namespace reenact::analysis {
namespace {

// ln 2 in two parts: the first has trailing zeros, so that its product with an exponent is exact.
constexpr double kLn2High = 0x1.62e42fee00000p-1;
constexpr double kLn2Low = 0x1.a39ef35793c76p-33;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// e^r - 1 for |r| <= 0.35: the series, summed from its smallest term.
double ShortExpMinusOne(double r) {
  double sum = 0;
  for (int k = 16; k >= 3; --k) sum = (sum + 1) * r / k;
  // r + r^2/2 * (1 + r/3 * (1 + ...)): the largest term is added last.
  return r + r * r * 0.5 * (1 + sum);
}

}  // namespace

double Exp(double x) {
  if (std::isnan(x)) return x;
  if (x > 709.79) return kInfinity;
  if (x < -745.2) return 0;
  const double k = std::nearbyint(x / (kLn2High + kLn2Low));
  const double r = (x - k * kLn2High) - k * kLn2Low;
  const double scaled = 1 + ShortExpMinusOne(r);
  // In two steps: 2^1024 is no number though the product may be one.
  const int first = static_cast<int>(k) / 2;
  return std::ldexp(std::ldexp(scaled, first), static_cast<int>(k) - first);
}

double ExpMinusOne(double x) {
  if (std::fabs(x) <= 0.35) return ShortExpMinusOne(x);
  return Exp(x) - 1;
}

double Log(double x) {
  if (std::isnan(x) || x < 0) return std::numeric_limits<double>::quiet_NaN();
  if (x == 0) return -kInfinity;
  if (std::isinf(x)) return x;
  int exponent = 0;
  double m = std::frexp(x, &exponent);  // In [1/2, 1).
  if (m < 0x1.6a09e667f3bcdp-1) {
    m *= 2;
    --exponent;
  }
  // log m = 2 atanh(s) = f - s (f - 2 t) with f = m - 1, s = f / (m + 1) and t = s^2/3 + s^4/5 +
  // ... (f is exact, and so is the leading term.)
  const double f = m - 1;
  const double s = f / (m + 1);
  const double square = s * s;
  double series = 0;
  for (int k = 27; k >= 3; k -= 2) series = series * square + 1.0 / k;
  const double tail = 2 * square * series;
  const double correction = s * (f - tail);
  const double e = exponent;
  return e * kLn2High - ((correction - e * kLn2Low) - f);
}

double LogOnePlus(double x) {
  if (std::isinf(x)) return x > 0 ? x : std::numeric_limits<double>::quiet_NaN();
  const double u = 1 + x;
  if (u == 1) return x;
  if (u <= 0) return Log(u);
  // The quotient undoes what rounding did to 1 + x (Kahan).
  return Log(u) * (x / (u - 1));
}

double IntegerPower(double base, int64_t exponent) {
  if (exponent < 0) return 1 / IntegerPower(base, -exponent);
  double result = 1;
  for (double square = base; exponent > 0; exponent >>= 1, square *= square) {
    if (exponent & 1) result *= square;
  }
  return result;
}

double Power(double base, double exponent) {
  if (exponent == 0) return 1;
  if (base == 0) return exponent > 0 ? 0 : kInfinity;
  return Exp(exponent * Log(base));
}

}  // namespace reenact::analysis
