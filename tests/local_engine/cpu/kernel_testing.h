// What the tests of kernels share: weights of every type, devices, and the comparison of bits.

#ifndef REENACT_TESTS_LOCAL_ENGINE_CPU_KERNEL_TESTING_H_
#define REENACT_TESTS_LOCAL_ENGINE_CPU_KERNEL_TESTING_H_

#include <cstddef>
#include <cstring>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

#include "local_engine/cpu/device.h"
#include "local_engine/cpu/isa.h"
#include "local_engine/model/model_weights.h"
#include "local_engine/numerics/narrow_floats.h"
#include "local_engine/numerics/operations.h"
#include "local_engine/weights/tensor.h"
#include "tests/local_engine/reference/adversarial_floats.h"

namespace reenact::local_engine {

inline std::unique_ptr<CpuDevice> DeviceFor(Isa isa, int threads) {
  auto device = CpuDevice::Create({.isa = IsaName(isa), .thread_count = threads});
  EXPECT_TRUE(device.ok()) << device.status();
  return *std::move(device);
}

// How many values differ as uint32; all of them when the counts differ.
inline size_t DifferentBits(std::span<const float> a, std::span<const float> b) {
  if (a.size() != b.size()) return a.size() + b.size();
  size_t different = 0;
  for (size_t i = 0; i < a.size(); ++i) different += float_bits(a[i]) != float_bits(b[i]);
  return different;
}

// A projection and the tensor that it points to.
struct StoredWeights {
  StoredWeights(DataType type, size_t outputs, size_t dim, InputKind kind) {
    const std::vector<float> values = AdversarialFloats(kind, outputs * dim, outputs);
    for (float value : values) Append(type, value);
    tensor = {.name = "w", .type = type, .shape = {outputs, dim}};
    tensor.data = bytes.data();
    tensor.size_bytes = bytes.size();
    projection.weight = &tensor;
  }

  StoredWeights(const StoredWeights&) = delete;
  StoredWeights& operator=(const StoredWeights&) = delete;

  Tensor tensor;
  Projection projection;
  std::vector<std::byte> bytes;

 private:
  void Append(DataType type, float value) {
    const uint16_t narrow =
        type == DataType::kF16 ? narrow_to_fp16(Clamped(value)) : narrow_to_bf16(value);
    const void* from = type == DataType::kF32 ? static_cast<const void*>(&value) : &narrow;
    const size_t size = type == DataType::kF32 ? sizeof(value) : sizeof(narrow);
    bytes.resize(bytes.size() + size);
    std::memcpy(bytes.data() + bytes.size() - size, from, size);
  }

  // Into the range of binary16.
  static float Clamped(float value) {
    return abs_bits(value) < 60000.0f ? value : (value < 0 ? -60000.0f : 60000.0f);
  }
};

}  // namespace reenact::local_engine

#endif  // REENACT_TESTS_LOCAL_ENGINE_CPU_KERNEL_TESTING_H_
