// How the keys and values of 32 positions of one KV head lie in memory: a sub-block of attention.
//
//   keys    [head_dim][32 positions]
//   values  [32 positions][head_dim, padded to whole vectors]

#ifndef REENACT_LOCAL_ENGINE_CPU_INTERNAL_KV_BLOCK_LAYOUT_H_
#define REENACT_LOCAL_ENGINE_CPU_INTERNAL_KV_BLOCK_LAYOUT_H_

#include <cstddef>
#include <cstdint>

#include "local_engine/numerics/operations.h"

namespace reenact::local_engine {

inline constexpr int32_t kKvBlockPositions = 32;

REENACT_NUMERICS_FN size_t KvPaddedDim(size_t head_dim) {
  return (head_dim + 15) / 16 * 16;
}

// Where dimension `d` of the key and the value of a slot (position mod 32) stand.
REENACT_NUMERICS_FN size_t KvKeyIndex(size_t slot, size_t d) {
  return d * static_cast<size_t>(kKvBlockPositions) + slot;
}

REENACT_NUMERICS_FN size_t KvValueIndex(size_t head_dim, size_t slot, size_t d) {
  return head_dim * static_cast<size_t>(kKvBlockPositions) + slot * KvPaddedDim(head_dim) + d;
}

REENACT_NUMERICS_FN size_t KvBlockElements(size_t head_dim) {
  return (head_dim + KvPaddedDim(head_dim)) * static_cast<size_t>(kKvBlockPositions);
}

}  // namespace reenact::local_engine

#endif  // REENACT_LOCAL_ENGINE_CPU_INTERNAL_KV_BLOCK_LAYOUT_H_
