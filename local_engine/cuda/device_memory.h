// Memory of the device, owned.

#ifndef REENACT_LOCAL_ENGINE_CUDA_DEVICE_MEMORY_H_
#define REENACT_LOCAL_ENGINE_CUDA_DEVICE_MEMORY_H_

#include <cuda_runtime.h>

#include <cstddef>
#include <utility>

namespace reenact::local_engine {

class DeviceMemory {
 public:
  DeviceMemory() = default;

  DeviceMemory(DeviceMemory&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)),
        size_bytes_(std::exchange(other.size_bytes_, 0)) {}

  DeviceMemory& operator=(DeviceMemory&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_bytes_, other.size_bytes_);
    return *this;
  }

  ~DeviceMemory() { cudaFree(data_); }

  // At least `size_bytes`; the old contents are lost when it grows. After an error there is none.
  cudaError_t AtLeast(size_t size_bytes) {
    if (size_bytes <= size_bytes_) return cudaSuccess;
    cudaFree(std::exchange(data_, nullptr));  // Waits for kernels that still use it.
    size_bytes_ = 0;
    const cudaError_t error = cudaMalloc(&data_, size_bytes);
    if (error == cudaSuccess) size_bytes_ = size_bytes;
    return error;
  }

  template <typename T>
  T* As() const {
    return static_cast<T*>(data_);
  }

  size_t size_bytes() const { return size_bytes_; }

 private:
  void* data_ = nullptr;
  size_t size_bytes_ = 0;
};

}  // namespace reenact::local_engine

#endif  // REENACT_LOCAL_ENGINE_CUDA_DEVICE_MEMORY_H_
