// The tree that ends every reduction of profile n1: acc[l] += acc[l + off] for off = width/2 ... 1.

#ifndef REENACT_LOCAL_ENGINE_REFERENCE_HALVING_TREE_H_
#define REENACT_LOCAL_ENGINE_REFERENCE_HALVING_TREE_H_

#include <span>

#include "local_engine/numerics/operations.h"
#include "local_engine/reference/planted_fault.h"

namespace reenact::local_engine {

// The sum of acc[0 .. live), which is overwritten. `width`: acc.size(), a power of two. Classes
// from `live` on are empty: they are skipped, not added as zeros. live >= 1.
inline float HalvingTree(std::span<float> acc, int live) {
  const int width = static_cast<int>(acc.size());
  if (Planted(PlantedFault::kTreeOfNeighbours)) {
    for (int off = 1; off < width; off *= 2) {
      for (int l = 0; l + off < live; l += 2 * off) acc[l] = add_rn(acc[l], acc[l + off]);
    }
    return acc[0];
  }
  for (int off = width / 2; off >= 1; off /= 2) {
    for (int l = 0; l < off && l + off < live; ++l) acc[l] = add_rn(acc[l], acc[l + off]);
  }
  return acc[0];
}

}  // namespace reenact::local_engine

#endif  // REENACT_LOCAL_ENGINE_REFERENCE_HALVING_TREE_H_
