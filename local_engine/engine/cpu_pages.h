// The memory of KV pages as the CPU's attention reads it.

#ifndef REENACT_LOCAL_ENGINE_ENGINE_CPU_PAGES_H_
#define REENACT_LOCAL_ENGINE_ENGINE_CPU_PAGES_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/status.h"

#include "local_engine/cpu/aligned_bytes.h"
#include "local_engine/cpu/attention.h"
#include "local_engine/cpu/device.h"
#include "local_engine/model/load_model.h"

namespace reenact::local_engine {

// [page][layer][KV head] blocks of 32 positions. Memory that was never written is not resident.
class CpuPages {
 public:
  explicit CpuPages(const Model& model);

  // ResourceExhausted when there is not that much memory.
  absl::Status Reserve(int32_t page_count);

  const KvBlockShape& shape() const { return shape_; }

  // One position of a layer; keys and values of all heads, rounded already.
  void Store(int32_t page, int32_t layer, size_t slot, const float* keys, const float* values);

  // The blocks of one layer and KV head in `pages`.
  void AppendBlocks(std::span<const int32_t> pages, int32_t layer, int32_t kv_head,
                    std::vector<const void*>* blocks) const;

  // As Backend::ReadPage.
  void Read(int32_t page, int32_t layer, std::span<float> keys, std::span<float> values) const;

  void Poison(int32_t page);

 private:
  size_t BlockOffset(int32_t page, int32_t layer, int32_t kv_head) const;

  KvBlockShape shape_;
  int32_t layer_count_;
  int32_t kv_head_count_;
  AlignedBytes bytes_;
};

}  // namespace reenact::local_engine

#endif  // REENACT_LOCAL_ENGINE_ENGINE_CPU_PAGES_H_
