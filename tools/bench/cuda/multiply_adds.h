// What the device can do at most in binary32: fused multiply-adds in registers, and nothing else.

#ifndef REENACT_TOOLS_BENCH_CUDA_MULTIPLY_ADDS_H_
#define REENACT_TOOLS_BENCH_CUDA_MULTIPLY_ADDS_H_

#include <cstddef>

#include "local_engine/cuda/device.h"

namespace reenact::bench {

inline constexpr size_t kMultiplyAddThreads = 256;  // Of a block.
inline constexpr size_t kMultiplyAddChains = 16;    // Of a thread: more than a unit has stages.

// `rounds` links of each chain. `sums` takes a value of each thread of all blocks.
void MultiplyAndAddInRegisters(size_t blocks, int rounds, local_engine::CudaDevice& device,
                               float* sums);

}  // namespace reenact::bench

#endif  // REENACT_TOOLS_BENCH_CUDA_MULTIPLY_ADDS_H_
