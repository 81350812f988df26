// bfloat16 and IEEE binary16, widened exactly and narrowed to nearest even with integers alone. The
// instructions that do the same flush subnormals (vcvtneps2bf16) or follow a mode register.

#ifndef REENACT_LOCAL_ENGINE_NUMERICS_NARROW_FLOATS_H_
#define REENACT_LOCAL_ENGINE_NUMERICS_NARROW_FLOATS_H_

#include <cstdint>

#include "local_engine/numerics/operations.h"

namespace reenact::local_engine {

REENACT_NUMERICS_FN float widen_bf16(uint16_t half) {
  return float_from_bits(static_cast<uint32_t>(half) << 16);
}

// NaN becomes 0x7fff, whatever its payload was; beyond the largest bf16 is infinity.
REENACT_NUMERICS_FN uint16_t narrow_to_bf16(float value) {
  const uint32_t bits = float_bits(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return 0x7fff;
  return static_cast<uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

// Exact, subnormals too.
REENACT_NUMERICS_FN float widen_fp16(uint16_t half) {
  const uint32_t sign = static_cast<uint32_t>(half & 0x8000u) << 16;
  const uint32_t exponent = (half >> 10) & 0x1fu;
  const uint32_t fraction = half & 0x3ffu;
  if (exponent == 0) {  // fraction * 2^-24; the product is exact, and +0 keeps its sign below.
    const float magnitude = mul_rn(static_cast<float>(fraction), 5.9604644775390625e-8f);
    return float_from_bits(float_bits(magnitude) | sign);
  }
  const uint32_t biased = exponent == 31 ? 255u : exponent + 112u;
  return float_from_bits(sign | (biased << 23) | (fraction << 13));
}

// NaN becomes 0x7fff; from 65520 on is infinity (the caller makes that an error); results below
// 2^-14 are subnormal, not flushed.
REENACT_NUMERICS_FN uint16_t narrow_to_fp16(float value) {
  const uint32_t bits = float_bits(value);
  const uint32_t sign = (bits >> 16) & 0x8000u;
  const uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return 0x7fff;
  if (magnitude >= 0x477ff000u) return static_cast<uint16_t>(sign | 0x7c00u);
  if (magnitude >= 0x38800000u) {  // Normal: 13 bits go, and the exponent's bias changes by 112.
    const uint32_t rounded = magnitude + 0xfffu + ((magnitude >> 13) & 1u);
    return static_cast<uint16_t>(sign | ((rounded - 0x38000000u) >> 13));
  }
  if (magnitude < 0x33000000u) return static_cast<uint16_t>(sign);  // Below half of 2^-24.
  const uint32_t shift = 126u - (magnitude >> 23);  // 14 to 24: what brings 2^-24 to the last bit.
  const uint32_t mantissa = (magnitude & 0x7fffffu) | 0x800000u;
  const uint32_t kept = mantissa >> shift;
  const uint32_t lost = mantissa & ((1u << shift) - 1u);
  const uint32_t half = 1u << (shift - 1u);
  const uint32_t up = (lost > half || (lost == half && (kept & 1u))) ? 1u : 0u;
  return static_cast<uint16_t>(sign | (kept + up));
}

}  // namespace reenact::local_engine

#endif  // REENACT_LOCAL_ENGINE_NUMERICS_NARROW_FLOATS_H_
