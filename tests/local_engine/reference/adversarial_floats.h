// Seeded inputs that tell one order of operations from another: the same on every machine.

#ifndef REENACT_TESTS_LOCAL_ENGINE_REFERENCE_ADVERSARIAL_FLOATS_H_
#define REENACT_TESTS_LOCAL_ENGINE_REFERENCE_ADVERSARIAL_FLOATS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "local_engine/numerics/operations.h"

namespace reenact::local_engine {

enum class InputKind {
  kUnit,        // Within +-1.
  kWide,        // Magnitudes 2^-20 ... 2^20.
  kCancelling,  // Large, in pairs of opposite sign, a few last places apart.
  kSubnormal,   // Some below 2^-126, some just above.
  kZeros,       // Signed zeros among small integers.
  kVanishing,   // Products underflow to a zero that has a sign.
};

inline constexpr InputKind kInputKinds[] = {InputKind::kUnit,       InputKind::kWide,
                                            InputKind::kCancelling, InputKind::kSubnormal,
                                            InputKind::kZeros,      InputKind::kVanishing};

// splitmix64, by Steele, Lea and Flood.
class SeededBits {
 public:
  explicit SeededBits(uint64_t seed) : state_(seed) {}

  uint32_t Next() {
    uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return static_cast<uint32_t>((z ^ (z >> 31)) >> 32);
  }

  // With 24 random bits, within +-1.
  float Unit() { return static_cast<float>(static_cast<int32_t>(Next()) >> 7) * 0x1p-24f; }

 private:
  uint64_t state_;
};

inline float AdversarialFloat(InputKind kind, size_t index, float before, SeededBits& random) {
  const float unit = random.Unit();
  switch (kind) {
    case InputKind::kUnit:
      return unit;
    case InputKind::kWide:
      return float_from_bits(float_bits(unit) & 0x807fffffu) == 0.0f
                 ? unit
                 : float_from_bits((float_bits(unit) & 0x807fffffu) |
                                   ((107u + random.Next() % 41u) << 23));
    case InputKind::kCancelling:
      if (index % 4 >= 2) return -float_from_bits(float_bits(before) + random.Next() % 3u);
      return add_rn(mul_rn(unit, 1000.0f), 1.0f);
    case InputKind::kSubnormal:
      return float_from_bits((float_bits(unit) & 0x80000000u) | (random.Next() % 0x01800000u));
    case InputKind::kZeros:
      return index % 3 == 0 ? (unit < 0 ? -0.0f : 0.0f) : static_cast<float>(random.Next() % 5u);
    case InputKind::kVanishing:
      return mul_rn(add_rn(1.0f, abs_bits(unit)), 0x1p-90f);
  }
  return unit;
}

inline std::vector<float> AdversarialFloats(InputKind kind, size_t count, uint64_t seed) {
  SeededBits random(seed * 16 + static_cast<uint64_t>(kind));
  std::vector<float> values;
  for (size_t i = 0; i < count; ++i) {
    const float before = i >= 2 ? values[i - 2] : 1.0f;
    values.push_back(AdversarialFloat(kind, i, before, random));
  }
  return values;
}

}  // namespace reenact::local_engine

#endif  // REENACT_TESTS_LOCAL_ENGINE_REFERENCE_ADVERSARIAL_FLOATS_H_
