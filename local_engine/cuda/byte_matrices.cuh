// Products of small matrices of signed bytes by a warp, with exact sums of 32 bits, and copies into
// shared memory that go on while a block computes.

#ifndef REENACT_LOCAL_ENGINE_CUDA_BYTE_MATRICES_CUH_
#define REENACT_LOCAL_ENGINE_CUDA_BYTE_MATRICES_CUH_

#include "local_engine/cuda/device_operations.cuh"

namespace reenact::local_engine {

// Of one product: 16 rows by 8 outputs, over 32 k. Lane 4 g + t has of the rows g and g + 8, and of
// output g, the same eight k; its sums are those of rows g (0, 1) and g + 8 (2, 3) with the outputs
// 2 t and 2 t + 1.
inline constexpr int kByteRows = 16;
inline constexpr int kByteOutputs = 8;
inline constexpr int kByteSums = 4;

// Rows: four k of row g, of row g + 8, the other four of row g, of row g + 8. Outputs: four k, the
// other four. Every lane of the warp takes part.
__device__ __forceinline__ void AddByteProducts(const uint32_t (&rows)[4],
                                                const uint32_t (&outputs)[2],
                                                int32_t (&sums)[kByteSums]) {
#if defined(__CUDA_ARCH__)
  asm("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
      "{%8, %9}, {%0, %1, %2, %3};"
      : "+r"(sums[0]), "+r"(sums[1]), "+r"(sums[2]), "+r"(sums[3])
      : "r"(rows[0]), "r"(rows[1]), "r"(rows[2]), "r"(rows[3]), "r"(outputs[0]), "r"(outputs[1]));
#else
  const int lane = static_cast<int>(threadIdx.x) % kWarpLanes;
  for (int part = 0; part < 4; ++part) {
    uint32_t of_rows[4];
    for (int r = 0; r < 4; ++r) of_rows[r] = OfLane(rows[r], lane / 4 * 4 + part);
    for (int n = 0; n < 2; ++n) {
      const int giver = 4 * (lane % 4 * 2 + n) + part;
      const uint32_t low = OfLane(outputs[0], giver);
      const uint32_t high = OfLane(outputs[1], giver);
      sums[n] = DotOfBytes(of_rows[2], high, DotOfBytes(of_rows[0], low, sums[n]));
      sums[2 + n] = DotOfBytes(of_rows[3], high, DotOfBytes(of_rows[1], low, sums[2 + n]));
    }
  }
#endif
}

// Copies 16 bytes into shared memory, or zeros where there is nothing to copy; `from` is a valid
// address in any case. It is done when the thread has waited, and others see it after a barrier.
__device__ __forceinline__ void BeginCopy(const uint4* from, bool there, uint4* to) {
#if defined(__CUDA_ARCH__)
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(
                   static_cast<uint32_t>(__cvta_generic_to_shared(to))),
               "l"(from), "r"(there ? 16 : 0)
               : "memory");
#else
  *to = there ? *from : make_uint4(0, 0, 0, 0);
#endif
}

// Ends a group of copies: those since the last one.
__device__ __forceinline__ void CommitCopies() {
#if defined(__CUDA_ARCH__)
  asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}

// Waits for the thread's copies but for those of the last `kPending` groups.
template <int kPending>
__device__ __forceinline__ void WaitForCopies() {
#if defined(__CUDA_ARCH__)
  asm volatile("cp.async.wait_group %0;" ::"n"(kPending) : "memory");
#endif
}

}  // namespace reenact::local_engine

#endif  // REENACT_LOCAL_ENGINE_CUDA_BYTE_MATRICES_CUH_
