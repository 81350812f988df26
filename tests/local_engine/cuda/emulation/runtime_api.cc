// The runtime's interface of include/cuda_runtime.h. Everything happens at once, in order.

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "tests/local_engine/cuda/emulation/execution.h"
#include "tests/local_engine/cuda/emulation/memory_checks.h"

namespace emulation = reenact::cuda_emulation;

cudaError_t cudaMalloc(void** memory, size_t size_bytes) {
  *memory = size_bytes == 0 ? nullptr : emulation::AllocateDevice(size_bytes);
  return *memory != nullptr || size_bytes == 0 ? cudaSuccess : cudaErrorMemoryAllocation;
}

cudaError_t cudaFree(void* memory) {
  return memory == nullptr || emulation::FreeDevice(memory) ? cudaSuccess : cudaErrorInvalidValue;
}

cudaError_t cudaMemGetInfo(size_t* free_bytes, size_t* total_bytes) {
  const int64_t total = emulation::MostDeviceBytes();
  *total_bytes = static_cast<size_t>(total);
  *free_bytes = static_cast<size_t>(total - emulation::DeviceBytesInUse());
  return cudaSuccess;
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t size_bytes, cudaMemcpyKind,
                            cudaStream_t) {
  if (emulation::IsDeviceMemory(to) && !emulation::HostAccess(to, size_bytes, true)) {
    return cudaErrorInvalidValue;
  }
  if (emulation::IsDeviceMemory(from) && !emulation::HostAccess(from, size_bytes, false)) {
    return cudaErrorInvalidValue;
  }
  std::memcpy(to, from, size_bytes);
  return cudaSuccess;
}

cudaError_t cudaMemsetAsync(void* to, int byte, size_t size_bytes, cudaStream_t) {
  if (!emulation::HostAccess(to, size_bytes, true)) return cudaErrorInvalidValue;
  std::memset(to, byte, size_bytes);
  return cudaSuccess;
}

cudaError_t cudaStreamCreate(cudaStream_t* stream) {
  *stream = nullptr;  // The default stream.
  return cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t) {
  return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t) {
  return cudaSuccess;
}

cudaError_t cudaFuncSetAttribute(const void* kernel, cudaFuncAttribute, int value) {
  emulation::AllowSharedBytes(kernel, static_cast<size_t>(value));
  return cudaSuccess;
}

const char* cudaGetErrorString(cudaError_t error) {
  switch (error) {
    case cudaSuccess:
      return "no error";
    case cudaErrorInvalidValue:
      return "invalid argument";
    case cudaErrorMemoryAllocation:
      return "out of memory";
    case cudaErrorLaunchFailure:
      return "unspecified launch failure";
  }
  return "unrecognized error code";
}
