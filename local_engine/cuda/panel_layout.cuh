// How weights lie in device memory: every read of a warp is one run of 512 bytes, and the read
// after it is the next one.
//
// A panel holds 32 outputs. F32, F16 and BF16: for each of the 32 classes of the sum, in
// bit-reversed order (in which a binary counter adds neighbours up to the halving tree),
//   [units of a class's k][32 outputs][16 bytes]
// A class has two k in each chunk of 64, so a unit is two chunks of F32 or four of 16 bits.
//
// Q8_0: for each of the four classes of groups (group mod 4),
//   [groups of a class][32 outputs][32 bytes], and apart from them [groups][32 outputs] scales
// I8 has the order of its sum free: [32 outputs][k, to whole units of 16 bytes].
//
// What is missing in the last panel or unit is zero and is not computed with, but for the k that
// pad a row to 64.

#ifndef REENACT_LOCAL_ENGINE_CUDA_PANEL_LAYOUT_CUH_
#define REENACT_LOCAL_ENGINE_CUDA_PANEL_LAYOUT_CUH_

#include <cstddef>
#include <cstdint>

#include "local_engine/numerics/operations.h"
#include "local_engine/numerics/q8_block.h"

namespace reenact::local_engine {

inline constexpr int kPanelOutputs = 32;
inline constexpr int kDotClasses = 32;
inline constexpr int kDotChunk = 64;  // Two k of each class.
inline constexpr int kUnitBytes = 16;
inline constexpr int kQ8Classes = 4;

REENACT_NUMERICS_FN int CountOf(int items, int size) {
  return (items + size - 1) / size;
}

// Where a class stands in bit-reversed order, and which class stands there.
REENACT_NUMERICS_FN int BitReversed(int value) {
  return (value & 1) << 4 | (value & 2) << 2 | (value & 4) | (value & 8) >> 2 | (value & 16) >> 4;
}

REENACT_NUMERICS_FN int ChunkCount(int dim) {
  return CountOf(dim, kDotChunk);
}

// Chunks of a unit; `value_bytes` is 2 or 4.
REENACT_NUMERICS_FN int UnitChunks(int value_bytes) {
  return kUnitBytes / (2 * value_bytes);
}

REENACT_NUMERICS_FN int UnitCount(int dim, int value_bytes) {
  return CountOf(ChunkCount(dim), UnitChunks(value_bytes));
}

// In units of 16 bytes from the first panel.
REENACT_NUMERICS_FN size_t FloatUnitIndex(int dim, int value_bytes, int panel, int place,
                                          int unit) {
  const size_t units = static_cast<size_t>(UnitCount(dim, value_bytes));
  const size_t of_class = static_cast<size_t>(panel) * kDotClasses + static_cast<size_t>(place);
  return (of_class * units + static_cast<size_t>(unit)) * kPanelOutputs;
}

REENACT_NUMERICS_FN int Q8GroupCount(int dim) {
  return dim / kQ8GroupSize;
}

// Groups of each class; the last one may be missing in some.
REENACT_NUMERICS_FN int Q8ClassGroups(int dim) {
  return CountOf(Q8GroupCount(dim), kQ8Classes);
}

// The place of an output's group among groups of 32 bytes, and among scales.
REENACT_NUMERICS_FN size_t Q8GroupIndex(int dim, int panel, int group) {
  const size_t groups = static_cast<size_t>(Q8ClassGroups(dim));
  const size_t of_class =
      static_cast<size_t>(panel) * kQ8Classes + static_cast<size_t>(group % kQ8Classes);
  return (of_class * groups + static_cast<size_t>(group / kQ8Classes)) * kPanelOutputs;
}

REENACT_NUMERICS_FN int ByteRowUnits(int dim) {
  return CountOf(dim, kUnitBytes);
}

}  // namespace reenact::local_engine

#endif  // REENACT_LOCAL_ENGINE_CUDA_PANEL_LAYOUT_CUH_
