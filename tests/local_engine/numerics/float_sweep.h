// Visits binary32 values in order of their bits: all of them under REENACT_LONG, every 1021st (a
// prime, so every exponent and most mantissa patterns) otherwise; both ends always.

#ifndef REENACT_TESTS_LOCAL_ENGINE_NUMERICS_FLOAT_SWEEP_H_
#define REENACT_TESTS_LOCAL_ENGINE_NUMERICS_FLOAT_SWEEP_H_

#include <cmath>
#include <cstdint>
#include <cstdlib>

#include "local_engine/numerics/operations.h"

namespace reenact::local_engine {

inline uint64_t SweepStride() {
  return std::getenv("REENACT_LONG") != nullptr ? 1 : 1021;
}

template <typename Visit>
void SweepBits(uint32_t first, uint32_t last, const Visit& visit) {
  for (uint64_t bits = first; bits < last; bits += SweepStride()) {
    visit(float_from_bits(static_cast<uint32_t>(bits)));
  }
  visit(float_from_bits(last));
}

// |got - exact| in units of the last place of a binary32 of exact's size.
inline double UlpError(float got, long double exact) {
  int exponent = 0;
  std::frexp(exact, &exponent);
  const long double unit = std::ldexp(1.0L, exponent - 24 < -149 ? -149 : exponent - 24);
  return static_cast<double>(std::fabs(static_cast<long double>(got) - exact) / unit);
}

}  // namespace reenact::local_engine

#endif  // REENACT_TESTS_LOCAL_ENGINE_NUMERICS_FLOAT_SWEEP_H_
