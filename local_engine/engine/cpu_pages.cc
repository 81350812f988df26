#include "local_engine/engine/cpu_pages.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"

#include "local_engine/engine/backend.h"
#include "local_engine/weights/tensor.h"

namespace reenact::local_engine {

CpuPages::CpuPages(const Model& model)
    : shape_{.type = model.weights.cache_type,
             .head_dim = static_cast<size_t>(model.config.head_dim)},
      layer_count_(model.config.layer_count),
      kv_head_count_(model.config.kv_head_count) {}

absl::Status CpuPages::Reserve(int32_t page_count) {
  try {
    bytes_.AtLeast(BlockOffset(page_count, 0, 0));
  } catch (const std::bad_alloc&) {
    return absl::ResourceExhaustedError("there is no memory for " + std::to_string(page_count) +
                                        " pages of keys and values");
  }
  return absl::OkStatus();
}

void CpuPages::Store(int32_t page, int32_t layer, size_t slot, const float* keys,
                     const float* values) {
  for (int32_t head = 0; head < kv_head_count_; ++head) {
    const size_t at = static_cast<size_t>(head) * shape_.head_dim;
    StoreKeyValue(shape_, slot, keys + at, values + at,
                  bytes_.data() + BlockOffset(page, layer, head));
  }
}

void CpuPages::AppendBlocks(std::span<const int32_t> pages, int32_t layer, int32_t kv_head,
                            std::vector<const void*>* blocks) const {
  for (int32_t page : pages) {
    blocks->push_back(bytes_.data() + BlockOffset(page, layer, kv_head));
  }
}

void CpuPages::Read(int32_t page, int32_t layer, std::span<float> keys,
                    std::span<float> values) const {
  const size_t kv_dim = static_cast<size_t>(kv_head_count_) * shape_.head_dim;
  for (size_t slot = 0; slot < kPagePositions; ++slot) {
    for (int32_t head = 0; head < kv_head_count_; ++head) {
      const size_t at = slot * kv_dim + static_cast<size_t>(head) * shape_.head_dim;
      LoadKeyValue(shape_, slot, bytes_.data() + BlockOffset(page, layer, head), &keys[at],
                   &values[at]);
    }
  }
}

void CpuPages::Poison(int32_t page) {
  // All ones is a NaN in every cache type.
  const size_t begin = BlockOffset(page, 0, 0);
  std::memset(bytes_.data() + begin, 0xff, BlockOffset(page + 1, 0, 0) - begin);
}

size_t CpuPages::BlockOffset(int32_t page, int32_t layer, int32_t kv_head) const {
  const size_t layers =
      static_cast<size_t>(page) * static_cast<size_t>(layer_count_) + static_cast<size_t>(layer);
  return (layers * static_cast<size_t>(kv_head_count_) + static_cast<size_t>(kv_head)) *
         shape_.SizeBytes();
}

}  // namespace reenact::local_engine
