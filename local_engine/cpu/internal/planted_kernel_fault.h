// Faults that tests plant in kernels, to show that the comparisons with reference/ would catch
// them. Only a build with REENACT_PLANTED_FAULTS has them, all of them, to be chosen while it runs;
// everywhere else the conditions fold away.

#ifndef REENACT_LOCAL_ENGINE_CPU_INTERNAL_PLANTED_KERNEL_FAULT_H_
#define REENACT_LOCAL_ENGINE_CPU_INTERNAL_PLANTED_KERNEL_FAULT_H_

#include "local_engine/numerics/operations.h"

namespace reenact::local_engine {

enum class KernelFault {
  kNone,
  kClassesInOrder,        // Classes of a sum over K are not taken in bit-reversed order.
  kTileUnfused,           // A multiplication and an addition in place of one fma.
  kInPlaceTailDropped,    // The last K of a row that is no multiple of 64.
  kF16Flushes,            // Subnormal weights are read as zero.
  kQ8PairsSaturate,       // As maddubs does with biased weights: sums of two products in 16 bits.
  kQ8ScaleOfTile,         // One activation scale for all rows computed together.
  kQ8ScalesApart,         // (sum s_x) s_w in place of sum (s_x s_w).
  kQ8ClassesInOrder,      // (a0 + a1) + (a2 + a3).
  kQ8ByReciprocal,        // Activations are quantised by a reciprocal.
  kW8A8ScalesApart,       // (sum s_x) s_w.
  kQueryScaled,           // The scale goes into the query, not onto the score.
  kMaximumOfGroup,        // One maximum for all queries computed together.
  kMaximumFromZero,       // In place of -infinity.
  kMaskedKeysMultiplied,  // By a weight of zero, in place of being skipped.
  kWeightsInOrder,        // The weights of a sub-block are added one by one.
  kCacheTruncates,        // Rounds towards zero on the way into a BF16 cache.
  kNormOfVectors,         // 16 classes, a vector's width.
  kNormScaleFirst,        // x (inv g) in place of (x inv) g.
  kRotationFused,
  kGateByReciprocal,     // g (1 / (1 + e^-g)).
  kVocabularyByThreads,  // Chunks of the vocabulary follow the number of threads.
  kWorkersFlush,         // Started threads treat subnormals as zero.
  kCount
};

#if defined(REENACT_PLANTED_FAULTS)
// Defined by the test, which changes it between computations.
extern KernelFault planted_kernel_fault;

REENACT_NUMERICS_FN bool Planted(KernelFault fault) {
  return fault == planted_kernel_fault;
}
#else
REENACT_NUMERICS_FN constexpr bool Planted(KernelFault) {
  return false;
}
#endif

}  // namespace reenact::local_engine

#endif  // REENACT_LOCAL_ENGINE_CPU_INTERNAL_PLANTED_KERNEL_FAULT_H_
