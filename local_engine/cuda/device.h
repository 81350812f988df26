// A device as a place to compute: an ordered queue of copies and kernels, each of which begins when
// the one before it has ended, and the scratch memory that operations share.

#ifndef REENACT_LOCAL_ENGINE_CUDA_DEVICE_H_
#define REENACT_LOCAL_ENGINE_CUDA_DEVICE_H_

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "local_engine/cuda/device_memory.h"

namespace reenact::local_engine {

// How a kernel is spread out. The grid follows the amount of work; a block's size is the kernel's
// own and never follows the device.
struct LaunchShape {
  dim3 blocks;
  unsigned threads = 0;  // In a block.
  size_t shared_bytes = 0;
};

enum class ScratchUse {
  kRows,    // Activations in the form that a product reads, and slices of weights on their way.
  kUp,      // The other factor of a gate.
  kSplits,  // Of attention, before they are combined; chunks of a vocabulary.
  kCount
};

// What is queued reports no error: the first one is kept, what follows is left out, and Wait gives
// it to the caller.
// Threads: one at a time.
class CudaDevice {
 public:
  // On the current device of the calling thread. `stream` outlives it.
  explicit CudaDevice(cudaStream_t stream) : stream_(stream) {}

  // A launch without blocks is none.
  template <typename... Parameters>
  void Launch(const LaunchShape& shape, void (*kernel)(Parameters...),
              std::type_identity_t<Parameters>... arguments) {
    if (error_ != cudaSuccess || shape.blocks.x == 0 || shape.blocks.y == 0 || shape.blocks.z == 0)
      return;
    if (shape.shared_bytes > kSharedBytesUnasked) {
      Keep(cudaFuncSetAttribute(reinterpret_cast<const void*>(kernel),
                                cudaFuncAttributeMaxDynamicSharedMemorySize,
                                static_cast<int>(shape.shared_bytes)));
      if (error_ != cudaSuccess) return;
    }
    cudaLaunchConfig_t config = {};
    config.gridDim = shape.blocks;
    config.blockDim = dim3(shape.threads);
    config.dynamicSmemBytes = shape.shared_bytes;
    config.stream = stream_;
    Keep(cudaLaunchKernelEx(&config, kernel, arguments...));
    ++launch_count_;
  }

  // Between host and device memory, or within the device's. Pageable host memory may be changed
  // again when this returns.
  void Copy(void* to, const void* from, size_t size_bytes) {
    if (error_ != cudaSuccess || size_bytes == 0) return;
    Keep(cudaMemcpyAsync(to, from, size_bytes, cudaMemcpyDefault, stream_));
  }

  // Fills device memory with one byte.
  void Fill(void* to, int byte, size_t size_bytes) {
    if (error_ != cudaSuccess || size_bytes == 0) return;
    Keep(cudaMemsetAsync(to, byte, size_bytes, stream_));
  }

  // Makes `memory` at least that large, or keeps the error. What is queued may go on using it.
  bool Reserve(size_t size_bytes, DeviceMemory* memory) {
    if (error_ == cudaSuccess) Keep(memory->AtLeast(size_bytes));
    return error_ == cudaSuccess;
  }

  // For what an operation leaves to its own next kernel: valid until somebody asks for the same use
  // again. Null after an error, when no kernel will be launched.
  std::byte* Scratch(ScratchUse use, size_t size_bytes) {
    DeviceMemory& memory = scratch_[static_cast<size_t>(use)];
    return Reserve(size_bytes, &memory) ? memory.As<std::byte>() : nullptr;
  }

  // Waits for everything queued. The first error since the last call.
  cudaError_t Wait() {
    const cudaError_t ended = cudaStreamSynchronize(stream_);
    const cudaError_t first = error_ != cudaSuccess ? error_ : ended;
    error_ = cudaSuccess;
    return first;
  }

  // Kernels since the beginning.
  int64_t launch_count() const { return launch_count_; }

 private:
  static constexpr size_t kSharedBytesUnasked = size_t{48} << 10;

  void Keep(cudaError_t error) {
    if (error_ == cudaSuccess) error_ = error;
  }

  cudaStream_t stream_;
  cudaError_t error_ = cudaSuccess;
  int64_t launch_count_ = 0;
  DeviceMemory scratch_[static_cast<size_t>(ScratchUse::kCount)];
};

}  // namespace reenact::local_engine

#endif  // REENACT_LOCAL_ENGINE_CUDA_DEVICE_H_
