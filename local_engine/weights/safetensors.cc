#include "local_engine/weights/safetensors.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "local_engine/weights/mapped_file.h"
#include "local_engine/weights/tensor.h"
#include "local_engine/weights/tensor_set.h"
#include "nlohmann/json.hpp"

namespace reenact::local_engine {
namespace {

using Json = nlohmann::json;

constexpr uint64_t kMaxHeaderBytes = 100'000'000;  // The format's own limit.

absl::Status Damaged(const std::string& file, const std::string& what) {
  return absl::InvalidArgumentError(file + ": " + what);
}

std::optional<DataType> TypeOfName(const std::string& name) {
  if (name == "F32") return DataType::kF32;
  if (name == "F16") return DataType::kF16;
  if (name == "BF16") return DataType::kBF16;
  if (name == "I8") return DataType::kI8;
  return std::nullopt;
}

bool AreUnsigned(const Json& numbers) {
  if (!numbers.is_array()) return false;
  for (const Json& number : numbers) {
    if (!number.is_number_unsigned()) return false;
  }
  return true;
}

// One entry of the header. `data`: the data section.
absl::StatusOr<Tensor> ReadEntry(const std::string& name, const Json& entry,
                                 std::span<const std::byte> data) {
  if (!entry.is_object() || !entry.contains("dtype") || !entry["dtype"].is_string() ||
      !entry.contains("shape") || !AreUnsigned(entry["shape"]) || !entry.contains("data_offsets") ||
      !AreUnsigned(entry["data_offsets"]) || entry["data_offsets"].size() != 2) {
    return absl::InvalidArgumentError("the entry lacks dtype, shape or data_offsets");
  }
  const std::string type_name = entry["dtype"].get<std::string>();
  const std::optional<DataType> type = TypeOfName(type_name);
  if (!type) {
    return absl::UnimplementedError("dtype " + type_name +
                                    " is not supported (F32, F16, BF16, I8)");
  }
  Tensor tensor{.name = name, .type = *type, .shape = entry["shape"].get<std::vector<uint64_t>>()};
  const absl::StatusOr<uint64_t> size_bytes = TensorSizeBytes(*type, tensor.shape);
  if (!size_bytes.ok()) return size_bytes.status();
  const auto begin = entry["data_offsets"][0].get<uint64_t>();
  const auto end = entry["data_offsets"][1].get<uint64_t>();
  if (begin > end || end > data.size()) {
    return absl::InvalidArgumentError("bytes " + std::to_string(begin) + " to " +
                                      std::to_string(end) + " lie outside the data section of " +
                                      std::to_string(data.size()));
  }
  if (end - begin != *size_bytes) {
    return absl::InvalidArgumentError(ShapeText(tensor.shape) + " of " + type_name + " takes " +
                                      std::to_string(*size_bytes) + " bytes, not " +
                                      std::to_string(end - begin));
  }
  tensor.data = data.data() + begin;
  tensor.size_bytes = *size_bytes;
  if (reinterpret_cast<uintptr_t>(tensor.data) % StorageUnitOf(*type).alignment_bytes != 0) {
    return absl::InvalidArgumentError("its data is not aligned to " + type_name +
                                      "; save the file again with a current safetensors");
  }
  return tensor;
}

// Header text and data section.
struct Sections {
  std::span<const char> header;
  std::span<const std::byte> data;
};

absl::StatusOr<Sections> SplitFile(const std::string& file, std::span<const std::byte> bytes) {
  uint64_t header_bytes = 0;
  if (bytes.size() < sizeof(header_bytes)) {
    return Damaged(file, "ends before the length of its header");
  }
  std::memcpy(&header_bytes, bytes.data(), sizeof(header_bytes));
  const std::span<const std::byte> rest = bytes.subspan(sizeof(header_bytes));
  if (header_bytes > kMaxHeaderBytes || header_bytes > rest.size()) {
    return Damaged(file, "claims a header of " + std::to_string(header_bytes) + " bytes; " +
                             std::to_string(rest.size()) + " follow");
  }
  const auto* header = reinterpret_cast<const char*>(rest.data());
  return Sections{{header, header_bytes}, rest.subspan(header_bytes)};
}

// Every byte of the data section belongs to one tensor.
absl::Status CheckCovered(const std::string& file, std::vector<DataExtent> extents,
                          uint64_t size_bytes) {
  const absl::Status overlap = CheckNoOverlap(&extents);
  if (!overlap.ok()) return Damaged(file, std::string(overlap.message()));
  uint64_t covered = 0;
  for (const DataExtent& extent : extents) {
    if (extent.begin != covered) {
      return Damaged(file, "bytes before tensor \"" + extent.name + "\" belong to no tensor");
    }
    covered = extent.end;
  }
  if (covered != size_bytes) return Damaged(file, "bytes at its end belong to no tensor");
  return absl::OkStatus();
}

absl::StatusOr<std::map<std::string, std::string>> ReadIndex(const std::string& path) {
  absl::StatusOr<std::shared_ptr<const MappedFile>> file = MappedFile::Open(path);
  if (!file.ok()) return file.status();
  const auto* text = reinterpret_cast<const char*>((*file)->bytes().data());
  const Json index = Json::parse(text, text + (*file)->bytes().size(), nullptr, false);
  if (!index.is_object() || !index.contains("weight_map") || !index["weight_map"].is_object()) {
    return Damaged(path, "is no JSON object with a weight_map");
  }
  std::map<std::string, std::string> shard_of;
  for (const auto& [tensor, shard] : index["weight_map"].items()) {
    const std::string name = shard.is_string() ? shard.get<std::string>() : "";
    if (name.empty() || name.find('/') != std::string::npos ||
        name.find('\0') != std::string::npos || !name.ends_with(".safetensors")) {
      return Damaged(path, "tensor \"" + tensor + "\" is in no .safetensors file of this folder");
    }
    shard_of.emplace(tensor, name);
  }
  return shard_of;
}

absl::Status OpenShard(const std::string& path, TensorSet* tensors) {
  absl::StatusOr<std::shared_ptr<const MappedFile>> file = MappedFile::Open(path);
  if (!file.ok()) return file.status();
  tensors->Hold(*file);
  return ReadSafetensors(path, (*file)->bytes(), tensors);
}

absl::StatusOr<TensorSet> OpenShards(const std::string& folder, const std::string& index_path) {
  const absl::StatusOr<std::map<std::string, std::string>> shard_of = ReadIndex(index_path);
  if (!shard_of.ok()) return shard_of.status();
  std::set<std::string> shards;
  for (const auto& [tensor, shard] : *shard_of) shards.insert(shard);
  TensorSet tensors;
  for (const std::string& shard : shards) {
    TensorSet found;  // Alone first, to compare it with the index.
    const std::string path = folder + "/" + shard;
    if (absl::Status status = OpenShard(path, &found); !status.ok()) return status;
    for (const auto& [name, tensor] : found.tensors()) {
      const auto listed = shard_of->find(name);
      if (listed == shard_of->end() || listed->second != shard) {
        return Damaged(path, "tensor \"" + name + "\" is not listed as in this shard");
      }
    }
    if (absl::Status status = OpenShard(path, &tensors); !status.ok()) return status;
  }
  for (const auto& [name, shard] : *shard_of) {
    if (tensors.Find(name) == nullptr) {
      return Damaged(folder + "/" + shard, "tensor \"" + name + "\" is listed but not here");
    }
  }
  return tensors;
}

}  // namespace

absl::Status ReadSafetensors(const std::string& file, std::span<const std::byte> bytes,
                             TensorSet* tensors) {
  const absl::StatusOr<Sections> sections = SplitFile(file, bytes);
  if (!sections.ok()) return sections.status();
  const Json header = Json::parse(sections->header.begin(), sections->header.end(), nullptr, false);
  if (!header.is_object()) return Damaged(file, "its header is no JSON object");
  std::vector<DataExtent> extents;
  for (const auto& [name, entry] : header.items()) {
    if (name == "__metadata__") continue;
    absl::StatusOr<Tensor> tensor = ReadEntry(name, entry, sections->data);
    if (!tensor.ok()) return InFile(file, "tensor \"" + name + "\"", tensor.status());
    const auto begin = static_cast<uint64_t>(tensor->data - sections->data.data());
    extents.push_back({begin, begin + tensor->size_bytes, name});
    if (absl::Status status = tensors->Add(*std::move(tensor)); !status.ok()) {
      return Damaged(file, std::string(status.message()));
    }
  }
  return CheckCovered(file, std::move(extents), sections->data.size());
}

absl::StatusOr<TensorSet> OpenSafetensorsFolder(const std::string& folder) {
  const std::string index = folder + "/model.safetensors.index.json";
  const std::string single = folder + "/model.safetensors";
  std::error_code ignored;
  if (std::filesystem::exists(single, ignored)) {
    TensorSet tensors;
    if (absl::Status status = OpenShard(single, &tensors); !status.ok()) return status;
    return tensors;
  }
  if (std::filesystem::exists(index, ignored)) return OpenShards(folder, index);
  return absl::NotFoundError(folder +
                             ": has no model.safetensors and no model.safetensors.index.json");
}

}  // namespace reenact::local_engine
