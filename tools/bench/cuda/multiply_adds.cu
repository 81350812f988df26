#include <cstddef>

#include "local_engine/cuda/device_operations.cuh"
#include "tools/bench/cuda/multiply_adds.h"

namespace reenact::bench {
namespace {

using namespace local_engine;

// The factors are arguments, so that nothing is computed before it runs.
__global__ void MultiplyAddsKernel(int rounds, float factor, float summand, float* sums) {
  float chains[kMultiplyAddChains];
#pragma unroll
  for (size_t c = 0; c < kMultiplyAddChains; ++c) chains[c] = static_cast<float>(threadIdx.x + c);
  for (int round = 0; round < rounds; ++round) {
#pragma unroll
    for (size_t c = 0; c < kMultiplyAddChains; ++c) chains[c] = fma_rn(chains[c], factor, summand);
  }
  float sum = 0.0f;
#pragma unroll
  for (size_t c = 0; c < kMultiplyAddChains; ++c) sum = add_rn(sum, chains[c]);
  sums[blockIdx.x * kMultiplyAddThreads + threadIdx.x] = sum;
}

}  // namespace

void MultiplyAndAddInRegisters(size_t blocks, int rounds, CudaDevice& device, float* sums) {
  device.Launch({.blocks = dim3(static_cast<unsigned>(blocks)), .threads = kMultiplyAddThreads},
                MultiplyAddsKernel, rounds, 0.999f, 0.001f, sums);
}

}  // namespace reenact::bench
