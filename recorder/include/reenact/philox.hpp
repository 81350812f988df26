// The random numbers of a run: a generator whose only state to record is a seed.

#ifndef REENACT_PHILOX_HPP_
#define REENACT_PHILOX_HPP_

#include <cstdint>
#include <limits>

namespace reenact {

// A stream of random numbers, for <random> and std::shuffle: Philox4x32-10, whose seed is recorded.
// Bits: a pure function of the seed, the same on every machine. (The distributions of <random> are
// not: they may differ between standard libraries.)
// Source: Salmon, Moraes, Dror, Shaw: Parallel random numbers: as easy as 1, 2, 3 (SC 2011).
class Philox {
 public:
  using result_type = uint64_t;

  explicit Philox(uint64_t seed)
      : key_{static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)} {}

  static constexpr result_type min() { return 0; }

  static constexpr result_type max() { return std::numeric_limits<result_type>::max(); }

  result_type operator()() {
    if (word_ == 4) Refill();
    const result_type low = block_[word_];
    const result_type high = block_[word_ + 1];
    word_ += 2;
    return low | high << 32;
  }

 private:
  void Refill() {
    uint32_t x[4] = {static_cast<uint32_t>(counter_), static_cast<uint32_t>(counter_ >> 32), 0, 0};
    uint32_t key[2] = {key_[0], key_[1]};
    for (int round = 0; round < 10; ++round) {
      const uint64_t product0 = uint64_t{0xD2511F53} * x[0];
      const uint64_t product1 = uint64_t{0xCD9E8D57} * x[2];
      const uint32_t next[4] = {
          static_cast<uint32_t>(product1 >> 32) ^ x[1] ^ key[0], static_cast<uint32_t>(product1),
          static_cast<uint32_t>(product0 >> 32) ^ x[3] ^ key[1], static_cast<uint32_t>(product0)};
      for (int i = 0; i < 4; ++i) x[i] = next[i];
      key[0] += 0x9E3779B9;
      key[1] += 0xBB67AE85;
    }
    for (int i = 0; i < 4; ++i) block_[i] = x[i];
    ++counter_;
    word_ = 0;
  }

  uint32_t key_[2];
  uint64_t counter_ = 0;
  uint32_t block_[4] = {};
  int word_ = 4;
};

}  // namespace reenact

#endif  // REENACT_PHILOX_HPP_
