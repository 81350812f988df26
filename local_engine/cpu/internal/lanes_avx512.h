// Lanes on AVX-512: one register.

#ifndef REENACT_LOCAL_ENGINE_CPU_INTERNAL_LANES_AVX512_H_
#define REENACT_LOCAL_ENGINE_CPU_INTERNAL_LANES_AVX512_H_

#include <immintrin.h>

#include <cstddef>
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

// For this instruction set only: the first `count` lanes.
REENACT_NUMERICS_FN void StoreFirst(float* p, Lanes a, size_t count) {
  _mm512_mask_storeu_ps(p, static_cast<__mmask16>((1u << count) - 1), a);
}

// For this instruction set only: lane i of vector j and lane j of vector i change places; between
// pairs of vectors, then pairs of pairs, then by quarters of a vector.
REENACT_NUMERICS_FN void Transpose(Lanes (&rows)[16]) {
  Lanes pairs[16], quads[16], eights[16];
#pragma GCC unroll 8
  for (int i = 0; i < 16; i += 2) {
    pairs[i] = _mm512_unpacklo_ps(rows[i], rows[i + 1]);
    pairs[i + 1] = _mm512_unpackhi_ps(rows[i], rows[i + 1]);
  }
#pragma GCC unroll 4
  for (int i = 0; i < 16; i += 4) {
#pragma GCC unroll 2
    for (int half = 0; half < 2; ++half) {
      const __m512d low = _mm512_castps_pd(pairs[i + half]);
      const __m512d high = _mm512_castps_pd(pairs[i + 2 + half]);
      quads[i + 2 * half] = _mm512_castpd_ps(_mm512_unpacklo_pd(low, high));
      quads[i + 2 * half + 1] = _mm512_castpd_ps(_mm512_unpackhi_pd(low, high));
    }
  }
  // quads[4 g + c]: of rows 4 g ... 4 g + 3, the columns c, c + 4, c + 8, c + 12.
#pragma GCC unroll 4
  for (int c = 0; c < 4; ++c) {
#pragma GCC unroll 2
    for (int half = 0; half < 2; ++half) {
      const Lanes low = quads[8 * half + c], high = quads[8 * half + 4 + c];
      eights[8 * half + c] = _mm512_shuffle_f32x4(low, high, 0x88);      // c, c + 8
      eights[8 * half + 4 + c] = _mm512_shuffle_f32x4(low, high, 0xdd);  // c + 4, c + 12
    }
  }
#pragma GCC unroll 8
  for (int c = 0; c < 8; ++c) {
    rows[c] = _mm512_shuffle_f32x4(eights[c], eights[8 + c], 0x88);
    rows[8 + c] = _mm512_shuffle_f32x4(eights[c], eights[8 + c], 0xdd);
  }
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
