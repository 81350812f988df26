// The operations of reference/ computed by kernels: golden_kernels.cc defines the reference's own
// functions, and is linked with golden_operations.cc in their place. Nothing here needs more than
// the standard library, so that kernels can be held to the golden hashes by any compiler and on any
// processor.
//
// A golden operation asks for one output at a time. It is computed within a tile of other rows and
// outputs, whose number changes from call to call, and again by every other kernel that can:
// weights where they lie, weights that fit a narrower type, a cache of a narrower type. When two of
// them disagree in a bit the result is NaN, which no frozen hash was made of.

#ifndef REENACT_TESTS_LOCAL_ENGINE_CPU_GOLDEN_KERNELS_H_
#define REENACT_TESTS_LOCAL_ENGINE_CPU_GOLDEN_KERNELS_H_

#include "local_engine/cpu/internal/kernel_table.h"

namespace reenact::local_engine {

// What computes.
extern const KernelTable* golden_kernels;

// Proof that the comparisons above took place.
struct GoldenKernelCounts {
  int full_tiles = 0;  // Products in a tile of as many rows as there can be.
  int in_place = 0;
  int of_f16 = 0;
  int of_bf16 = 0;
  int full_groups = 0;  // Attention with as many queries as are computed together.
  int disagreements = 0;
};

extern GoldenKernelCounts golden_kernel_counts;

}  // namespace reenact::local_engine

#endif  // REENACT_TESTS_LOCAL_ENGINE_CPU_GOLDEN_KERNELS_H_
