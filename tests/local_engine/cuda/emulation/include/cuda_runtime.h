// Stands in for CUDA's header of this name, so that the text of a kernel compiles as C++ and runs
// on the processor: each thread of a block is a fiber, and barriers and exchanges within a warp are
// where fibers change places (execution.h). Only what the kernels and their callers use is here; a
// kernel that uses more does not compile.

#ifndef REENACT_TESTS_LOCAL_ENGINE_CUDA_EMULATION_INCLUDE_CUDA_RUNTIME_H_
#define REENACT_TESTS_LOCAL_ENGINE_CUDA_EMULATION_INCLUDE_CUDA_RUNTIME_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <tuple>
#include <type_traits>

#include "tests/local_engine/cuda/emulation/execution.h"

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(...)
#define __grid_constant__

struct dim3 {
  unsigned x, y, z;

  constexpr dim3(unsigned x_count = 1, unsigned y_count = 1, unsigned z_count = 1)
      : x(x_count), y(y_count), z(z_count) {}
};

struct alignas(8) uint2 {
  unsigned x, y;
};

struct alignas(16) uint4 {
  unsigned x, y, z, w;
};

struct alignas(8) float2 {
  float x, y;
};

struct alignas(16) float4 {
  float x, y, z, w;
};

inline uint2 make_uint2(unsigned x, unsigned y) {
  return {x, y};
}

inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) {
  return {x, y, z, w};
}

inline float2 make_float2(float x, float y) {
  return {x, y};
}

inline float4 make_float4(float x, float y, float z, float w) {
  return {x, y, z, w};
}

#define threadIdx (reenact::cuda_emulation::current_thread->index)
inline const reenact::cuda_emulation::Index3& blockIdx =
    reenact::cuda_emulation::current_block_index;
inline const reenact::cuda_emulation::Index3& blockDim =
    reenact::cuda_emulation::current_block_shape;
inline const reenact::cuda_emulation::Index3& gridDim = reenact::cuda_emulation::current_grid_shape;

inline void __syncthreads() {
  reenact::cuda_emulation::BlockBarrier();
}

inline void __syncwarp(unsigned lanes = 0xffffffffu) {
  reenact::cuda_emulation::WarpBarrier(lanes);
}

template <typename T>
T __shfl_sync(unsigned lanes, T value, int lane) {
  return reenact::cuda_emulation::Exchange(lanes, value, reenact::cuda_emulation::WarpStep::kOfLane,
                                           lane & 31);
}

template <typename T>
T __shfl_xor_sync(unsigned lanes, T value, int lane_mask) {
  return reenact::cuda_emulation::Exchange(
      lanes, value, reenact::cuda_emulation::WarpStep::kOfLaneXor,
      static_cast<int>(reenact::cuda_emulation::current_thread->lane) ^ (lane_mask & 31));
}

template <typename T>
T __ldg(const T* from) {
  return *from;
}

inline int min(int a, int b) {
  return a < b ? a : b;
}

inline int max(int a, int b) {
  return a > b ? a : b;
}

inline int __dp4a(int a, int b, int sum) {
  for (int i = 0; i < 4; ++i) {
    sum += static_cast<int8_t>(a >> (8 * i)) * static_cast<int8_t>(b >> (8 * i));
  }
  return sum;
}

// The order of integers' additions is free. There is no other overload: that of floats is not.
inline int atomicMin(int* at, int value) {
  return reenact::cuda_emulation::AtomicMin(at, value);
}

// The part of the runtime's interface that host code uses.

enum cudaError_t {
  cudaSuccess = 0,
  cudaErrorInvalidValue = 1,
  cudaErrorMemoryAllocation = 2,
  cudaErrorLaunchFailure = 719,
};

enum cudaMemcpyKind { cudaMemcpyDefault = 4 };

enum cudaFuncAttribute { cudaFuncAttributeMaxDynamicSharedMemorySize = 8 };

using cudaStream_t = struct CUstream_st*;

struct cudaLaunchAttribute;

struct cudaLaunchConfig_t {
  dim3 gridDim;
  dim3 blockDim;
  size_t dynamicSmemBytes;
  cudaStream_t stream;
  cudaLaunchAttribute* attrs;
  unsigned numAttrs;
};

cudaError_t cudaMalloc(void** memory, size_t size_bytes);
cudaError_t cudaFree(void* memory);
cudaError_t cudaMemGetInfo(size_t* free_bytes, size_t* total_bytes);
cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t size_bytes, cudaMemcpyKind kind,
                            cudaStream_t stream);
cudaError_t cudaMemsetAsync(void* to, int byte, size_t size_bytes, cudaStream_t stream);
cudaError_t cudaStreamCreate(cudaStream_t* stream);
cudaError_t cudaStreamDestroy(cudaStream_t stream);
cudaError_t cudaStreamSynchronize(cudaStream_t stream);
cudaError_t cudaFuncSetAttribute(const void* kernel, cudaFuncAttribute attribute, int value);
const char* cudaGetErrorString(cudaError_t error);

// Arguments are converted to the kernel's parameters once and copied, as by a real launch.
template <typename... Parameters, typename... Arguments>
cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t* config, void (*kernel)(Parameters...),
                               Arguments&&... arguments) {
  struct Call {
    void (*kernel)(Parameters...);
    std::tuple<Parameters...> arguments;
  };

  static_assert(std::is_trivially_destructible_v<std::tuple<Parameters...>>);
  void* memory = reenact::cuda_emulation::ParameterMemory(sizeof(Call));
  new (memory) Call{kernel, {static_cast<Parameters>(arguments)...}};
  const dim3& grid = config->gridDim;
  const dim3& block = config->blockDim;
  const bool done =
      reenact::cuda_emulation::RunGrid({.grid = {grid.x, grid.y, grid.z},
                                        .block = {block.x, block.y, block.z},
                                        .shared_bytes = config->dynamicSmemBytes,
                                        .kernel = reinterpret_cast<const void*>(kernel),
                                        .call = memory,
                                        .run_thread = [](const void* call) {
                                          const Call& launch = *static_cast<const Call*>(call);
                                          std::apply(launch.kernel, launch.arguments);
                                        }});
  return done ? cudaSuccess : cudaErrorLaunchFailure;
}

#endif  // REENACT_TESTS_LOCAL_ENGINE_CUDA_EMULATION_INCLUDE_CUDA_RUNTIME_H_
