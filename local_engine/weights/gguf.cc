#include "local_engine/weights/gguf.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "local_engine/weights/mapped_file.h"
#include "local_engine/weights/tensor.h"
#include "local_engine/weights/tensor_set.h"

namespace reenact::local_engine {
namespace {

constexpr uint64_t kDefaultAlignment = 32;
constexpr uint64_t kLeastTensorEntryBytes = 24;  // Name length, rank, type, offset.
constexpr uint32_t kMaxDimensions = 4;

enum GgufType : uint32_t {
  kUint8,
  kInt8,
  kUint16,
  kInt16,
  kUint32,
  kInt32,
  kFloat32,
  kBool,
  kString,
  kArray,
  kUint64,
  kInt64,
  kFloat64
};

// Takes values off the front of the file. After the first that does not fit, ok() is false and
// every value is zero or empty.
class Cursor {
 public:
  explicit Cursor(std::span<const std::byte> bytes) : bytes_(bytes) {}

  template <typename T>
  T Take() {
    T value{};
    if (const std::byte* from = Advance(sizeof(T))) std::memcpy(&value, from, sizeof(T));
    return value;
  }

  std::string TakeString() {
    const auto length = Take<uint64_t>();
    const std::byte* from = Advance(length);
    return from == nullptr ? "" : std::string(reinterpret_cast<const char*>(from), length);
  }

  bool ok() const { return ok_; }

  uint64_t left() const { return bytes_.size() - at_; }

  uint64_t position() const { return at_; }

 private:
  const std::byte* Advance(uint64_t size_bytes) {
    if (!ok_ || size_bytes > left()) {
      ok_ = false;
      return nullptr;
    }
    const std::byte* from = bytes_.data() + at_;
    at_ += size_bytes;
    return from;
  }

  std::span<const std::byte> bytes_;
  uint64_t at_ = 0;
  bool ok_ = true;
};

// Bytes that one value of the type takes at least; 0 for what is no type.
uint64_t LeastBytes(uint32_t type) {
  static constexpr uint64_t kBytes[] = {1, 1, 2, 2, 4, 4, 4, 1, 8, 12, 8, 8, 8};
  return type < std::size(kBytes) ? kBytes[type] : 0;
}

std::optional<GgufValue> TakeScalar(uint32_t type, Cursor* cursor) {
  switch (type) {
    case kUint8:
      return uint64_t{cursor->Take<uint8_t>()};
    case kInt8:
      return int64_t{cursor->Take<int8_t>()};
    case kUint16:
      return uint64_t{cursor->Take<uint16_t>()};
    case kInt16:
      return int64_t{cursor->Take<int16_t>()};
    case kUint32:
      return uint64_t{cursor->Take<uint32_t>()};
    case kInt32:
      return int64_t{cursor->Take<int32_t>()};
    case kFloat32:
      return double{cursor->Take<float>()};
    case kBool:
      return cursor->Take<uint8_t>() != 0;
    case kString:
      return cursor->TakeString();
    case kUint64:
      return cursor->Take<uint64_t>();
    case kInt64:
      return cursor->Take<int64_t>();
    case kFloat64:
      return cursor->Take<double>();
    default:
      return std::nullopt;
  }
}

template <typename T>
GgufValue TakeArrayOf(uint32_t type, uint64_t count, Cursor* cursor) {
  std::vector<T> values;
  values.reserve(count);
  for (uint64_t i = 0; i < count && cursor->ok(); ++i) {
    values.push_back(std::get<T>(*TakeScalar(type, cursor)));
  }
  return values;
}

absl::StatusOr<GgufValue> TakeArray(Cursor* cursor) {
  const auto type = cursor->Take<uint32_t>();
  const auto count = cursor->Take<uint64_t>();
  if (!cursor->ok()) return absl::InvalidArgumentError("the file ends within it");
  if (LeastBytes(type) == 0) {
    return absl::InvalidArgumentError("unknown type " + std::to_string(type));
  }
  if (type == kArray) return absl::UnimplementedError("an array of arrays is not supported");
  if (count > cursor->left() / LeastBytes(type)) {
    return absl::InvalidArgumentError("claims " + std::to_string(count) + " values; " +
                                      std::to_string(cursor->left()) + " bytes are left");
  }
  switch (type) {
    case kBool:
      return TakeArrayOf<bool>(type, count, cursor);
    case kString:
      return TakeArrayOf<std::string>(type, count, cursor);
    case kFloat32:
    case kFloat64:
      return TakeArrayOf<double>(type, count, cursor);
    case kInt8:
    case kInt16:
    case kInt32:
    case kInt64:
      return TakeArrayOf<int64_t>(type, count, cursor);
    default:
      return TakeArrayOf<uint64_t>(type, count, cursor);
  }
}

absl::StatusOr<GgufValue> TakeValue(Cursor* cursor) {
  const auto type = cursor->Take<uint32_t>();
  if (!cursor->ok()) return absl::InvalidArgumentError("the file ends within it");
  if (type == kArray) return TakeArray(cursor);
  std::optional<GgufValue> value = TakeScalar(type, cursor);
  if (!value) return absl::InvalidArgumentError("unknown type " + std::to_string(type));
  return *std::move(value);
}

std::optional<DataType> TypeOfNumber(uint32_t number) {
  switch (number) {
    case 0:
      return DataType::kF32;
    case 1:
      return DataType::kF16;
    case 8:
      return DataType::kQ8_0;
    case 24:
      return DataType::kI8;
    case 30:
      return DataType::kBF16;
    default:
      return std::nullopt;
  }
}

std::string NameOfNumber(uint32_t number) {
  static constexpr const char* kNames[] = {
      "F32",     "F16",    "Q4_0",    "Q4_1",  "",       "",      "Q5_0",  "Q5_1",
      "Q8_0",    "Q8_1",   "Q2_K",    "Q3_K",  "Q4_K",   "Q5_K",  "Q6_K",  "Q8_K",
      "IQ2_XXS", "IQ2_XS", "IQ3_XXS", "IQ1_S", "IQ4_NL", "IQ3_S", "IQ2_S", "IQ4_XS"};
  const std::string text = std::to_string(number);
  return number < std::size(kNames) && *kNames[number] ? kNames[number] : "number " + text;
}

// A tensor's entry; its bytes are known only once all entries are read.
struct Entry {
  Tensor tensor;
  uint64_t offset = 0;
};

absl::StatusOr<Entry> TakeEntry(Cursor* cursor) {
  Entry entry;
  const auto rank = cursor->Take<uint32_t>();
  if (cursor->ok() && rank > kMaxDimensions) {
    return absl::InvalidArgumentError("has " + std::to_string(rank) + " dimensions");
  }
  for (uint32_t i = 0; i < rank && cursor->ok(); ++i) {
    entry.tensor.shape.push_back(cursor->Take<uint64_t>());
  }
  std::reverse(entry.tensor.shape.begin(), entry.tensor.shape.end());
  const auto type_number = cursor->Take<uint32_t>();
  entry.offset = cursor->Take<uint64_t>();
  if (!cursor->ok()) return absl::InvalidArgumentError("the file ends within its entry");
  const std::optional<DataType> type = TypeOfNumber(type_number);
  if (!type) {
    return absl::UnimplementedError("type " + NameOfNumber(type_number) +
                                    " is not supported (F32, F16, BF16, Q8_0, I8)");
  }
  entry.tensor.type = *type;
  const absl::StatusOr<uint64_t> size_bytes = TensorSizeBytes(*type, entry.tensor.shape);
  if (!size_bytes.ok()) return size_bytes.status();
  entry.tensor.size_bytes = *size_bytes;
  return entry;
}

absl::Status Place(std::span<const std::byte> data, uint64_t alignment, Entry* entry) {
  if (entry->offset % alignment != 0) {
    return absl::InvalidArgumentError("offset " + std::to_string(entry->offset) +
                                      " is no multiple of the alignment " +
                                      std::to_string(alignment));
  }
  if (entry->offset > data.size() || entry->tensor.size_bytes > data.size() - entry->offset) {
    return absl::InvalidArgumentError(std::to_string(entry->tensor.size_bytes) +
                                      " bytes at offset " + std::to_string(entry->offset) +
                                      " lie outside the data section of " +
                                      std::to_string(data.size()));
  }
  entry->tensor.data = data.data() + entry->offset;
  return absl::OkStatus();
}

absl::StatusOr<uint64_t> AlignmentOf(const GgufFile& gguf) {
  const auto found = gguf.metadata.find("general.alignment");
  if (found == gguf.metadata.end()) return kDefaultAlignment;
  const uint64_t* alignment = std::get_if<uint64_t>(&found->second);
  // At least what the widest value needs; a mapping begins at a multiple of 4096.
  if (alignment == nullptr || *alignment < 8 || *alignment > 4096 ||
      (*alignment & (*alignment - 1)) != 0) {
    return absl::InvalidArgumentError("is no power of two from 8 to 4096");
  }
  return *alignment;
}

absl::Status TakeMetadata(const std::string& file, uint64_t count, Cursor* cursor, GgufFile* gguf) {
  for (uint64_t i = 0; i < count; ++i) {
    const std::string key = cursor->TakeString();
    absl::StatusOr<GgufValue> value = TakeValue(cursor);
    if (!value.ok()) return InFile(file, "key \"" + key + "\"", value.status());
    if (!cursor->ok()) {
      return absl::InvalidArgumentError(file + ": ends within the value of key \"" + key + "\"");
    }
    if (!gguf->metadata.try_emplace(key, *std::move(value)).second) {
      return absl::InvalidArgumentError(file + ": key \"" + key + "\" is there twice");
    }
  }
  return absl::OkStatus();
}

absl::Status TakeTensors(const std::string& file, uint64_t count, std::span<const std::byte> bytes,
                         Cursor* cursor, GgufFile* gguf) {
  std::vector<Entry> entries;
  for (uint64_t i = 0; i < count; ++i) {
    const std::string name = cursor->TakeString();
    absl::StatusOr<Entry> entry = TakeEntry(cursor);
    if (!entry.ok()) return InFile(file, "tensor \"" + name + "\"", entry.status());
    entry->tensor.name = name;
    entries.push_back(*std::move(entry));
  }
  const absl::StatusOr<uint64_t> alignment = AlignmentOf(*gguf);
  if (!alignment.ok()) return InFile(file, "key \"general.alignment\"", alignment.status());
  const uint64_t begin = (cursor->position() + *alignment - 1) / *alignment * *alignment;
  const auto data = bytes.subspan(std::min<uint64_t>(begin, bytes.size()));
  std::vector<DataExtent> extents;
  for (Entry& entry : entries) {
    const std::string name = entry.tensor.name;
    absl::Status status = Place(data, *alignment, &entry);
    if (!status.ok()) return InFile(file, "tensor \"" + name + "\"", status);
    extents.push_back({entry.offset, entry.offset + entry.tensor.size_bytes, name});
    status = gguf->tensors.Add(std::move(entry.tensor));
    if (!status.ok())
      return absl::InvalidArgumentError(file + ": " + std::string(status.message()));
  }
  const absl::Status overlap = CheckNoOverlap(&extents);
  if (!overlap.ok())
    return absl::InvalidArgumentError(file + ": " + std::string(overlap.message()));
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<GgufFile> ReadGguf(const std::string& file, std::span<const std::byte> bytes) {
  Cursor cursor(bytes);
  const auto magic = cursor.Take<uint32_t>();
  const auto version = cursor.Take<uint32_t>();
  const auto tensor_count = cursor.Take<uint64_t>();
  const auto key_count = cursor.Take<uint64_t>();
  if (!cursor.ok() || magic != 0x46554747u) {
    return absl::InvalidArgumentError(file + ": is no GGUF file");
  }
  if (version != 2 && version != 3) {
    return absl::UnimplementedError(file + ": GGUF version " + std::to_string(version) +
                                    " is not supported (2 and 3 are; little-endian)");
  }
  GgufFile gguf;
  absl::Status status = TakeMetadata(file, key_count, &cursor, &gguf);
  if (!status.ok()) return status;
  if (tensor_count > cursor.left() / kLeastTensorEntryBytes) {
    return absl::InvalidArgumentError(file + ": claims " + std::to_string(tensor_count) +
                                      " tensors; " + std::to_string(cursor.left()) +
                                      " bytes are left");
  }
  status = TakeTensors(file, tensor_count, bytes, &cursor, &gguf);
  if (!status.ok()) return status;
  return gguf;
}

absl::StatusOr<GgufFile> OpenGguf(const std::string& path) {
  absl::StatusOr<std::shared_ptr<const MappedFile>> file = MappedFile::Open(path);
  if (!file.ok()) return file.status();
  absl::StatusOr<GgufFile> gguf = ReadGguf(path, (*file)->bytes());
  if (gguf.ok()) gguf->tensors.Hold(*std::move(file));
  return gguf;
}

}  // namespace reenact::local_engine
