// What the tests of kernels share: weights of every type, devices, and the comparison of bits.

#ifndef REENACT_TESTS_LOCAL_ENGINE_CPU_KERNEL_TESTING_H_
#define REENACT_TESTS_LOCAL_ENGINE_CPU_KERNEL_TESTING_H_

#include <cstddef>
#include <cstdint>
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
#include "local_engine/numerics/q8_block.h"
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
    if (type == DataType::kQ8_0 || type == DataType::kI8) {
      SeededBits random(outputs * 1000 + dim);
      for (size_t i = 0; i < outputs * dim; ++i) {
        if (type == DataType::kQ8_0 && i % kQ8GroupSize == 0) {
          AppendBytes(static_cast<uint16_t>(random.Next() % 0x3800u));  // Subnormal to 0.5.
        }
        // The extreme ones often: sums as large as they get.
        const uint32_t bits = random.Next();
        const int value = static_cast<int>(bits >> 8 & 0xffu) - 128;
        AppendBytes(static_cast<int8_t>(bits % 4 != 0 ? value : (bits & 8 ? -128 : 127)));
      }
    } else {
      for (float value : AdversarialFloats(kind, outputs * dim, outputs)) Append(type, value);
    }
    if (type == DataType::kI8) {
      projection.row_scales = AdversarialFloats(InputKind::kUnit, outputs, dim);
    }
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
  template <typename T>
  void AppendBytes(T value) {
    const auto* from = reinterpret_cast<const std::byte*>(&value);
    bytes.insert(bytes.end(), from, from + sizeof(value));
  }

  void Append(DataType type, float value) {
    if (type == DataType::kF32) return AppendBytes(value);
    AppendBytes(type == DataType::kF16 ? narrow_to_fp16(InBinary16(value)) : narrow_to_bf16(value));
  }

  static float InBinary16(float value) {
    return abs_bits(value) < 60000.0f ? value : (value < 0 ? -60000.0f : 60000.0f);
  }
};

}  // namespace reenact::local_engine

#endif  // REENACT_TESTS_LOCAL_ENGINE_CPU_KERNEL_TESTING_H_
