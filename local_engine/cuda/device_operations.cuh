// What kernels are made of beside numerics/operations.h: shared memory, exchanges within a warp,
// products of bytes. A kernel uses nothing else of CUDA but its indices and barriers, so that its
// text compiles for a device, with nvcc, and for the emulator of tests/local_engine/cuda.
//
// Everything here is exact or moves bits; whatever rounds is in numerics/.

#ifndef REENACT_LOCAL_ENGINE_CUDA_DEVICE_OPERATIONS_CUH_
#define REENACT_LOCAL_ENGINE_CUDA_DEVICE_OPERATIONS_CUH_

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

#include "local_engine/cuda/finite_check.h"
#include "local_engine/cuda/planted_device_fault.h"
#include "local_engine/numerics/narrow_floats.h"
#include "local_engine/numerics/operations.h"

namespace reenact::local_engine {

inline constexpr int kWarpLanes = 32;
inline constexpr uint32_t kWholeWarp = 0xffffffffu;

#if defined(__CUDACC__)
extern __shared__ uint4 block_shared_memory[];

// The block's shared memory, of the size that the launch gave, uninitialised.
template <typename T>
__device__ __forceinline__ T* SharedMemory() {
  return reinterpret_cast<T*>(block_shared_memory);
}
#else
template <typename T>
T* SharedMemory() {
  return static_cast<T*>(cuda_emulation::SharedMemoryOf(sizeof(T)));
}
#endif

// Every lane of the warp takes part in each of these.

template <typename T>
__device__ __forceinline__ T OfLaneXor(T value, int lane_mask) {
  return __shfl_xor_sync(kWholeWarp, value, lane_mask);
}

template <typename T>
__device__ __forceinline__ T OfLane(T value, int lane) {
  return __shfl_sync(kWholeWarp, value, lane);
}

// The halving tree 16 ... 1 over the lanes, in lane 0; the other lanes get something else.
__device__ __forceinline__ float WarpTree(float value) {
#pragma unroll
  for (int off = kWarpLanes / 2; off >= 1; off /= 2) value = add_rn(value, OfLaneXor(value, off));
  return value;
}

// The largest of all lanes, in every lane. Equal values keep no order: a maximum has none.
__device__ __forceinline__ float WarpMaximum(float value) {
#pragma unroll
  for (int off = kWarpLanes / 2; off >= 1; off /= 2) {
    value = max_select(OfLaneXor(value, off), value);
  }
  return value;
}

__device__ __forceinline__ int32_t WarpSum(int32_t value) {
#pragma unroll
  for (int off = kWarpLanes / 2; off >= 1; off /= 2) value += OfLaneXor(value, off);
  return value;
}

// sum + the products of four pairs of signed bytes: exact.
__device__ __forceinline__ int32_t DotOfBytes(uint32_t a, uint32_t b, int32_t sum) {
  return __dp4a(static_cast<int32_t>(a), static_cast<int32_t>(b), sum);
}

// As widen_fp16, in one instruction: exact, subnormals too.
__device__ __forceinline__ float WidenF16(uint16_t half) {
#if defined(__CUDA_ARCH__)
  float value;
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(half));
  return value;
#else
  return widen_fp16(half);
#endif
}

// A read of what no kernel writes while this one runs.
template <typename T>
__device__ __forceinline__ T LoadConstant(const T* from) {
  return __ldg(from);
}

__device__ __forceinline__ void NoteIfNotFinite(const FiniteCheck& check, int row, float value) {
  if (check.first_fault != nullptr && !is_finite(value)) {
    atomicMin(check.first_fault + row, check.code);
  }
}

}  // namespace reenact::local_engine

#endif  // REENACT_LOCAL_ENGINE_CUDA_DEVICE_OPERATIONS_CUH_
