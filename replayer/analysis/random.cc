#include "replayer/analysis/random.h"

#include "local_engine/numerics/philox.h"

namespace reenact::analysis {

uint32_t RandomStream::Bits() {
  if (next_ == 4) {
    const local_engine::PhiloxBlock block = local_engine::Philox4x32(
        {{static_cast<uint32_t>(block_), static_cast<uint32_t>(block_ >> 32),
          static_cast<uint32_t>(replicate_), static_cast<uint32_t>(replicate_ >> 32)}},
        static_cast<uint32_t>(seed_), static_cast<uint32_t>(seed_ >> 32));
    for (int i = 0; i < 4; ++i) words_[i] = block.word[i];
    ++block_;
    next_ = 0;
  }
  return words_[next_++];
}

uint32_t RandomStream::Below(uint32_t n) {
  // The high word of bits * n is uniform once the few low words that would favour some are refused.
  const uint32_t refused = static_cast<uint32_t>(-n) % n;
  while (true) {
    const uint64_t product = uint64_t{Bits()} * n;
    if (static_cast<uint32_t>(product) >= refused) return static_cast<uint32_t>(product >> 32);
  }
}

double RandomStream::Uniform() {
  const uint64_t high = Bits();
  const uint64_t bits = (high << 32 | Bits()) >> 12;  // 52 bits: with the half, exact in binary64.
  return (static_cast<double>(bits) + 0.5) * 0x1p-52;
}

}  // namespace reenact::analysis
