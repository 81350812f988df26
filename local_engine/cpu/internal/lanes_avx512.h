// Lanes on AVX-512: one register.

#ifndef REENACT_LOCAL_ENGINE_CPU_INTERNAL_LANES_AVX512_H_
#define REENACT_LOCAL_ENGINE_CPU_INTERNAL_LANES_AVX512_H_

#include <immintrin.h>

#include <cstdint>

#include "local_engine/numerics/operations.h"

namespace reenact::local_engine {
namespace {

using Lanes = __m512;

REENACT_NUMERICS_FN Lanes Zero() {
  return _mm512_setzero_ps();
}

REENACT_NUMERICS_FN Lanes Broadcast(float a) {
  return _mm512_set1_ps(a);
}

REENACT_NUMERICS_FN Lanes Load(const float* p) {
  return _mm512_loadu_ps(p);
}

REENACT_NUMERICS_FN void Store(float* p, Lanes a) {
  _mm512_storeu_ps(p, a);
}

REENACT_NUMERICS_FN Lanes Fma(Lanes a, Lanes b, Lanes c) {
  return _mm512_fmadd_ps(a, b, c);
}

REENACT_NUMERICS_FN Lanes Add(Lanes a, Lanes b) {
  return _mm512_add_ps(a, b);
}

REENACT_NUMERICS_FN Lanes Mul(Lanes a, Lanes b) {
  return _mm512_mul_ps(a, b);
}

REENACT_NUMERICS_FN Lanes Max(Lanes a, Lanes b) {
  return _mm512_max_ps(a, b);
}

REENACT_NUMERICS_FN float Halve16(Lanes a) {
  const __m256 of8 = _mm256_add_ps(_mm512_castps512_ps256(a), _mm512_extractf32x8_ps(a, 1));
  const __m128 of4 = _mm_add_ps(_mm256_castps256_ps128(of8), _mm256_extractf128_ps(of8, 1));
  const __m128 of2 = _mm_add_ps(of4, _mm_movehl_ps(of4, of4));
  return _mm_cvtss_f32(_mm_add_ss(of2, _mm_movehdup_ps(of2)));
}

REENACT_NUMERICS_FN Lanes WidenF16(const uint16_t* p) {
  return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
}

REENACT_NUMERICS_FN Lanes WidenBf16(const uint16_t* p) {
  const __m512i wide =
      _mm512_cvtepu16_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
  return _mm512_castsi512_ps(_mm512_slli_epi32(wide, 16));
}

REENACT_NUMERICS_FN void WidenPairs(const uint16_t* p, Lanes* even, Lanes* odd) {
  const __m512i pairs = _mm512_loadu_si512(p);
  *even = _mm512_castsi512_ps(_mm512_slli_epi32(pairs, 16));
  *odd = _mm512_castsi512_ps(
      _mm512_and_si512(pairs, _mm512_set1_epi32(static_cast<int>(0xffff0000u))));
}

REENACT_NUMERICS_FN void Deinterleave(Lanes a, Lanes b, Lanes* even, Lanes* odd) {
  const __m512i evens =
      _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
  const __m512i odds = _mm512_or_si512(evens, _mm512_set1_epi32(1));
  *even = _mm512_permutex2var_ps(a, evens, b);
  *odd = _mm512_permutex2var_ps(a, odds, b);
}

using Ints = __m512i;

// Where a sum of DotBytes starts: `correction` takes back what the bias of the weights adds.
REENACT_NUMERICS_FN Ints StartSum(int32_t correction) {
  return _mm512_set1_epi32(correction);
}

REENACT_NUMERICS_FN Ints LoadBytes(const uint8_t* p) {
  return _mm512_loadu_si512(p);
}

REENACT_NUMERICS_FN Ints BroadcastBytes(int32_t four) {
  return _mm512_set1_epi32(four);
}

REENACT_NUMERICS_FN Ints DotBytes(Ints sum, Ints w, Ints x) {
  return _mm512_dpbusd_epi32(sum, w, x);
}

REENACT_NUMERICS_FN Lanes ToFloat(Ints a) {
  return _mm512_cvtepi32_ps(a);
}

}  // namespace
}  // namespace reenact::local_engine

#endif  // REENACT_LOCAL_ENGINE_CPU_INTERNAL_LANES_AVX512_H_
