// A tensor as it lies in a weights file: name, type, shape, and the mapped bytes.

#ifndef REENACT_LOCAL_ENGINE_WEIGHTS_TENSOR_H_
#define REENACT_LOCAL_ENGINE_WEIGHTS_TENSOR_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace reenact::local_engine {

enum class DataType : uint8_t { kF32, kF16, kBF16, kQ8_0, kI8 };

// "F32", "F16", "BF16", "Q8_0", "I8".
const char* DataTypeName(DataType type);

// Integers with scales.
inline bool IsQuantised(DataType type) {
  return type == DataType::kQ8_0 || type == DataType::kI8;
}

// The smallest unit of storage: one value, or a block of 32 under one scale for Q8_0.
struct StorageUnit {
  uint32_t values = 1;
  uint32_t size_bytes = 0;
  uint32_t alignment_bytes = 0;
};

StorageUnit StorageUnitOf(DataType type);

struct Tensor {
  std::string name;
  DataType type = DataType::kF32;
  std::vector<uint64_t> shape;  // Outermost first; the last dimension is contiguous.
  const std::byte* data = nullptr;
  uint64_t size_bytes = 0;

  uint64_t ValuesPerRow() const { return shape.empty() ? 1 : shape.back(); }

  uint64_t RowCount() const;  // The product of all dimensions but the last.
};

// "[512, 64]".
std::string ShapeText(std::span<const uint64_t> shape);

// Bytes that a tensor takes. InvalidArgument, without a name: the product does not fit 2^63, a
// dimension is 0, there are more than 4, or a row is no whole number of storage units.
absl::StatusOr<uint64_t> TensorSizeBytes(DataType type, std::span<const uint64_t> shape);

// The values of one row, widened to binary32: exactly, but for Q8_0, where a value is the rounded
// product of its block's scale and its byte. row < RowCount(), out has ValuesPerRow() values.
void WidenRow(const Tensor& tensor, uint64_t row, std::span<float> out);

}  // namespace reenact::local_engine

#endif  // REENACT_LOCAL_ENGINE_WEIGHTS_TENSOR_H_
