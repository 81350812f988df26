// The operations that profile n1 is made of, by name, so that no compiler is left a choice: each is
// one IEEE 754 binary32 operation, rounded to nearest even, subnormals kept. There is no `a * b +
// c` in the engine whose rounding a flag could change.
//
// The text compiles as C++ and as CUDA C++. In C++ every function has internal linkage and is
// always inlined: files built for different instruction sets meet in one program, and the linker
// must never hand a baseline file a body that was compiled for AVX-512.

#ifndef REENACT_LOCAL_ENGINE_NUMERICS_OPERATIONS_H_
#define REENACT_LOCAL_ENGINE_NUMERICS_OPERATIONS_H_

#include <cstdint>
#include <cstring>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#if defined(__CUDACC__)
#define REENACT_NUMERICS_FN static __host__ __device__ __forceinline__
#else
#define REENACT_NUMERICS_FN static inline __attribute__((always_inline))
#endif

namespace reenact::local_engine {

REENACT_NUMERICS_FN uint32_t float_bits(float value) {
#if defined(__CUDA_ARCH__)
  return __float_as_uint(value);
#else
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return bits;
#endif
}

REENACT_NUMERICS_FN float float_from_bits(uint32_t bits) {
#if defined(__CUDA_ARCH__)
  return __uint_as_float(bits);
#else
  float value;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
#endif
}

REENACT_NUMERICS_FN float add_rn(float a, float b) {
#if defined(__CUDA_ARCH__)
  return __fadd_rn(a, b);
#else
  return a + b;
#endif
}

REENACT_NUMERICS_FN float sub_rn(float a, float b) {
#if defined(__CUDA_ARCH__)
  return __fsub_rn(a, b);
#else
  return a - b;
#endif
}

REENACT_NUMERICS_FN float mul_rn(float a, float b) {
#if defined(__CUDA_ARCH__)
  return __fmul_rn(a, b);
#else
  return a * b;
#endif
}

REENACT_NUMERICS_FN float div_rn(float a, float b) {
#if defined(__CUDA_ARCH__)
  return __fdiv_rn(a, b);
#else
  return a / b;
#endif
}

REENACT_NUMERICS_FN float sqrt_rn(float a) {
#if defined(__CUDA_ARCH__)
  return __fsqrt_rn(a);
#elif defined(__SSE2__)
  return _mm_cvtss_f32(_mm_sqrt_ss(_mm_set_ss(a)));
#else
  return __builtin_sqrtf(a);
#endif
}

#if !defined(__CUDA_ARCH__)
// a * b + c with one rounding, for machines without the instruction. The product of two binary32
// is exact in binary64. The sum is rounded to odd there: an inexact result gets the neighbour whose
// last bit is 1, which no later rounding to 24 bits or fewer can take for a tie.
// Source: Boldo and Melquiond, "Emulation of FMA and correctly rounded sums", 2008.
REENACT_NUMERICS_FN float fma_rn_by_round_to_odd(float a, float b, float c) {
  const double product = static_cast<double>(a) * static_cast<double>(b);
  const double addend = static_cast<double>(c);
  double sum = product + addend;
  // What the rounding of `sum` left over, exactly (Knuth's two-sum). NaN when something is
  // infinite.
  const double seen = sum - product;
  const double left = (product - (sum - seen)) + (addend - seen);
  if (left > 0.0 || left < 0.0) {
    int64_t bits;
    std::memcpy(&bits, &sum, sizeof(bits));
    if ((bits & 1) == 0) bits += ((left > 0.0) == (sum > 0.0)) ? 1 : -1;
    std::memcpy(&sum, &bits, sizeof(sum));
  }
  return static_cast<float>(sum);
}
#endif

// a * b + c, rounded once.
REENACT_NUMERICS_FN float fma_rn(float a, float b, float c) {
#if defined(__CUDA_ARCH__)
  return __fmaf_rn(a, b, c);
#elif defined(__FMA__) || defined(__aarch64__)
  return __builtin_fmaf(a, b, c);
#else
  return fma_rn_by_round_to_odd(a, b, c);
#endif
}

// The larger one, as a select: the same on maxss, fmax and max.f32, which disagree on signed zeros
// and NaN. Equal operands (+0 and -0 too) give b.
REENACT_NUMERICS_FN float max_select(float a, float b) {
  return a > b ? a : b;
}

REENACT_NUMERICS_FN float abs_bits(float a) {
  return float_from_bits(float_bits(a) & 0x7fffffffu);
}

REENACT_NUMERICS_FN bool is_finite(float a) {
  return (float_bits(a) & 0x7f800000u) != 0x7f800000u;
}

// The nearest integer, ties to even, for |a| <= 2^22: adding 1.5 * 2^23 makes the format's own
// rounding do it, in every rounding unit alike.
REENACT_NUMERICS_FN int32_t round_to_int(float a) {
  return static_cast<int32_t>(float_bits(add_rn(a, 12582912.0f)) - 0x4b400000u);
}

}  // namespace reenact::local_engine

#endif  // REENACT_LOCAL_ENGINE_NUMERICS_OPERATIONS_H_
