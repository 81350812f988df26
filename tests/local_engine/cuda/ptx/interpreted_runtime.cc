// The part of NVIDIA's runtime interface that this project's host code calls, over an
// InterpretedDevice. What kernel checks ask of the emulator (a schedule, the report) is here too:
// they link with either.

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "tests/local_engine/cuda/emulation/execution.h"
#include "tests/local_engine/cuda/ptx/interpreted_device.h"

using reenact::ptx::Dim;
using reenact::ptx::InterpretedDevice;

namespace {

InterpretedDevice& Device() {
  return InterpretedDevice::TheOnlyOne();
}

cudaError_t LaunchOn(const void* kernel, dim3 grid, dim3 block, void** arguments,
                     size_t shared_bytes) {
  const bool ran = Device().Launch(kernel,
                                   {.grid = Dim{grid.x, grid.y, grid.z},
                                    .block = Dim{block.x, block.y, block.z},
                                    .dynamic_shared_bytes = shared_bytes},
                                   arguments);
  return ran ? cudaSuccess : cudaErrorLaunchFailure;
}

struct Configuration {
  dim3 grid;
  dim3 block;
  size_t shared_bytes = 0;
} pushed;

}  // namespace

namespace reenact::cuda_emulation {

void SetSchedule(uint64_t seed) {
  Device().SetSchedule(seed);
}

std::span<const uint64_t> SchedulesToTry() {
  static constexpr uint64_t kShuffled[] = {20261130};
  return kShuffled;
}

std::string TakeReport() {
  return Device().TakeReport();
}

const Counters& CountersSoFar() {
  static Counters counters;
  counters.grids = Device().launch_count();
  return counters;
}

}  // namespace reenact::cuda_emulation

extern "C" {

// What the code that nvcc puts into an object calls when the program starts, and for <<<...>>>.

void** __cudaRegisterFatBinary(void* binary) {
  return static_cast<void**>(binary);
}

void __cudaRegisterFatBinaryEnd(void**) {}

void __cudaUnregisterFatBinary(void**) {}

char __cudaInitModule(void**) {
  return 1;
}

void __cudaRegisterFunction(void**, const char* host_function, char*, const char* device_name, int,
                            uint3*, uint3*, dim3*, dim3*, int*) {
  Device().Register(host_function, device_name);
}

void __cudaRegisterVar(void**, char*, char*, const char*, int, size_t, int, int) {}

unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared_bytes, void*) {
  pushed = {grid, block, shared_bytes};
  return 0;
}

cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, size_t* shared_bytes,
                                       void* stream) {
  *grid = pushed.grid;
  *block = pushed.block;
  *shared_bytes = pushed.shared_bytes;
  *static_cast<cudaStream_t*>(stream) = nullptr;
  return cudaSuccess;
}

cudaError_t __cudaGetKernel(cudaKernel_t* kernel, const void* host_function) {
  *kernel = reinterpret_cast<cudaKernel_t>(const_cast<void*>(host_function));
  return cudaSuccess;
}

cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void** arguments,
                               size_t shared_bytes, cudaStream_t) {
  return LaunchOn(kernel, grid, block, arguments, shared_bytes);
}

cudaError_t CUDARTAPI cudaLaunchKernel(const void* kernel, dim3 grid, dim3 block, void** arguments,
                                       size_t shared_bytes, cudaStream_t) {
  return LaunchOn(kernel, grid, block, arguments, shared_bytes);
}

cudaError_t CUDARTAPI cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void* kernel,
                                          void** arguments) {
  return LaunchOn(kernel, config->gridDim, config->blockDim, arguments, config->dynamicSmemBytes);
}

cudaError_t CUDARTAPI cudaMalloc(void** memory, size_t size_bytes) {
  *memory = size_bytes == 0 ? nullptr : Device().Allocate(size_bytes);
  return cudaSuccess;
}

cudaError_t CUDARTAPI cudaFree(void* memory) {
  return memory == nullptr || Device().Free(memory) ? cudaSuccess : cudaErrorInvalidValue;
}

cudaError_t CUDARTAPI cudaMemcpyAsync(void* to, const void* from, size_t size_bytes, cudaMemcpyKind,
                                      cudaStream_t) {
  return Device().Copy(to, from, size_bytes) ? cudaSuccess : cudaErrorInvalidValue;
}

cudaError_t CUDARTAPI cudaMemsetAsync(void* to, int byte, size_t size_bytes, cudaStream_t) {
  return Device().Fill(to, byte, size_bytes) ? cudaSuccess : cudaErrorInvalidValue;
}

cudaError_t CUDARTAPI cudaStreamCreate(cudaStream_t* stream) {
  *stream = nullptr;
  return cudaSuccess;
}

cudaError_t CUDARTAPI cudaStreamDestroy(cudaStream_t) {
  return cudaSuccess;
}

cudaError_t CUDARTAPI cudaStreamSynchronize(cudaStream_t) {
  return cudaSuccess;
}

cudaError_t CUDARTAPI cudaFuncSetAttribute(const void* kernel, cudaFuncAttribute attribute,
                                           int value) {
  if (attribute == cudaFuncAttributeMaxDynamicSharedMemorySize) {
    Device().AllowSharedBytes(kernel, static_cast<size_t>(value));
  }
  return cudaSuccess;
}

cudaError_t CUDARTAPI cudaMemGetInfo(size_t* free_bytes, size_t* total_bytes) {
  *total_bytes = size_t{8} << 30;
  *free_bytes = *total_bytes - Device().bytes_in_use();
  return cudaSuccess;
}

const char* CUDARTAPI cudaGetErrorString(cudaError_t error) {
  return error == cudaSuccess ? "no error" : "an error of the interpreted device";
}

}  // extern "C"
