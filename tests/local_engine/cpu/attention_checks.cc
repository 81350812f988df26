#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "gtest/gtest.h"

#include "local_engine/cpu/attention.h"
#include "local_engine/reference/attention.h"
#include "tests/local_engine/cpu/kernel_checks.h"
#include "tests/local_engine/cpu/kernel_testing.h"
#include "tests/local_engine/reference/adversarial_floats.h"

namespace reenact::local_engine {
namespace {

using Floats = std::vector<float>;

constexpr int32_t kNoWindow = 1 << 20;

float Rounded(DataType type, float value) {
  if (type == DataType::kF16) return widen_fp16(narrow_to_fp16(value));
  return type == DataType::kBF16 ? widen_bf16(narrow_to_bf16(value)) : value;
}

// A cache of one KV head, as blocks with NaN where nothing was stored, and as plain rows.
struct Cache {
  Cache(DataType type, size_t head_dim, size_t positions, InputKind kind)
      : shape{type, head_dim},
        keys(AdversarialFloats(InputKind::kUnit, positions * head_dim, head_dim)),
        values(AdversarialFloats(kind, positions * head_dim, head_dim + 1)) {
    for (size_t at = 0; at < positions; ++at) {
      if (at % 32 == 0) blocks.emplace_back(shape.SizeBytes(), std::byte{0xff});
      StoreKeyValue(shape, at % 32, &keys[at * head_dim], &values[at * head_dim],
                    blocks.back().data());
    }
    for (float& key : keys) key = Rounded(type, key);
    for (float& value : values) value = Rounded(type, value);
    for (const std::vector<std::byte>& block : blocks) pointers.push_back(block.data());
  }

  KvBlockShape shape;
  Floats keys, values;  // As they are rounded.
  std::vector<std::vector<std::byte>> blocks;
  std::vector<const void*> pointers;
};

// Rows of one task: queries at the positions before `ends`, `heads` each.
struct Rows {
  std::vector<int32_t> ends;
  int32_t window;
  int32_t heads;
};

size_t DifferentRows(const Cache& cache, const Rows& rows, const Devices& devices) {
  const size_t dim = cache.shape.head_dim;
  const size_t row_dim = static_cast<size_t>(rows.heads) * dim;
  const float scale = div_rn(1.0f, sqrt_rn(static_cast<float>(dim)));
  Floats queries = AdversarialFloats(InputKind::kUnit, rows.ends.size() * row_dim, dim + 2);
  for (float& value : queries) value = mul_rn(value, 5.0f);
  Floats expected(queries.size()), out(queries.size());
  std::vector<AttentionRow> attention_rows;
  for (size_t row = 0; row < rows.ends.size(); ++row) {
    const LiveKeys live = {std::max(0, rows.ends[row] - rows.window), rows.ends[row]};
    attention_rows.push_back({&queries[row * row_dim], &out[row * row_dim], live.first, live.end});
    for (size_t at = row * row_dim; at < (row + 1) * row_dim; at += dim) {
      Attend(std::span(queries).subspan(at, dim), {cache.keys.data(), cache.values.data(), dim},
             live, scale, std::span(expected).subspan(at, dim));
    }
  }
  const AttentionTask task = {cache.pointers, attention_rows};
  size_t different = 0;
  for (const auto& device : devices) {
    std::fill(out.begin(), out.end(), -7.0f);
    EXPECT_TRUE(AttendTasks({&task, 1}, cache.shape, rows.heads, scale, *device).ok());
    different += DifferentBits(expected, out);
  }
  return different;
}

}  // namespace

size_t DifferentStoredValues(DataType type) {
  size_t different = 0;
  for (size_t head_dim : {8, 80}) {
    for (InputKind kind : {InputKind::kUnit, InputKind::kSubnormal, InputKind::kCancelling}) {
      const Cache cache(type, head_dim, 40, kind);
      for (size_t at = 0; at < 40; ++at) {
        Floats key(head_dim), value(head_dim);
        LoadKeyValue(cache.shape, at % 32, cache.blocks[at / 32].data(), key.data(), value.data());
        different += DifferentBits(std::span(cache.keys).subspan(at * head_dim, head_dim), key);
        different += DifferentBits(std::span(cache.values).subspan(at * head_dim, head_dim), value);
      }
    }
  }
  return different;
}

size_t DifferentAttention(DataType type, const Devices& devices) {
  size_t different = 0;
  for (size_t head_dim : {8, 64, 80, 96, 128, 256}) {
    const InputKind kind = head_dim % 64 == 0 ? InputKind::kUnit : InputKind::kSubnormal;
    const Cache cache(type, head_dim, 600, kind);
    const int32_t heads = head_dim == 128 ? 8 : (head_dim == 80 ? 3 : 1);
    // Decode, at the borders of sub-blocks and splits.
    for (int32_t window : {kNoWindow, 100, 300}) {
      different +=
          DifferentRows(cache, {{1, 31, 32, 33, 255, 256, 257, 288, 600}, window, heads}, devices);
    }
    if (different > 0) break;  // One size says enough.
    // Prefill, across the border of a split.
    if (head_dim > 80) continue;
    std::vector<int32_t> ends;
    for (int32_t end = 245; end < 275; ++end) ends.push_back(end);
    different += DifferentRows(cache, {ends, head_dim == 64 ? 40 : kNoWindow, heads}, devices);
  }
  return different;
}

}  // namespace reenact::local_engine
