// The geometry of packed weights and activations, shared by those who pack and those who multiply.

#ifndef REENACT_LOCAL_ENGINE_CPU_INTERNAL_PANEL_LAYOUT_H_
#define REENACT_LOCAL_ENGINE_CPU_INTERNAL_PANEL_LAYOUT_H_

#include <cstddef>
#include <cstdint>

#include "local_engine/cpu/internal/planted_kernel_fault.h"
#include "local_engine/numerics/operations.h"

namespace reenact::local_engine {

inline constexpr int kPanelOutputs = 32;  // Outputs (weight rows) packed side by side.
inline constexpr int kMaxTileRows = 12;   // Activation rows that one tile multiplies.
inline constexpr int kDotClasses = 32;    // Accumulators of a sum over K.
inline constexpr size_t kDotChunk = 64;   // What K is padded to: an even and an odd k a class.
// How far ahead of its use a panel is asked for. The first tile of rows finds it in memory, and a
// tile of many rows reads too slowly for the processor to see a stream in it.
inline constexpr int kPrefetchBytes = 4096;

// The class that stands at place `sequence` of the bit-reversed order.
REENACT_NUMERICS_FN int BitReversed(int sequence) {
  if (Planted(KernelFault::kClassesInOrder)) return sequence;
  return ((sequence & 1) << 4) | ((sequence & 2) << 2) | (sequence & 4) | ((sequence & 8) >> 2) |
         ((sequence & 16) >> 4);
}

REENACT_NUMERICS_FN size_t FloatChunkCount(size_t dim) {
  return (dim + kDotChunk - 1) / kDotChunk;
}

// Quantised weights: bytes are biased by 128 (w ^ 0x80), as unsigned operands of dot instructions;
// a lane has four of adjoining k. Q8_0 has four classes of groups; they stand in the order in which
// the tree (a0 + a2) + (a1 + a3) wants them.
inline constexpr int kQ8Classes = 4;
inline constexpr size_t kQ8Group = 32;
inline constexpr size_t kQ8Quads = kQ8Group / 4;
// A group of a panel: [8 quads][32 outputs][4 bytes], then [32 outputs] scales in binary16.
inline constexpr size_t kQ8PanelGroupBytes = kQ8Group * kPanelOutputs + 2 * kPanelOutputs;
// A group of packed activations, in words of 32 bits for each row: 8 quads, the correction -128
// sum(x), the scale.
inline constexpr size_t kQ8PackedWords = kQ8Quads + 2;

// The class (group mod 4) that stands at `place`: 0, 2, 1, 3.
REENACT_NUMERICS_FN int Q8ClassAt(int place) {
  if (Planted(KernelFault::kQ8ClassesInOrder)) return place;
  return ((place & 1) << 1) | (place >> 1);
}

REENACT_NUMERICS_FN size_t Q8GroupsOfClass(size_t group_count, int group_class) {
  return (group_count + kQ8Classes - 1 - static_cast<size_t>(group_class)) / kQ8Classes;
}

// W8A8: a panel is [quads][32 outputs][4 bytes]; activations are [quads][rows] words, then a
// correction and a scale for each row.
REENACT_NUMERICS_FN size_t QuadCount(size_t dim) {
  return (dim + 3) / 4;
}

// What a panel takes.
REENACT_NUMERICS_FN size_t FloatPanelElements(size_t dim) {
  return FloatChunkCount(dim) * kDotChunk * kPanelOutputs;
}

REENACT_NUMERICS_FN size_t Q8PanelBytes(size_t dim) {
  return dim / kQ8Group * kQ8PanelGroupBytes;
}

REENACT_NUMERICS_FN size_t W8A8PanelBytes(size_t dim) {
  return QuadCount(dim) * 4 * kPanelOutputs;
}

}  // namespace reenact::local_engine

#endif  // REENACT_LOCAL_ENGINE_CPU_INTERNAL_PANEL_LAYOUT_H_
