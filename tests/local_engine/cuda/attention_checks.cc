// Keys, values and queries from their projections through the cache to what attention makes of
// them.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "gtest/gtest.h"

#include "local_engine/cuda/attention.h"
#include "local_engine/cuda/device.h"
#include "local_engine/cuda/finite_check.h"
#include "local_engine/cuda/kv_cache.h"
#include "local_engine/cuda/rotate.h"
#include "local_engine/numerics/narrow_floats.h"
#include "local_engine/reference/attention.h"
#include "local_engine/reference/rms_norm.h"
#include "local_engine/reference/rope.h"
#include "tests/local_engine/cuda/device_array.h"
#include "tests/local_engine/cuda/kernel_checks.h"
#include "tests/local_engine/cuda/schedules.h"
#include "tests/local_engine/reference/adversarial_floats.h"

namespace reenact::local_engine {
namespace {

using Floats = std::vector<float>;

constexpr float kEpsilon = 1e-6f;

float Rounded(DataType type, float value) {
  if (type == DataType::kF16) return widen_fp16(narrow_to_fp16(value));
  return type == DataType::kBF16 ? widen_bf16(narrow_to_bf16(value)) : value;
}

Floats ReadCache(const KvCache& cache, const std::vector<unsigned char>& bytes,
                 const std::vector<int32_t>& positions, const std::vector<int32_t>& pages) {
  Floats values;
  for (int32_t position : positions) {
    for (int head = 0; head < cache.kv_head_count; ++head) {
      const size_t block = KvBlockOffset(cache, pages[static_cast<size_t>(position / 32)], 1, head);
      for (int d = 0; d < 2 * cache.head_dim; ++d) {
        const int at = d < cache.head_dim ? KvKeyOffset(cache, position % 32, d)
                                          : KvValueOffset(cache, position % 32, d - cache.head_dim);
        float value;
        uint16_t narrow;
        std::memcpy(&value, &bytes[block + static_cast<size_t>(at)],
                    KvValueBytes(cache) == 4 ? 4 : 2);
        std::memcpy(&narrow, &bytes[block + static_cast<size_t>(at)], 2);
        if (cache.type != DataType::kF32) {
          value = cache.type == DataType::kF16 ? widen_fp16(narrow) : widen_bf16(narrow);
        }
        values.push_back(value);
      }
    }
  }
  return values;
}

// One head as it comes out: normed where `norm` is not empty, rotated.
Floats Prepared(std::span<const float> head, const Floats& norm, const RopeTable& table,
                int32_t position) {
  Floats y(head.begin(), head.end());
  if (!norm.empty()) RmsNorm(y, norm, kEpsilon, y);
  Rotate(table, position, y);
  return y;
}

}  // namespace

size_t DifferentRotations(DataType type) {
  size_t different = 0;
  const std::vector<int32_t> positions = {0, 31, 32, 77};
  const std::vector<int32_t> pages = {2, 0, 1};
  for (int dim : {8, 80, 256}) {
    const RopeTable table = MakeRopeTable({.theta = 10000.0, .head_dim = dim}, 100);
    KvCache cache = {.type = type, .layer_count = 2, .kv_head_count = 2, .head_dim = dim};
    const size_t heads = 3, size = static_cast<size_t>(dim);
    for (const bool normed : {false, true}) {
      const Floats queries =
          AdversarialFloats(InputKind::kUnit, positions.size() * heads * size, 1);
      const Floats keys = AdversarialFloats(InputKind::kSubnormal, positions.size() * 2 * size, 2);
      const Floats values = AdversarialFloats(InputKind::kCancelling, keys.size(), 3);
      const Floats norm =
          normed ? AdversarialFloats(InputKind::kUnit, size, 4) : std::vector<float>{};
      Floats expected;
      for (size_t at = 0; at < queries.size(); at += size) {
        const Floats head = Prepared(std::span(queries).subspan(at, size), norm, table,
                                     positions[at / (heads * size)]);
        expected.insert(expected.end(), head.begin(), head.end());
      }
      for (size_t at = 0; at < keys.size(); at += size) {
        for (float value :
             Prepared(std::span(keys).subspan(at, size), norm, table, positions[at / (2 * size)])) {
          expected.push_back(Rounded(type, value));
        }
        for (size_t d = 0; d < size; ++d) expected.push_back(Rounded(type, values[at + d]));
      }
      const DeviceArray<int32_t> device_positions(positions), device_pages(pages),
          first_pages(std::vector<int32_t>(positions.size(), 0));
      const DeviceArray<float> cos(table.cos), sin(table.sin), device_keys(keys),
          device_values(values), norm_weight(normed ? norm : Floats(1));
      different += DifferentInAnySchedule(expected, [&](CudaDevice& device) {
        DeviceArray<float> y(queries);
        DeviceArray<unsigned char> memory(KvPageBytes(cache) * 3);
        DeviceArray<int> faults(std::vector<int>(positions.size(), kNoFault));
        cache.pages = memory.span().data();
        RotateAndStore({.row_count = static_cast<int>(positions.size()),
                        .positions = device_positions.constant().data(),
                        .first_pages = first_pages.constant().data(),
                        .pages = device_pages.constant().data()},
                       {.queries = y.span().data(),
                        .keys = device_keys.constant().data(),
                        .values = device_values.constant().data(),
                        .query_norm = normed ? norm_weight.constant().data() : nullptr,
                        .key_norm = normed ? norm_weight.constant().data() : nullptr,
                        .epsilon = kEpsilon,
                        .cos = cos.constant().data(),
                        .sin = sin.constant().data(),
                        .head_count = static_cast<int>(heads),
                        .layer = 1,
                        .first_fault = faults.span().data()},
                       cache, device);
        Floats actual = y.Read();
        const Floats cached = ReadCache(cache, memory.Read(), positions, pages);
        actual.insert(actual.end(), cached.begin(), cached.end());
        return actual;
      });
    }
  }
  return different;
}

namespace {

// A cache of one sequence whose pages lie in no order, filled by the host.
struct Cached {
  Cached(DataType type, int dim, int kv_heads, int32_t count, InputKind kind)
      : shape{.type = type, .layer_count = 1, .kv_head_count = kv_heads, .head_dim = dim},
        stride(static_cast<size_t>(kv_heads * dim)),
        keys(AdversarialFloats(InputKind::kUnit, static_cast<size_t>(count) * stride, stride)),
        values(AdversarialFloats(kind, keys.size(), stride + 1)) {
    const int32_t page_count = (count + 31) / 32;
    for (int32_t i = 0; i < page_count; ++i) pages.push_back((i * 5 + 3) % page_count);
    std::vector<int32_t> sorted = pages;
    std::sort(sorted.begin(), sorted.end());
    if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end()) {
      for (int32_t i = 0; i < page_count; ++i) pages[static_cast<size_t>(i)] = page_count - 1 - i;
    }
    bytes.assign(KvPageBytes(shape) * static_cast<size_t>(page_count), 0xff);
    for (size_t i = 0; i < keys.size(); ++i) {
      keys[i] = Rounded(type, keys[i]);
      values[i] = Rounded(type, values[i]);
      const auto position = static_cast<int32_t>(i / stride);
      const int head = static_cast<int>(i % stride) / dim, d = static_cast<int>(i % stride) % dim;
      const size_t block = KvBlockOffset(shape, pages[static_cast<size_t>(position / 32)], 0, head);
      Put(block + static_cast<size_t>(KvKeyOffset(shape, position % 32, d)), keys[i]);
      Put(block + static_cast<size_t>(KvValueOffset(shape, position % 32, d)), values[i]);
    }
  }

  void Put(size_t at, float value) {
    if (shape.type == DataType::kF32) {
      std::memcpy(&bytes[at], &value, sizeof(value));
      return;
    }
    const uint16_t narrow =
        shape.type == DataType::kF16 ? narrow_to_fp16(value) : narrow_to_bf16(value);
    std::memcpy(&bytes[at], &narrow, sizeof(narrow));
  }

  KvCache shape;
  size_t stride;
  Floats keys, values;  // As they are rounded.
  std::vector<int32_t> pages;
  std::vector<unsigned char> bytes;
};

size_t DifferentRows(const Cached& cached, const std::vector<int32_t>& positions, int heads,
                     int window) {
  const int dim = cached.shape.head_dim;
  const auto size = static_cast<size_t>(dim);
  const size_t row_dim = static_cast<size_t>(heads) * size;
  const float scale = div_rn(1.0f, sqrt_rn(static_cast<float>(dim)));
  Floats queries = AdversarialFloats(InputKind::kUnit, positions.size() * row_dim, size + 2);
  for (float& value : queries) value = mul_rn(value, 5.0f);
  Floats expected(queries.size());
  const int group = heads / cached.shape.kv_head_count;
  for (size_t row = 0; row < positions.size(); ++row) {
    const int32_t end = positions[row] + 1;
    const LiveKeys live = {window > 0 ? std::max(0, end - window) : 0, end};
    for (int head = 0; head < heads; ++head) {
      const size_t at = row * row_dim + static_cast<size_t>(head) * size;
      const auto of_head = static_cast<size_t>(head / group * dim);
      Attend(std::span(queries).subspan(at, size),
             {&cached.keys[of_head], &cached.values[of_head], cached.stride}, live, scale,
             std::span(expected).subspan(at, size));
    }
  }
  const DeviceArray<int32_t> device_positions(positions), pages(cached.pages),
      first_pages(std::vector<int32_t>(positions.size(), 0));
  const DeviceArray<float> device_queries(queries);
  DeviceArray<unsigned char> memory(cached.bytes);
  KvCache cache = cached.shape;
  cache.pages = memory.span().data();
  return DifferentInAnySchedule(expected, [&](CudaDevice& device) {
    DeviceArray<float> out(queries.size());
    AttentionPlan plan;
    plan.Make(positions, std::vector<int32_t>(positions.size(), 0), group, device);
    AttendRows({.row_count = static_cast<int>(positions.size()),
                .positions = device_positions.constant().data(),
                .first_pages = first_pages.constant().data(),
                .pages = pages.constant().data()},
               {.queries = device_queries.constant().data(),
                .out = out.span().data(),
                .head_count = heads,
                .layer = 0,
                .window = window,
                .scale = scale},
               plan, cache, device);
    return out.Read();
  });
}

struct HeadShape {
  int dim, kv_heads, heads;
  int rows;  // Of a prefill: fewer of wide heads, which take an emulator long.
};

// The widths of real models, with groups of several queries to a key.
constexpr HeadShape kHeadShapes[] = {{8, 2, 20, 21}, {64, 2, 4, 21}, {80, 1, 3, 21},
                                     {96, 1, 2, 5},  {128, 1, 4, 9}, {256, 1, 2, 5}};

}  // namespace

size_t DifferentAttention(DataType type) {
  size_t different = 0;
  for (const HeadShape& shape : kHeadShapes) {
    const InputKind kind = shape.dim % 64 == 0 ? InputKind::kUnit : InputKind::kSubnormal;
    const Cached cached(type, shape.dim, shape.kv_heads, 560, kind);
    // Decode, at the borders of sub-blocks and splits; wide heads at those of splits.
    const bool wide = shape.dim > 80;
    for (int window : {0, 100}) {
      for (int32_t position : {0, 31, 32, 255, 256, 559}) {
        if (wide && (position == 31 || position == 32 || (window == 0 && position == 255)))
          continue;
        different += DifferentRows(cached, {position}, shape.heads, window);
      }
    }
    if (different > 0) break;  // One size says enough.
    // Prefill, across the border of a split, with a window that ends in it too.
    std::vector<int32_t> positions;
    for (int32_t at = 257 - shape.rows / 2; std::ssize(positions) < shape.rows; ++at)
      positions.push_back(at);
    different += DifferentRows(cached, positions, shape.heads, shape.dim == 64 ? 40 : 0);
  }
  return different;
}

}  // namespace reenact::local_engine
