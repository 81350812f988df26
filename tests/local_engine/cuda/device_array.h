// Arrays in device memory, for tests that compare what kernels make with the definition.

#ifndef REENACT_TESTS_LOCAL_ENGINE_CUDA_DEVICE_ARRAY_H_
#define REENACT_TESTS_LOCAL_ENGINE_CUDA_DEVICE_ARRAY_H_

#include <cuda_runtime.h>

#include <cstddef>
#include <span>
#include <vector>

#include "gtest/gtest.h"

namespace reenact::local_engine {

template <typename T>
class DeviceArray {
 public:
  explicit DeviceArray(size_t count) : count_(count) {
    EXPECT_EQ(cudaMalloc(reinterpret_cast<void**>(&data_), count * sizeof(T)), cudaSuccess);
  }

  explicit DeviceArray(const std::vector<T>& values) : DeviceArray(values.size()) {
    EXPECT_EQ(cudaMemcpyAsync(data_, values.data(), count_ * sizeof(T), cudaMemcpyDefault, nullptr),
              cudaSuccess);
  }

  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;

  ~DeviceArray() { EXPECT_EQ(cudaFree(data_), cudaSuccess); }

  std::span<T> span() { return {data_, count_}; }

  std::span<const T> constant() const { return {data_, count_}; }

  std::vector<T> Read() const {
    std::vector<T> values(count_);
    EXPECT_EQ(cudaMemcpyAsync(values.data(), data_, count_ * sizeof(T), cudaMemcpyDefault, nullptr),
              cudaSuccess);
    EXPECT_EQ(cudaStreamSynchronize(nullptr), cudaSuccess);
    return values;
  }

 private:
  T* data_ = nullptr;
  size_t count_ = 0;
};

}  // namespace reenact::local_engine

#endif  // REENACT_TESTS_LOCAL_ENGINE_CUDA_DEVICE_ARRAY_H_
