// Sums over 256 classes, a class a thread: those of RMSNorm and of the vocabulary.

#ifndef REENACT_LOCAL_ENGINE_CUDA_CLASS_SUM_CUH_
#define REENACT_LOCAL_ENGINE_CUDA_CLASS_SUM_CUH_

#include "local_engine/cuda/device_operations.cuh"

namespace reenact::local_engine {

inline constexpr int kClassCount = 256;  // Threads of a block that sums.

// Aligned for what lies after it in shared memory and is read 16 bytes at a time.
struct alignas(16) ClassSums {
  float of_class[kClassCount];
  float total;
};

// The halving tree 128 ... 1 over acc of threads 0 ... live - 1, in every thread of a block of 256.
// Classes from `live` on are empty: they are skipped, not added as zeros. All of the block calls
// it; `sums` is free again after the block's next barrier.
__device__ __forceinline__ float SumOfClasses(float acc, int live, ClassSums* sums) {
  const int thread = static_cast<int>(threadIdx.x);
  sums->of_class[thread] = acc;
  if (!Planted(DeviceFault::kBarrierMissing)) __syncthreads();
  if (thread < kWarpLanes) {
    float v[kClassCount / kWarpLanes];
#pragma unroll
    for (int i = 0; i < kClassCount / kWarpLanes; ++i) {
      v[i] = sums->of_class[thread + i * kWarpLanes];
    }
    // Offsets 128, 64 and 32 join values of one thread, the smaller ones those of a warp.
#pragma unroll
    for (int half = kClassCount / kWarpLanes / 2; half >= 1; half /= 2) {
#pragma unroll
      for (int i = 0; i < half; ++i) {
        if (thread + (i + half) * kWarpLanes < live) v[i] = add_rn(v[i], v[i + half]);
      }
    }
#pragma unroll
    for (int off = kWarpLanes / 2; off >= 1; off /= 2) {
      const float other = OfLaneXor(v[0], off);
      if (thread + off < live) v[0] = add_rn(v[0], other);
    }
    if (thread == 0) sums->total = v[0];
  }
  if (Planted(DeviceFault::kBarrierOfHalf) && thread >= kClassCount / 2) return acc;
  __syncthreads();
  return sums->total;
}

}  // namespace reenact::local_engine

#endif  // REENACT_LOCAL_ENGINE_CUDA_CLASS_SUM_CUH_
