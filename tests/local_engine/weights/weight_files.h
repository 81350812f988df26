// Writes small weights files, right and wrong ones, for tests.

#ifndef REENACT_TESTS_LOCAL_ENGINE_WEIGHTS_WEIGHT_FILES_H_
#define REENACT_TESTS_LOCAL_ENGINE_WEIGHTS_WEIGHT_FILES_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <new>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "local_engine/numerics/narrow_floats.h"
#include "local_engine/weights/gguf.h"
#include "local_engine/weights/tensor.h"

namespace reenact::local_engine {

struct StoredTensor {
  std::string name;
  DataType type = DataType::kF32;
  std::vector<uint64_t> shape;
  std::string data;
};

template <typename T>
std::string BytesOf(const std::vector<T>& values) {
  return std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
}

// The values in the type's own form; F32, F16 and BF16.
inline StoredTensor Store(std::string name, DataType type, std::vector<uint64_t> shape,
                          const std::vector<float>& values) {
  StoredTensor tensor{std::move(name), type, std::move(shape), ""};
  for (float value : values) {
    const uint16_t half = type == DataType::kF16 ? narrow_to_fp16(value) : narrow_to_bf16(value);
    if (type == DataType::kF32) {
      tensor.data.append(reinterpret_cast<const char*>(&value), sizeof(value));
    } else {
      tensor.data.append(reinterpret_cast<const char*>(&half), sizeof(half));
    }
  }
  return tensor;
}

// `header` is written as it is, padded with spaces to a multiple of 8.
inline std::string SafetensorsWithHeader(std::string header, const std::string& data) {
  header.append((8 - header.size() % 8) % 8, ' ');
  const uint64_t length = header.size();
  return std::string(reinterpret_cast<const char*>(&length), 8) + header + data;
}

inline std::string SafetensorsBytes(const std::vector<StoredTensor>& tensors) {
  std::string header = R"({"__metadata__":{"format":"pt"})";
  std::string data;
  for (const StoredTensor& tensor : tensors) {
    header += ",\"" + tensor.name + "\":{\"dtype\":\"" + DataTypeName(tensor.type) +
              "\",\"shape\":" + ShapeText(tensor.shape) + ",\"data_offsets\":[" +
              std::to_string(data.size()) + "," + std::to_string(data.size() + tensor.data.size()) +
              "]}";
    data += tensor.data;
  }
  return SafetensorsWithHeader(header + "}", data);
}

class GgufWriter {
 public:
  template <typename T>
  GgufWriter& Number(T value) {
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof(value));
    return *this;
  }

  GgufWriter& Text(const std::string& text) {
    Number(uint64_t{text.size()});
    bytes_ += text;
    return *this;
  }

  GgufWriter& Raw(const std::string& bytes) {
    bytes_ += bytes;
    return *this;
  }

  GgufWriter& PadTo(size_t alignment) {
    bytes_.append((alignment - bytes_.size() % alignment) % alignment, '\0');
    return *this;
  }

  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

inline uint32_t GgufNumberOf(DataType type) {
  switch (type) {
    case DataType::kF32:
      return 0;
    case DataType::kF16:
      return 1;
    case DataType::kQ8_0:
      return 8;
    case DataType::kI8:
      return 24;
    case DataType::kBF16:
      return 30;
  }
  return 99;
}

// Unsigned integers as u32, floats as f32, texts; that is what model metadata is made of.
inline void AppendGgufValue(const GgufValue& value, GgufWriter* writer) {
  if (const auto* number = std::get_if<uint64_t>(&value)) {
    writer->Number(uint32_t{4}).Number(static_cast<uint32_t>(*number));
  } else if (const auto* real = std::get_if<double>(&value)) {
    writer->Number(uint32_t{6}).Number(static_cast<float>(*real));
  } else if (const auto* text = std::get_if<std::string>(&value)) {
    writer->Number(uint32_t{8}).Text(*text);
  } else if (const auto* texts = std::get_if<std::vector<std::string>>(&value)) {
    writer->Number(uint32_t{9}).Number(uint32_t{8}).Number(uint64_t{texts->size()});
    for (const std::string& entry : *texts) writer->Text(entry);
  }
}

inline std::string GgufBytes(const std::vector<std::pair<std::string, GgufValue>>& metadata,
                             const std::vector<StoredTensor>& tensors) {
  GgufWriter writer;
  writer.Raw("GGUF").Number(uint32_t{3});
  writer.Number(uint64_t{tensors.size()}).Number(uint64_t{metadata.size()});
  for (const auto& [key, value] : metadata) AppendGgufValue(value, &writer.Text(key));
  uint64_t offset = 0;
  for (const StoredTensor& tensor : tensors) {
    writer.Text(tensor.name).Number(static_cast<uint32_t>(tensor.shape.size()));
    for (size_t i = tensor.shape.size(); i > 0; --i) writer.Number(tensor.shape[i - 1]);
    writer.Number(GgufNumberOf(tensor.type)).Number(offset);
    offset += (tensor.data.size() + 31) / 32 * 32;
  }
  writer.PadTo(32);
  for (const StoredTensor& tensor : tensors) writer.Raw(tensor.data).PadTo(32);
  return writer.bytes();
}

// A copy at an address that 64 divides, of exactly its size, so that the address sanitizer sees a
// read beyond it.
class AlignedCopy {
 public:
  explicit AlignedCopy(const std::string& bytes)
      : size_(bytes.size()),
        data_(static_cast<std::byte*>(operator new (bytes.size(), std::align_val_t{64}))) {
    std::memcpy(data_, bytes.data(), size_);
  }

  AlignedCopy(const AlignedCopy&) = delete;
  AlignedCopy& operator=(const AlignedCopy&) = delete;

  ~AlignedCopy() { operator delete (data_, std::align_val_t{64}); }

  std::span<const std::byte> bytes() const { return {data_, size_}; }

 private:
  size_t size_;
  std::byte* data_;
};

inline void WriteBytes(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

// Empty where there is no such file.
inline std::string ReadBytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace reenact::local_engine

#endif  // REENACT_TESTS_LOCAL_ENGINE_WEIGHTS_WEIGHT_FILES_H_
