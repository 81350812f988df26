// Operations on one row, as loops whose iterations are independent: the compiler makes vectors of
// them for each instruction set, and cannot change what an iteration rounds.

#ifndef REENACT_LOCAL_ENGINE_CPU_INTERNAL_ROW_OPERATIONS_H_
#define REENACT_LOCAL_ENGINE_CPU_INTERNAL_ROW_OPERATIONS_H_

#include <cstddef>
#include <cstdint>

#include "local_engine/cpu/internal/planted_kernel_fault.h"
#include "local_engine/numerics/exp_log.h"
#include "local_engine/numerics/operations.h"

namespace reenact::local_engine {
namespace {

constexpr size_t kRowClasses = 256;

// The halving tree 128 ... 1 over the first `live` of 256 classes; the others are empty.
float HalveClasses(float* acc, size_t live) {
  for (size_t off = kRowClasses / 2; off >= 1; off /= 2) {
    const size_t pairs = live > off ? live - off : 0;
    const size_t count = pairs < off ? pairs : off;
    for (size_t l = 0; l < count; ++l) acc[l] = add_rn(acc[l], acc[l + off]);
  }
  return acc[0];
}

void RmsNormRow(const float* x, const float* weight, size_t dim, float epsilon, float* y) {
  alignas(64) float acc[kRowClasses] = {};
  size_t k = 0;
  if (Planted(KernelFault::kNormOfVectors)) {
    for (; k + 16 <= dim; k += 16) {
      for (size_t l = 0; l < 16; ++l) acc[l] = fma_rn(x[k + l], x[k + l], acc[l]);
    }
  }
  for (; k + kRowClasses <= dim; k += kRowClasses) {
    for (size_t l = 0; l < kRowClasses; ++l) acc[l] = fma_rn(x[k + l], x[k + l], acc[l]);
  }
  for (size_t l = 0; k + l < dim; ++l) acc[l] = fma_rn(x[k + l], x[k + l], acc[l]);
  const float sum = HalveClasses(acc, dim < kRowClasses ? dim : kRowClasses);
  const float mean = div_rn(sum, static_cast<float>(dim));
  const float inverse = div_rn(1.0f, sqrt_rn(add_rn(mean, epsilon)));
  for (size_t i = 0; i < dim; ++i) {
    y[i] = Planted(KernelFault::kNormScaleFirst) ? mul_rn(x[i], mul_rn(inverse, weight[i]))
                                                 : mul_rn(mul_rn(x[i], inverse), weight[i]);
  }
}

void RotateHead(const float* cos, const float* sin, size_t half_dim, float* head) {
  float* const high_half = head + half_dim;
  for (size_t i = 0; i < half_dim; ++i) {
    const float low = head[i];
    const float high = high_half[i];
    head[i] = Planted(KernelFault::kRotationFused)
                  ? fma_rn(low, cos[i], -mul_rn(high, sin[i]))
                  : sub_rn(mul_rn(low, cos[i]), mul_rn(high, sin[i]));
    high_half[i] = add_rn(mul_rn(high, cos[i]), mul_rn(low, sin[i]));
  }
}

void SiluMulRow(const float* gate, const float* up, size_t count, float* out) {
  for (size_t k = 0; k < count; ++k) {
    const float divisor = add_rn(1.0f, Exp(-gate[k]));
    const float silu = Planted(KernelFault::kGateByReciprocal)
                           ? mul_rn(gate[k], div_rn(1.0f, divisor))
                           : div_rn(gate[k], divisor);
    out[k] = mul_rn(silu, up[k]);
  }
}

void AddRow(const float* delta, size_t count, float* x) {
  for (size_t k = 0; k < count; ++k) x[k] = add_rn(x[k], delta[k]);
}

bool RowIsFinite(const float* x, size_t count) {
  uint32_t not_finite = 0;
  for (size_t k = 0; k < count; ++k) {
    not_finite |= (float_bits(x[k]) & 0x7f800000u) == 0x7f800000u ? 1u : 0u;
  }
  return not_finite == 0;
}

// widen_bf16(narrow_to_bf16(x)), as selections that a vector can make; NaN is 0x7fff there too.
void RoundRowToBf16(float* x, size_t count) {
  for (size_t k = 0; k < count; ++k) {
    const uint32_t bits = float_bits(x[k]);
    const uint32_t rounded = bits + 0x7fffu + ((bits >> 16) & 1u);
    const bool is_nan = (bits & 0x7fffffffu) > 0x7f800000u;
    x[k] = float_from_bits(is_nan ? 0x7fff0000u : rounded & 0xffff0000u);
  }
}

// widen_fp16(narrow_to_fp16(x)). Below 2^-14 the last place is 2^-24, as it is of numbers between
// 0.5 and 1: an addition rounds to it, and a subtraction is exact.
void RoundRowToF16(float* x, size_t count) {
  for (size_t k = 0; k < count; ++k) {
    const uint32_t bits = float_bits(x[k]);
    const uint32_t magnitude = bits & 0x7fffffffu;
    const uint32_t normal = (magnitude + 0xfffu + ((magnitude >> 13) & 1u)) & 0xffffe000u;
    const uint32_t small = float_bits(sub_rn(add_rn(float_from_bits(magnitude), 0.5f), 0.5f));
    uint32_t rounded = magnitude < 0x38800000u ? small : normal;
    rounded = magnitude >= 0x477ff000u ? 0x7f800000u : rounded;
    const bool is_nan = magnitude > 0x7f800000u;
    x[k] = float_from_bits(is_nan ? 0x7fffe000u : rounded | (bits & 0x80000000u));
  }
}

// The largest, which is exact in any order; of zeros with different signs the first one.
float LargestOf(const float* x, size_t count) {
  constexpr size_t kWidth = 64;
  alignas(64) float largest[kWidth];
  for (float& value : largest) value = float_from_bits(0xff800000u);
  size_t k = 0;
  for (; k + kWidth <= count; k += kWidth) {
    for (size_t l = 0; l < kWidth; ++l) largest[l] = max_select(x[k + l], largest[l]);
  }
  float result = float_from_bits(0xff800000u);
  for (float value : largest) result = max_select(value, result);
  for (; k < count; ++k) result = max_select(x[k], result);
  for (size_t i = 0; i < count && result == 0.0f; ++i) {
    if (x[i] == 0.0f) return x[i];
  }
  return result;
}

// One chunk of SumOfExp in reference/logprob.h.
float SumOfExpChunk(const float* logits, size_t count, float maximum) {
  alignas(64) float acc[kRowClasses] = {};
  size_t i = 0;
  for (; i + kRowClasses <= count; i += kRowClasses) {
    for (size_t l = 0; l < kRowClasses; ++l) {
      acc[l] = add_rn(acc[l], Exp(sub_rn(logits[i + l], maximum)));
    }
  }
  for (size_t l = 0; i + l < count; ++l) {
    acc[l] = add_rn(acc[l], Exp(sub_rn(logits[i + l], maximum)));
  }
  return HalveClasses(acc, count < kRowClasses ? count : kRowClasses);
}

}  // namespace
}  // namespace reenact::local_engine

#endif  // REENACT_LOCAL_ENGINE_CPU_INTERNAL_ROW_OPERATIONS_H_
