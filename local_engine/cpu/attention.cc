#include "local_engine/cpu/attention.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <span>
#include <vector>

#include "absl/status/status.h"

#include "local_engine/cpu/internal/kernel_table.h"
#include "local_engine/cpu/internal/kv_block_layout.h"
#include "local_engine/cpu/internal/planted_kernel_fault.h"
#include "local_engine/numerics/narrow_floats.h"

namespace reenact::local_engine {
namespace {

constexpr size_t kPieceQueries = 32;  // In one piece of work.

uint16_t NarrowToBf16Cache(float value) {
  if (Planted(KernelFault::kCacheTruncates)) return static_cast<uint16_t>(float_bits(value) >> 16);
  return narrow_to_bf16(value);
}

template <typename Element, typename Narrow>
void StoreAs(const KvBlockShape& shape, size_t slot, const float* key, const float* value,
             std::byte* block, const Narrow& narrow) {
  auto* const elements = reinterpret_cast<Element*>(block);
  for (size_t d = 0; d < shape.head_dim; ++d) elements[KvKeyIndex(slot, d)] = narrow(key[d]);
  Element* const row = elements + KvValueIndex(shape.head_dim, slot, 0);
  for (size_t d = 0; d < shape.head_dim; ++d) row[d] = narrow(value[d]);
}

float LoadValue(DataType type, const std::byte* block, size_t index) {
  if (type == DataType::kF32) {
    float value;
    std::memcpy(&value, block + index * sizeof(value), sizeof(value));
    return value;
  }
  uint16_t narrow;
  std::memcpy(&narrow, block + index * sizeof(narrow), sizeof(narrow));
  return type == DataType::kF16 ? widen_fp16(narrow) : widen_bf16(narrow);
}

// A few queries of one task: what a worker takes at once.
struct Piece {
  size_t task;
  size_t first_row;
  size_t row_count;
};

std::vector<Piece> CutIntoPieces(std::span<const AttentionTask> tasks, size_t heads) {
  const size_t whole_groups = kMaxAttentionQueries / std::gcd<size_t>(kMaxAttentionQueries, heads);
  size_t rows_at_once = std::max<size_t>(1, kPieceQueries / heads);
  // Rows whose queries make whole groups, where a piece can have as many.
  if (rows_at_once > whole_groups) rows_at_once -= rows_at_once % whole_groups;
  std::vector<Piece> pieces;
  for (size_t task = 0; task < tasks.size(); ++task) {
    for (size_t row = 0; row < tasks[task].rows.size(); row += rows_at_once) {
      pieces.push_back({task, row, std::min(rows_at_once, tasks[task].rows.size() - row)});
    }
  }
  return pieces;
}

// Splits that a query of these rows can see, times the queries computed together.
size_t ScratchFloats(std::span<const AttentionRow> rows, size_t head_dim) {
  int32_t end = 0;
  for (const AttentionRow& row : rows) end = std::max(end, row.end);
  const size_t splits = static_cast<size_t>(end) / 256 + 1;
  return splits * kMaxAttentionQueries * (2 + KvPaddedDim(head_dim));
}

}  // namespace

size_t KvBlockShape::SizeBytes() const {
  return KvBlockElements(head_dim) * StorageUnitOf(type).size_bytes;
}

void StoreKeyValue(const KvBlockShape& shape, size_t slot, const float* key, const float* value,
                   std::byte* block) {
  if (shape.type == DataType::kF32) {
    StoreAs<float>(shape, slot, key, value, block, [](float x) { return x; });
  } else if (shape.type == DataType::kF16) {
    StoreAs<uint16_t>(shape, slot, key, value, block, [](float x) { return narrow_to_fp16(x); });
  } else {
    StoreAs<uint16_t>(shape, slot, key, value, block, [](float x) { return NarrowToBf16Cache(x); });
  }
}

void LoadKeyValue(const KvBlockShape& shape, size_t slot, const std::byte* block, float* key,
                  float* value) {
  for (size_t d = 0; d < shape.head_dim; ++d) {
    key[d] = LoadValue(shape.type, block, KvKeyIndex(slot, d));
    value[d] = LoadValue(shape.type, block, KvValueIndex(shape.head_dim, slot, d));
  }
}

absl::Status AttendTasks(std::span<const AttentionTask> tasks, const KvBlockShape& shape,
                         int32_t heads, float scale, CpuDevice& device) {
  const auto head_count = static_cast<size_t>(heads);
  const std::vector<Piece> pieces = CutIntoPieces(tasks, head_count);
  const auto attend = shape.type == DataType::kF16    ? device.kernels().attend_f16
                      : shape.type == DataType::kBF16 ? device.kernels().attend_bf16
                                                      : device.kernels().attend_f32;
  return device.pool().Run(pieces.size(), [&](size_t index, int worker) {
    const Piece& piece = pieces[index];
    const AttentionTask& task = tasks[piece.task];
    const auto rows = task.rows.subspan(piece.first_row, piece.row_count);
    std::vector<AttentionQuery> queries;
    for (const AttentionRow& row : rows) {
      for (size_t head = 0; head < head_count; ++head) {
        queries.push_back({.query = row.queries + head * shape.head_dim,
                           .out = row.out + head * shape.head_dim,
                           .first = row.first,
                           .end = row.end});
      }
    }
    const size_t scratch = ScratchFloats(rows, shape.head_dim) * sizeof(float);
    attend({.queries = queries.data(),
            .query_count = static_cast<int>(queries.size()),
            .blocks = task.blocks.data(),
            .head_dim = shape.head_dim,
            .scale = scale,
            .scratch = reinterpret_cast<float*>(device.WorkerScratch(worker, scratch))});
  });
}

}  // namespace reenact::local_engine
