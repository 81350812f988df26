// Lanes on AVX2, FMA and F16C: two registers.

#ifndef REENACT_LOCAL_ENGINE_CPU_INTERNAL_LANES_AVX2_H_
#define REENACT_LOCAL_ENGINE_CPU_INTERNAL_LANES_AVX2_H_

#include <immintrin.h>

#include <cstdint>

#include "local_engine/numerics/operations.h"

namespace reenact::local_engine {
namespace {

struct Lanes {
  __m256 low, high;
};

REENACT_NUMERICS_FN Lanes Zero() {
  return {_mm256_setzero_ps(), _mm256_setzero_ps()};
}

REENACT_NUMERICS_FN Lanes Broadcast(float a) {
  const __m256 all = _mm256_set1_ps(a);
  return {all, all};
}

REENACT_NUMERICS_FN Lanes Load(const float* p) {
  return {_mm256_loadu_ps(p), _mm256_loadu_ps(p + 8)};
}

REENACT_NUMERICS_FN void Store(float* p, Lanes a) {
  _mm256_storeu_ps(p, a.low);
  _mm256_storeu_ps(p + 8, a.high);
}

REENACT_NUMERICS_FN Lanes Fma(Lanes a, Lanes b, Lanes c) {
  return {_mm256_fmadd_ps(a.low, b.low, c.low), _mm256_fmadd_ps(a.high, b.high, c.high)};
}

REENACT_NUMERICS_FN Lanes Add(Lanes a, Lanes b) {
  return {_mm256_add_ps(a.low, b.low), _mm256_add_ps(a.high, b.high)};
}

REENACT_NUMERICS_FN Lanes Mul(Lanes a, Lanes b) {
  return {_mm256_mul_ps(a.low, b.low), _mm256_mul_ps(a.high, b.high)};
}

REENACT_NUMERICS_FN Lanes Max(Lanes a, Lanes b) {
  return {_mm256_max_ps(a.low, b.low), _mm256_max_ps(a.high, b.high)};
}

REENACT_NUMERICS_FN float Halve16(Lanes a) {
  const __m256 of8 = _mm256_add_ps(a.low, a.high);
  const __m128 of4 = _mm_add_ps(_mm256_castps256_ps128(of8), _mm256_extractf128_ps(of8, 1));
  const __m128 of2 = _mm_add_ps(of4, _mm_movehl_ps(of4, of4));
  return _mm_cvtss_f32(_mm_add_ss(of2, _mm_movehdup_ps(of2)));
}

REENACT_NUMERICS_FN Lanes WidenF16(const uint16_t* p) {
  const auto* halves = reinterpret_cast<const __m128i*>(p);
  return {_mm256_cvtph_ps(_mm_loadu_si128(halves)), _mm256_cvtph_ps(_mm_loadu_si128(halves + 1))};
}

REENACT_NUMERICS_FN __m256 WidenBf16Of8(__m128i halves) {
  return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(halves), 16));
}

REENACT_NUMERICS_FN Lanes WidenBf16(const uint16_t* p) {
  const auto* halves = reinterpret_cast<const __m128i*>(p);
  return {WidenBf16Of8(_mm_loadu_si128(halves)), WidenBf16Of8(_mm_loadu_si128(halves + 1))};
}

REENACT_NUMERICS_FN void WidenPairs(const uint16_t* p, Lanes* even, Lanes* odd) {
  const auto* pairs = reinterpret_cast<const __m256i*>(p);
  const __m256i low = _mm256_loadu_si256(pairs);
  const __m256i high = _mm256_loadu_si256(pairs + 1);
  const __m256i mask = _mm256_set1_epi32(static_cast<int>(0xffff0000u));
  *even = {_mm256_castsi256_ps(_mm256_slli_epi32(low, 16)),
           _mm256_castsi256_ps(_mm256_slli_epi32(high, 16))};
  *odd = {_mm256_castsi256_ps(_mm256_and_si256(low, mask)),
          _mm256_castsi256_ps(_mm256_and_si256(high, mask))};
}

// _mm256_shuffle_ps works in halves of a register; the permutation puts its quarters in order.
REENACT_NUMERICS_FN __m256 InOrder(__m256 shuffled) {
  return _mm256_castpd_ps(_mm256_permute4x64_pd(_mm256_castps_pd(shuffled), 0xd8));
}

REENACT_NUMERICS_FN void Deinterleave(Lanes a, Lanes b, Lanes* even, Lanes* odd) {
  *even = {InOrder(_mm256_shuffle_ps(a.low, a.high, 0x88)),
           InOrder(_mm256_shuffle_ps(b.low, b.high, 0x88))};
  *odd = {InOrder(_mm256_shuffle_ps(a.low, a.high, 0xdd)),
          InOrder(_mm256_shuffle_ps(b.low, b.high, 0xdd))};
}

struct Ints {
  __m256i low, high;
};

// LoadBytes takes the bias off the weights: no correction is due.
REENACT_NUMERICS_FN Ints StartSum(int32_t) {
  return {_mm256_setzero_si256(), _mm256_setzero_si256()};
}

REENACT_NUMERICS_FN Ints LoadBytes(const uint8_t* p) {
  const auto* bytes = reinterpret_cast<const __m256i*>(p);
  const __m256i bias = _mm256_set1_epi8(static_cast<char>(0x80));
  return {_mm256_xor_si256(_mm256_loadu_si256(bytes), bias),
          _mm256_xor_si256(_mm256_loadu_si256(bytes + 1), bias)};
}

REENACT_NUMERICS_FN Ints BroadcastBytes(int32_t four) {
  const __m256i all = _mm256_set1_epi32(four);
  return {all, all};
}

// maddubs saturates with biased weights, of up to 255. With |w|, of up to 128, and x under the sign
// of w, of up to 127, a sum of two products is at most 32512, and exact.
REENACT_NUMERICS_FN __m256i DotBytesOf8(__m256i sum, __m256i w, __m256i x) {
  const __m256i pairs = _mm256_maddubs_epi16(_mm256_abs_epi8(w), _mm256_sign_epi8(x, w));
  return _mm256_add_epi32(sum, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
}

REENACT_NUMERICS_FN Ints DotBytes(Ints sum, Ints w, Ints x) {
  return {DotBytesOf8(sum.low, w.low, x.low), DotBytesOf8(sum.high, w.high, x.high)};
}

REENACT_NUMERICS_FN Lanes ToFloat(Ints a) {
  return {_mm256_cvtepi32_ps(a.low), _mm256_cvtepi32_ps(a.high)};
}

}  // namespace
}  // namespace reenact::local_engine

#endif  // REENACT_LOCAL_ENGINE_CPU_INTERNAL_LANES_AVX2_H_
