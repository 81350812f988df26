// The counter-based generator of profile n1: a draw is a pure function of (seed, sample index,
// position, token block, domain), never of a batch, a step count or another request.
// Source: Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", 2011; Philox4x32-10.

#ifndef REENACT_LOCAL_ENGINE_NUMERICS_PHILOX_H_
#define REENACT_LOCAL_ENGINE_NUMERICS_PHILOX_H_

#include <cstdint>

#include "local_engine/numerics/operations.h"

namespace reenact::local_engine {

struct PhiloxBlock {
  uint32_t word[4];
};

REENACT_NUMERICS_FN PhiloxBlock Philox4x32(PhiloxBlock counter, uint32_t key0, uint32_t key1) {
  PhiloxBlock c = counter;
  for (int round = 0; round < 10; ++round) {
    const uint64_t a = uint64_t{0xD2511F53u} * c.word[0];
    const uint64_t b = uint64_t{0xCD9E8D57u} * c.word[2];
    c = PhiloxBlock{{static_cast<uint32_t>(b >> 32) ^ c.word[1] ^ key0, static_cast<uint32_t>(b),
                     static_cast<uint32_t>(a >> 32) ^ c.word[3] ^ key1, static_cast<uint32_t>(a)}};
    key0 += 0x9E3779B9u;
    key1 += 0xBB67AE85u;
  }
  return c;
}

// What a draw is for. Values are part of the profile; never renumber.
enum class DrawDomain : uint32_t { kTarget = 0, kDraft = 1, kAccept = 2 };

struct DrawKey {
  uint64_t seed = 0;
  uint32_t sample_index = 0;  // Which of a request's n samples.
  uint32_t position = 0;      // Of the token that is drawn, counted from the first of the prompt.
  DrawDomain domain = DrawDomain::kTarget;
};

// 32 random bits for one token id: word id mod 4 of the block id / 4. The key is the low half of
// the seed and the sample index; the high half of the seed is the counter's last word, which is 0
// for the small seeds that people write.
REENACT_NUMERICS_FN uint32_t DrawBits(const DrawKey& draw, uint32_t token_id) {
  const PhiloxBlock counter = {{draw.position, token_id / 4, static_cast<uint32_t>(draw.domain),
                                static_cast<uint32_t>(draw.seed >> 32)}};
  return Philox4x32(counter, static_cast<uint32_t>(draw.seed), draw.sample_index)
      .word[token_id % 4];
}

// Uniform in (0, 1): (23 random bits + 1/2) * 2^-23, exact, never 0 and never 1.
REENACT_NUMERICS_FN float UniformFromBits(uint32_t bits) {
  return mul_rn(add_rn(static_cast<float>(bits >> 9), 0.5f), 0x1p-23f);
}

}  // namespace reenact::local_engine

#endif  // REENACT_LOCAL_ENGINE_NUMERICS_PHILOX_H_
