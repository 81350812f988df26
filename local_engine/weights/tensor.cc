#include "local_engine/weights/tensor.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "local_engine/numerics/narrow_floats.h"
#include "local_engine/numerics/operations.h"
#include "local_engine/numerics/q8_block.h"

namespace reenact::local_engine {
namespace {

constexpr size_t kMaxRank = 4;
constexpr uint64_t kMaxValues = uint64_t{1} << 60;  // Times the widest value it fits 63 bits.

void WidenQ8Row(const std::byte* row, std::span<float> out) {
  for (size_t k = 0; k < out.size(); k += kQ8GroupSize) {
    Q8Block block;
    std::memcpy(&block, row + k / kQ8GroupSize * sizeof(Q8Block), sizeof(block));
    const float scale = widen_fp16(block.scale_fp16);
    for (size_t i = 0; i < kQ8GroupSize; ++i) {
      out[k + i] = mul_rn(scale, static_cast<float>(block.values[i]));
    }
  }
}

template <typename Stored, typename Widen>
void WidenValues(const std::byte* row, std::span<float> out, const Widen& widen) {
  for (size_t k = 0; k < out.size(); ++k) {
    Stored value;
    std::memcpy(&value, row + k * sizeof(Stored), sizeof(value));
    out[k] = widen(value);
  }
}

}  // namespace

const char* DataTypeName(DataType type) {
  switch (type) {
    case DataType::kF32:
      return "F32";
    case DataType::kF16:
      return "F16";
    case DataType::kBF16:
      return "BF16";
    case DataType::kQ8_0:
      return "Q8_0";
    case DataType::kI8:
      return "I8";
  }
  return "";
}

StorageUnit StorageUnitOf(DataType type) {
  switch (type) {
    case DataType::kF32:
      return {1, 4, 4};
    case DataType::kF16:
    case DataType::kBF16:
      return {1, 2, 2};
    case DataType::kQ8_0:
      return {kQ8GroupSize, sizeof(Q8Block), alignof(Q8Block)};
    case DataType::kI8:
      return {1, 1, 1};
  }
  return {};
}

uint64_t Tensor::RowCount() const {
  uint64_t rows = 1;
  for (size_t i = 0; i + 1 < shape.size(); ++i) rows *= shape[i];
  return rows;
}

std::string ShapeText(std::span<const uint64_t> shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i) {
    text += (i > 0 ? ", " : "") + std::to_string(shape[i]);
  }
  return text + "]";
}

absl::StatusOr<uint64_t> TensorSizeBytes(DataType type, std::span<const uint64_t> shape) {
  const std::string text = "shape " + ShapeText(shape);
  if (shape.size() > kMaxRank) return absl::InvalidArgumentError(text + " has over 4 dimensions");
  uint64_t values = 1;
  for (uint64_t dimension : shape) {
    if (dimension == 0) return absl::InvalidArgumentError(text + " holds no value");
    if (dimension > kMaxValues / values) {
      return absl::InvalidArgumentError(text + " is too large for a file");
    }
    values *= dimension;
  }
  const StorageUnit unit = StorageUnitOf(type);
  if (unit.values > 1 && (shape.empty() || shape.back() % unit.values != 0)) {
    return absl::InvalidArgumentError(text + ": a row of " + DataTypeName(type) +
                                      " must be a multiple of " + std::to_string(unit.values));
  }
  return values / unit.values * unit.size_bytes;
}

void WidenRow(const Tensor& tensor, uint64_t row, std::span<float> out) {
  const std::byte* data = tensor.data + tensor.size_bytes / tensor.RowCount() * row;
  switch (tensor.type) {
    case DataType::kF32:
      WidenValues<float>(data, out, [](float value) { return value; });
      return;
    case DataType::kF16:
      WidenValues<uint16_t>(data, out, [](uint16_t value) { return widen_fp16(value); });
      return;
    case DataType::kBF16:
      WidenValues<uint16_t>(data, out, [](uint16_t value) { return widen_bf16(value); });
      return;
    case DataType::kQ8_0:
      WidenQ8Row(data, out);
      return;
    case DataType::kI8:
      WidenValues<int8_t>(data, out, [](int8_t value) { return static_cast<float>(value); });
      return;
  }
}

}  // namespace reenact::local_engine
