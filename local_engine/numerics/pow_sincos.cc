// The coefficients are the exact Taylor ones (1/n!, 1/n), rounded to binary64: over the reduced
// ranges below the first term left out is under 2^-54 of the result, so nothing needs fitting.

#include "local_engine/numerics/pow_sincos.h"

#include <cstdint>
#include <cstring>

#include "local_engine/numerics/operations.h"

namespace reenact::local_engine {
namespace {

// ln2 and pi/2 in pieces short enough that a piece times the reduction's integer is exact
// (tools/numerics/fit_exp_log.py prints them).
constexpr double kLn2High = 0x1.62e42feep-1;
constexpr double kLn2Low = 0x1.a39ef35793c76p-33;
constexpr double kHalfPi[3] = {0x1.921fb544p+0, 0x1.0b4611a6p-34, 0x1.3198a2ep-69};
// Adding and subtracting 1.5 * 2^52 rounds to an integer, ties to even.
constexpr double kRounder = 6755399441055744.0;

int64_t Bits(double value) {
  int64_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return bits;
}

double FromBits(int64_t bits) {
  double value;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

double PowerOfTwo(int64_t power) {
  return FromBits((power + 1023) << 52);
}

double RoundToInteger(double x) {
  return (x + kRounder) - kRounder;
}

// 1 + x/1 (1 + x/2 (1 + ... x/last)): every factor of the factorials is an exact integer.
double NestedSeries(double x, const int* divisors, int count) {
  double sum = 1.0;
  for (int i = count - 1; i >= 0; --i) sum = 1.0 + x * sum / static_cast<double>(divisors[i]);
  return sum;
}

}  // namespace

double LogDouble(double x) {
  // x = 2^e m with m in [sqrt(1/2), sqrt(2)); ln(m) = 2 atanh(s), s = (m - 1) / (m + 1).
  constexpr int64_t kSqrtHalfBits = 0x3fe6a09e667f3bcd;
  const int64_t bits = Bits(x);
  const int64_t exponent = (bits - kSqrtHalfBits) >> 52;
  const double m = FromBits(bits - exponent * (int64_t{1} << 52));
  const double s = (m - 1.0) / (m + 1.0);
  const double square = s * s;
  double sum = 0.0;  // square/3 + square^2/5 + ...
  for (int odd = 25; odd >= 3; odd -= 2) sum = square * (1.0 / odd + sum);
  const double e = static_cast<double>(exponent);
  return e * kLn2High + (2.0 * s + (2.0 * s * sum + e * kLn2Low));
}

double ExpDouble(double x) {
  static constexpr int kDivisors[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
  const double n = RoundToInteger(x * 0x1.71547652b82fep+0);
  const double r = (x - n * kLn2High) - n * kLn2Low;
  return NestedSeries(r, kDivisors, 15) * PowerOfTwo(static_cast<int64_t>(n));
}

double Pow(double base, double exponent) {
  return ExpDouble(exponent * LogDouble(base));
}

SinCosPair SinCos(double angle) {
  // angle = n pi/2 + r, |r| <= pi/4; then the quadrant says which of +-sin r, +-cos r is which.
  static constexpr int kSinDivisors[] = {2 * 3,   4 * 5,   6 * 7,   8 * 9,  10 * 11,
                                         12 * 13, 14 * 15, 16 * 17, 18 * 19};
  static constexpr int kCosDivisors[] = {1 * 2,   3 * 4,   5 * 6,   7 * 8,  9 * 10,
                                         11 * 12, 13 * 14, 15 * 16, 17 * 18};
  const double n = RoundToInteger(angle * 0x1.45f306dc9c883p-1);
  const double r = ((angle - n * kHalfPi[0]) - n * kHalfPi[1]) - n * kHalfPi[2];
  const double minus_square = -(r * r);
  const double sin = r * NestedSeries(minus_square, kSinDivisors, 9);
  const double cos = NestedSeries(minus_square, kCosDivisors, 9);
  switch (static_cast<int64_t>(n) & 3) {
    case 0:
      return {sin, cos};
    case 1:
      return {cos, -sin};
    case 2:
      return {-sin, -cos};
    default:
      return {-cos, sin};
  }
}

}  // namespace reenact::local_engine
