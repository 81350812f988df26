// Attention over paged keys and values, for decode and prefill alike.

#ifndef REENACT_LOCAL_ENGINE_CPU_ATTENTION_H_
#define REENACT_LOCAL_ENGINE_CPU_ATTENTION_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "absl/status/status.h"

#include "local_engine/cpu/device.h"
#include "local_engine/weights/tensor.h"

namespace reenact::local_engine {

// The memory of 32 positions of one KV head, a sub-block of attention. Values have the cache's
// type.
struct KvBlockShape {
  DataType type = DataType::kF32;  // F32, F16 or BF16
  size_t head_dim = 0;

  size_t SizeBytes() const;
};

// Rounds one position's key and value (head_dim each) to the cache type and stores them. `slot`:
// the position mod 32.
void StoreKeyValue(const KvBlockShape& shape, size_t slot, const float* key, const float* value,
                   std::byte* block);

// The stored key and value, widened.
void LoadKeyValue(const KvBlockShape& shape, size_t slot, const std::byte* block, float* key,
                  float* value);

// One token's query heads that share a KV head, and the positions that they see.
struct AttentionRow {
  const float* queries = nullptr;  // [heads][head_dim]
  float* out = nullptr;            // [heads][head_dim], none of the queries
  int32_t first = 0;               // Live keys: first <= position < end; end > first.
  int32_t end = 0;
};

// Tokens of one sequence over one of its KV heads.
struct AttentionTask {
  std::span<const void* const> blocks;  // Block i has the positions [32 i, 32 (i + 1)).
  std::span<const AttentionRow> rows;
};

// The Attend of reference/attention.h for every query head of every row. Live positions are stored;
// the rest of a block may hold anything.
// Bits: a function of a query, its live keys and their values; not of the tasks, their rows or the
// threads.
absl::Status AttendTasks(std::span<const AttentionTask> tasks, const KvBlockShape& shape,
                         int32_t heads, float scale, CpuDevice& device);

}  // namespace reenact::local_engine

#endif  // REENACT_LOCAL_ENGINE_CPU_ATTENTION_H_
