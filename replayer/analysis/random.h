// Random numbers for resampling: replicate r of seed s is a pure function of (s, r), so that a
// result does not depend on how many threads drew it, nor in what order. Philox4x32-10.
//
// Bits: the same on every machine; neither std::shuffle nor a distribution of <random> is used,
// whose results the standard leaves open.

#ifndef REENACT_REPLAYER_ANALYSIS_RANDOM_H_
#define REENACT_REPLAYER_ANALYSIS_RANDOM_H_

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace reenact::analysis {

// The seed when nobody gave one; reports print it.
inline constexpr uint64_t kDefaultSeed = 20260101;

class RandomStream {
 public:
  RandomStream(uint64_t seed, uint64_t replicate) : seed_(seed), replicate_(replicate) {}

  uint32_t Bits();
  // 0 <= result < n without bias (Lemire 2019); n > 0.
  uint32_t Below(uint32_t n);
  // In (0, 1): 52 random bits and a half, never an end.
  double Uniform();

 private:
  uint64_t seed_;
  uint64_t replicate_;
  uint64_t block_ = 0;
  uint32_t words_[4] = {};
  int next_ = 4;
};

// Fisher-Yates, from the end.
template <typename T>
void Shuffle(std::vector<T>& values, RandomStream& random) {
  for (size_t i = values.size(); i > 1; --i) {
    std::swap(values[i - 1], values[random.Below(static_cast<uint32_t>(i))]);
  }
}

}  // namespace reenact::analysis

#endif  // REENACT_REPLAYER_ANALYSIS_RANDOM_H_
