#include "local_engine/numerics/sha256_blocks.h"

#include <bit>
#include <cstddef>
#include <cstdint>

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#include <sys/auxv.h>
#endif

namespace reenact::local_engine {
namespace {

alignas(16) constexpr uint32_t kRoundConstants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

// The processor's own prefetching ends with each page.
[[maybe_unused]] constexpr size_t kAheadBytes = 2048;

uint32_t BigEndian(const uint8_t* bytes) {
  return uint32_t{bytes[0]} << 24 | uint32_t{bytes[1]} << 16 | uint32_t{bytes[2]} << 8 | bytes[3];
}

void CompressPlain(uint32_t* state, const uint8_t* block) {
  uint32_t w[64];
  for (int t = 0; t < 16; ++t) w[t] = BigEndian(block + 4 * t);
  for (int t = 16; t < 64; ++t) {
    const uint32_t x = w[t - 15];
    const uint32_t y = w[t - 2];
    w[t] = w[t - 16] + (std::rotr(x, 7) ^ std::rotr(x, 18) ^ (x >> 3)) + w[t - 7] +
           (std::rotr(y, 17) ^ std::rotr(y, 19) ^ (y >> 10));
  }
  uint32_t a = state[0], b = state[1], c = state[2], d = state[3];
  uint32_t e = state[4], f = state[5], g = state[6], h = state[7];
  for (int t = 0; t < 64; ++t) {
    const uint32_t first = h + (std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25)) +
                           ((e & f) ^ (~e & g)) + kRoundConstants[t] + w[t];
    const uint32_t second =
        (std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
    h = g, g = f, f = e, e = d + first, d = c, c = b, b = a, a = first + second;
  }
  const uint32_t sums[8] = {a, b, c, d, e, f, g, h};
  for (int i = 0; i < 8; ++i) state[i] += sums[i];
}

#if defined(__x86_64__)

bool HasInstructions() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  constexpr unsigned kSha = 1u << 29;
  return __builtin_cpu_supports("sse4.1") && __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 &&
         (b & kSha) != 0;
}

// The instructions keep the state as the words F E B A and H G D C, the first one lowest.
__attribute__((target("sha,sse4.1"))) void BlocksByInstructions(uint32_t* state,
                                                                const uint8_t* blocks,
                                                                size_t count) {
  const auto word = [&](int i) { return static_cast<int>(state[i]); };
  __m128i abef = _mm_set_epi32(word(0), word(1), word(4), word(5));
  __m128i cdgh = _mm_set_epi32(word(2), word(3), word(6), word(7));
  const __m128i big_endian = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
  for (; count > 0; --count, blocks += kSha256BlockBytes) {
    __builtin_prefetch(blocks + kAheadBytes);
    const __m128i abef_before = abef, cdgh_before = cdgh;
    __m128i w[4];  // Of these four rounds and of the twelve that follow.
#pragma GCC unroll 16
    for (int group = 0; group < 16; ++group) {
      if (group < 4) {
        const auto* from = reinterpret_cast<const __m128i*>(blocks) + group;
        w[group] = _mm_shuffle_epi8(_mm_loadu_si128(from), big_endian);
      } else {
        const __m128i before = w[(group + 3) % 4];
        const __m128i sevens = _mm_alignr_epi8(before, w[(group + 2) % 4], 4);
        const __m128i sum =
            _mm_add_epi32(_mm_sha256msg1_epu32(w[group % 4], w[(group + 1) % 4]), sevens);
        w[group % 4] = _mm_sha256msg2_epu32(sum, before);
      }
      const auto* constants = reinterpret_cast<const __m128i*>(kRoundConstants) + group;
      const __m128i terms = _mm_add_epi32(w[group % 4], _mm_load_si128(constants));
      cdgh = _mm_sha256rnds2_epu32(cdgh, abef, terms);
      abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32(terms, 0x0e));
    }
    abef = _mm_add_epi32(abef, abef_before);
    cdgh = _mm_add_epi32(cdgh, cdgh_before);
  }
  alignas(16) uint32_t low[4], high[4];
  _mm_store_si128(reinterpret_cast<__m128i*>(low), abef);
  _mm_store_si128(reinterpret_cast<__m128i*>(high), cdgh);
  const uint32_t words[8] = {low[3], low[2], high[3], high[2], low[1], low[0], high[1], high[0]};
  for (int i = 0; i < 8; ++i) state[i] = words[i];
}

#elif defined(__aarch64__)

bool HasInstructions() {
  constexpr unsigned long kSha2 = 1ul << 6;  // HWCAP_SHA2 of <asm/hwcap.h>
  return (getauxval(AT_HWCAP) & kSha2) != 0;
}

__attribute__((target("+crypto"))) void BlocksByInstructions(uint32_t* state, const uint8_t* blocks,
                                                             size_t count) {
  uint32x4_t abcd = vld1q_u32(state), efgh = vld1q_u32(state + 4);
  for (; count > 0; --count, blocks += kSha256BlockBytes) {
    __builtin_prefetch(blocks + kAheadBytes);
    const uint32x4_t abcd_before = abcd, efgh_before = efgh;
    uint32x4_t w[4];  // Of these four rounds and of the twelve that follow.
#pragma GCC unroll 16
    for (int group = 0; group < 16; ++group) {
      if (group < 4) {
        w[group] = vreinterpretq_u32_u8(vrev32q_u8(vld1q_u8(blocks + 16 * group)));
      } else {
        w[group % 4] = vsha256su1q_u32(vsha256su0q_u32(w[group % 4], w[(group + 1) % 4]),
                                       w[(group + 2) % 4], w[(group + 3) % 4]);
      }
      const uint32x4_t terms = vaddq_u32(w[group % 4], vld1q_u32(kRoundConstants + 4 * group));
      const uint32x4_t abcd_here = abcd;
      abcd = vsha256hq_u32(abcd, efgh, terms);
      efgh = vsha256h2q_u32(efgh, abcd_here, terms);
    }
    abcd = vaddq_u32(abcd, abcd_before);
    efgh = vaddq_u32(efgh, efgh_before);
  }
  vst1q_u32(state, abcd);
  vst1q_u32(state + 4, efgh);
}

#else

bool HasInstructions() {
  return false;
}

constexpr Sha256Blocks BlocksByInstructions = Sha256BlocksPlain;

#endif

}  // namespace

void Sha256BlocksPlain(uint32_t* state, const uint8_t* blocks, size_t count) {
  for (; count > 0; --count, blocks += kSha256BlockBytes) CompressPlain(state, blocks);
}

Sha256Blocks Sha256BlocksByInstructions() {
  return HasInstructions() ? BlocksByInstructions : nullptr;
}

}  // namespace reenact::local_engine
