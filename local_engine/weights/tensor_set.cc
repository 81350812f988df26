#include "local_engine/weights/tensor_set.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"

#include "local_engine/numerics/sha256.h"

namespace reenact::local_engine {
namespace {

constexpr size_t kMaxNameBytes = 256;

bool IsPrintable(std::string_view name) {
  return std::all_of(name.begin(), name.end(), [](char c) { return c > ' ' && c < 0x7f; });
}

void HashLength(uint64_t length, Sha256* hash) {
  hash->Update(&length, sizeof(length));
}

void HashText(std::string_view text, Sha256* hash) {
  HashLength(text.size(), hash);
  hash->Update(text.data(), text.size());
}

using OnRead = absl::FunctionRef<void(std::span<const std::byte>)>;

Sha256Digest LeafOf(const Tensor& tensor, OnRead on_read) {
  Sha256 hash;
  const uint8_t kind = 0;
  hash.Update(&kind, 1);
  HashText(tensor.name, &hash);
  HashText(DataTypeName(tensor.type), &hash);
  HashLength(tensor.shape.size(), &hash);
  for (uint64_t dimension : tensor.shape) HashLength(dimension, &hash);
  HashLength(tensor.size_bytes, &hash);
  constexpr size_t kReadBytes = size_t{8} << 20;
  const std::span<const std::byte> data(tensor.data, tensor.size_bytes);
  for (size_t at = 0; at < data.size(); at += kReadBytes) {
    const auto read = data.subspan(at, std::min(kReadBytes, data.size() - at));
    hash.Update(read.data(), read.size());
    on_read(read);
  }
  return hash.Finish();
}

Sha256Digest NodeOf(const Sha256Digest& left, const Sha256Digest& right) {
  Sha256 hash;
  const uint8_t kind = 1;
  hash.Update(&kind, 1);
  hash.Update(left.data(), left.size());
  hash.Update(right.data(), right.size());
  return hash.Finish();
}

}  // namespace

absl::Status TensorSet::Add(Tensor tensor) {
  if (tensor.name.empty() || tensor.name.size() > kMaxNameBytes || !IsPrintable(tensor.name)) {
    return absl::InvalidArgumentError("a tensor's name is empty, over 256 bytes or not printable");
  }
  std::string name = tensor.name;
  if (!tensors_.try_emplace(name, std::move(tensor)).second) {
    return absl::InvalidArgumentError("tensor \"" + name + "\" is there twice");
  }
  return absl::OkStatus();
}

const Tensor* TensorSet::Find(std::string_view name) const {
  const auto found = tensors_.find(name);
  return found == tensors_.end() ? nullptr : &found->second;
}

absl::Status CheckNoOverlap(std::vector<DataExtent>* extents) {
  std::sort(extents->begin(), extents->end(), [](const DataExtent& a, const DataExtent& b) {
    return std::tie(a.begin, a.end, a.name) < std::tie(b.begin, b.end, b.name);
  });
  for (size_t i = 1; i < extents->size(); ++i) {
    const DataExtent& before = (*extents)[i - 1];
    const DataExtent& after = (*extents)[i];
    if (after.begin < before.end) {
      return absl::InvalidArgumentError("tensor \"" + after.name + "\" overlaps tensor \"" +
                                        before.name + "\"");
    }
  }
  return absl::OkStatus();
}

WeightsDigest DigestOf(const TensorSet& tensors, OnRead on_read) {
  WeightsDigest digest;
  std::vector<Sha256Digest> level;
  for (const auto& [name, tensor] : tensors.tensors()) {
    level.push_back(LeafOf(tensor, on_read));
    digest.leaves.emplace(name, level.back());
  }
  while (level.size() > 1) {
    std::vector<Sha256Digest> above;
    for (size_t i = 0; i + 1 < level.size(); i += 2) {
      above.push_back(NodeOf(level[i], level[i + 1]));
    }
    if (level.size() % 2 == 1) above.push_back(level.back());
    level = std::move(above);
  }
  digest.root = level.empty() ? Sha256Of(nullptr, 0) : level.front();
  return digest;
}

}  // namespace reenact::local_engine
