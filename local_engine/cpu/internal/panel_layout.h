// The geometry of packed weights and activations, shared by those who pack and those who multiply.

#ifndef REENACT_LOCAL_ENGINE_CPU_INTERNAL_PANEL_LAYOUT_H_
#define REENACT_LOCAL_ENGINE_CPU_INTERNAL_PANEL_LAYOUT_H_

#include <cstddef>

#include "local_engine/numerics/operations.h"

namespace reenact::local_engine {

inline constexpr int kPanelOutputs = 32;  // Outputs (weight rows) packed side by side.
inline constexpr int kMaxTileRows = 12;   // Activation rows that one tile multiplies.
inline constexpr int kDotClasses = 32;    // Accumulators of a sum over K.
inline constexpr size_t kDotChunk = 64;   // What K is padded to: an even and an odd k a class.

// The class that stands at place `sequence` of the bit-reversed order.
REENACT_NUMERICS_FN int BitReversed(int sequence) {
  return ((sequence & 1) << 4) | ((sequence & 2) << 2) | (sequence & 4) | ((sequence & 8) >> 2) |
         ((sequence & 16) >> 4);
}

REENACT_NUMERICS_FN size_t FloatChunkCount(size_t dim) {
  return (dim + kDotChunk - 1) / kDotChunk;
}

}  // namespace reenact::local_engine

#endif  // REENACT_LOCAL_ENGINE_CPU_INTERNAL_PANEL_LAYOUT_H_
