// Faults that tests plant in kernels, to show that the emulator and the comparisons with reference/
// would catch them. Only a build with REENACT_PLANTED_FAULTS has them, all of them, to be chosen
// while it runs; everywhere else the conditions fold away.

#ifndef REENACT_LOCAL_ENGINE_CUDA_PLANTED_DEVICE_FAULT_H_
#define REENACT_LOCAL_ENGINE_CUDA_PLANTED_DEVICE_FAULT_H_

#include "local_engine/numerics/operations.h"

namespace reenact::local_engine {

enum class DeviceFault {
  kNone,
  kBarrierMissing,      // Sums of classes are read before all are written.
  kBarrierOfHalf,       // A barrier that half of the block does not reach.
  kSlabBarrierMissing,  // The next slab of rows comes while the last one is read.
  kPaddingUnwritten,    // Shared memory beyond a row's end is left as it was.
  kPaddingComputed,     // Links of a chain beyond the padded row are executed.
  kFoldReversed,        // Warps' sums meet farthest first.
  kWindowOfOneMore,     // A sliding window sees one key too many.
  kKeyAfterTheToken,    // The causal mask ends one key late.
  kMaximumOfSubBlock,   // exp against the maximum of 32 keys, not of the split.
  kSplitsByBatch,       // Splits are combined backwards when there are several rows.
  kRowsEndLate,         // A row's loop ends one value late.
  kBlocksShareARow,     // Two blocks compute one row.
  kHalfWarpExchanges,   // Half of a warp takes part in a step of all.
  kScaleOfFirstRow,     // One activation scale for all rows computed together.
  kOneBuffer,           // The next tile is stored where the last one is still read.
  kTieToHighestId,      // Of equal logits.
  kCount
};

#if defined(REENACT_PLANTED_FAULTS)
// Defined by the test. A function, so that it is no access to memory that the emulator checks.
bool Planted(DeviceFault fault);
#else
REENACT_NUMERICS_FN constexpr bool Planted(DeviceFault) {
  return false;
}
#endif

}  // namespace reenact::local_engine

#endif  // REENACT_LOCAL_ENGINE_CUDA_PLANTED_DEVICE_FAULT_H_
