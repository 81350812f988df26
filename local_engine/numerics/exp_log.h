// exp and log of profile n1: binary32 operations only, so that a scalar loop, any SIMD kernel and a
// GPU give the same bits. libm does not: its results change with the machine and the version.
// Source of the coefficients: tools/numerics/fit_exp_log.py.

#ifndef REENACT_LOCAL_ENGINE_NUMERICS_EXP_LOG_H_
#define REENACT_LOCAL_ENGINE_NUMERICS_EXP_LOG_H_

#include <cstdint>

#include "local_engine/numerics/operations.h"

namespace reenact::local_engine {

// Beyond these Exp gives +0 and +infinity: its results are never subnormal.
inline constexpr float kExpLowest = -0x1.5d589ep+6f;  // -87.33654...: e^x is 2^-126.
inline constexpr float kExpHighest = 0x1.62e42ep+6f;  // 88.72283...: e^x is below 2^128.

// e^x, for any x that is not NaN. Exp(+0) and Exp(-0) are 1.
// Error: below 0.9 units in the last place, measured over every input. Order: never falls for x >=
// 0; for x < 0, 2,917 of the 1.1 billion steps from one input to the next go the wrong way, by one
// last place.
//
// x = n ln2 + r with |r| <= ln2 / 2; n comes out of the low bits of x log2(e) + 1.5 * 2^23, and ln2
// stands in two pieces of which the first times n is exact.
REENACT_NUMERICS_FN float Exp(float x) {
  const float shifted = fma_rn(x, 0x1.715476p+0f, 12582912.0f);
  const float n = sub_rn(shifted, 12582912.0f);
  const float r = fma_rn(n, -0x1.7f7d1cp-20f, fma_rn(n, -0x1.62e4p-1f, x));
  float p = 0x1.685352p-10f;
  p = fma_rn(p, r, 0x1.123bdp-7f);
  p = fma_rn(p, r, 0x1.555b96p-5f);
  p = fma_rn(p, r, 0x1.55548ep-3f);
  p = fma_rn(p, r, 0x1.fffff8p-2f);
  const float fraction = fma_rn(fma_rn(p, r, 1.0f), r, 1.0f);
  // 2^n as a product of two powers, since n reaches 128; both products are exact.
  const int32_t power = static_cast<int32_t>(float_bits(shifted) - 0x4b400000u);
  const int32_t lower = power >> 1;
  const int32_t upper = power - lower;
  const float scaled =
      mul_rn(mul_rn(fraction, float_from_bits(static_cast<uint32_t>(lower + 127) << 23)),
             float_from_bits(static_cast<uint32_t>(upper + 127) << 23));
  const float floored = x < kExpLowest ? 0.0f : scaled;
  return x > kExpHighest ? float_from_bits(0x7f800000u) : floored;
}

// The natural logarithm, for positive normal finite x; anything else is outside the contract.
// Log(1) is +0. Error: below 0.94 units in the last place, measured over every input.
//
// x = 2^e (1 + f) with 1 + f in [2/3, 4/3).
REENACT_NUMERICS_FN float Log(float x) {
  const uint32_t bits = float_bits(x);
  const int32_t exponent = static_cast<int32_t>(bits - 0x3f2aaaabu) >> 23;
  const float f = sub_rn(float_from_bits(bits - (static_cast<uint32_t>(exponent) << 23)), 1.0f);
  float q = -0x1.03037ap-3f;
  q = fma_rn(q, f, 0x1.1ee68ap-3f);
  q = fma_rn(q, f, -0x1.f56284p-4f);
  q = fma_rn(q, f, 0x1.1eb8dep-3f);
  q = fma_rn(q, f, -0x1.55884ep-3f);
  q = fma_rn(q, f, 0x1.99d268p-3f);
  q = fma_rn(q, f, -0x1.ffff6ap-3f);
  q = fma_rn(q, f, 0x1.5555p-2f);
  q = fma_rn(q, f, -0.5f);
  const float of_fraction = fma_rn(q, mul_rn(f, f), f);
  const float e = static_cast<float>(exponent);
  return fma_rn(e, 0x1.62e4p-1f, fma_rn(e, 0x1.7f7d1cp-20f, of_fraction));
}

}  // namespace reenact::local_engine

#endif  // REENACT_LOCAL_ENGINE_NUMERICS_EXP_LOG_H_
