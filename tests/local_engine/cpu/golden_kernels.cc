#include "tests/local_engine/cpu/golden_kernels.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "local_engine/cpu/internal/kernel_table.h"
#include "local_engine/cpu/internal/kv_block_layout.h"
#include "local_engine/cpu/internal/pack_panel.h"
#include "local_engine/cpu/internal/panel_layout.h"
#include "local_engine/numerics/exp_log.h"
#include "local_engine/numerics/narrow_floats.h"
#include "local_engine/numerics/operations.h"
#include "local_engine/reference/attention.h"
#include "local_engine/reference/dot.h"
#include "local_engine/reference/logprob.h"
#include "local_engine/reference/quantised_dot.h"
#include "local_engine/reference/rms_norm.h"
#include "local_engine/reference/rope.h"
#include "local_engine/reference/silu_mul.h"
#include "tests/local_engine/reference/adversarial_floats.h"

namespace reenact::local_engine {

const KernelTable* golden_kernels = nullptr;
GoldenKernelCounts golden_kernel_counts;

namespace {

constexpr float kUntouched = -7.25f;

// The one result of kernels that must agree.
float Agreed(float a, float b) {
  if (float_bits(a) == float_bits(b)) return a;
  ++golden_kernel_counts.disagreements;
  return float_from_bits(0x7fc00000u);
}

size_t NextBelow(size_t end) {
  static SeededBits random(1);
  return random.Next() % end;
}

// Where in a tile the output that was asked for stands.
struct Place {
  explicit Place(int max_rows)
      : rows(1 + NextBelow(static_cast<size_t>(max_rows))),
        row(NextBelow(rows)),
        outputs(1 + NextBelow(kPanelOutputs)),
        output(NextBelow(outputs)) {
    golden_kernel_counts.full_tiles += rows == static_cast<size_t>(max_rows);
  }

  size_t rows, row, outputs, output;
};

// The result at `place`. `panel` and `x` are packed. What lies beyond the tile must stay as it was.
float TileResult(void (*multiply)(const ProductTile&), const void* x, const void* panel, size_t dim,
                 const Place& place, const float* row_scales) {
  const size_t stride = place.outputs + 3;
  std::vector<float> y(place.rows * stride, kUntouched);
  multiply({.x = x,
            .panel = panel,
            .dim = dim,
            .rows = static_cast<int>(place.rows),
            .outputs = static_cast<int>(place.outputs),
            .row_scales = row_scales,
            .y = y.data(),
            .y_stride = stride});
  const float result = y[place.row * stride + place.output];
  for (size_t m = 0; m < place.rows; ++m) {
    for (size_t n = place.outputs; n < stride; ++n) {
      if (y[m * stride + n] != kUntouched) return Agreed(result, -result);
    }
  }
  return result;
}

// Weight rows of a type, in which `w` stands at `output`; the others are its neighbours `other`.
PanelSource SourceAround(const void* w, const void* other, size_t dim, const Place& place) {
  PanelSource source = {{}, dim};
  for (size_t n = 0; n < place.outputs; ++n) source.rows[n] = n % 3 == 0 ? other : w;
  source.rows[place.output] = w;
  return source;
}

// How one type of float weights is multiplied.
struct FloatKernels {
  void (*pack)(const PanelSource&, std::byte*);
  void (*multiply)(const ProductTile&);
  void (*in_place)(const InPlaceRows&);
  size_t size_bytes;
};

float ProductInPlace(const FloatKernels& kernels, std::span<const float> x,
                     const PanelSource& source, const Place& place) {
  std::vector<float> packed(FloatChunkCount(x.size()) * kDotChunk);
  golden_kernels->pack_lanes(x.data(), x.size(), packed.data());
  float y[kPanelOutputs];
  kernels.in_place({.x = packed.data(),
                    .weights = source.rows,
                    .dim = x.size(),
                    .outputs = static_cast<int>(place.outputs),
                    .y = y});
  ++golden_kernel_counts.in_place;
  return y[place.output];
}

float Product(const FloatKernels& kernels, std::span<const float> x, const void* w,
              const void* other) {
  const size_t dim = x.size();
  const Place place(golden_kernels->max_tile_rows);
  const PanelSource source = SourceAround(w, other, dim, place);
  std::vector<std::byte> panel(FloatPanelElements(dim) * kernels.size_bytes);
  kernels.pack(source, panel.data());
  std::vector<float> rows(place.rows * dim);
  for (size_t i = 0; i < rows.size(); ++i) rows[i] = x[(i * 5 + 1) % dim];
  std::copy(x.begin(), x.end(), rows.begin() + static_cast<ptrdiff_t>(place.row * dim));
  std::vector<float> packed(place.rows * FloatChunkCount(dim) * kDotChunk);
  golden_kernels->pack_x(
      {.x = rows.data(), .stride = dim, .dim = dim, .rows = static_cast<int>(place.rows)},
      packed.data());
  const float in_tile =
      TileResult(kernels.multiply, packed.data(), panel.data(), dim, place, nullptr);
  return Agreed(in_tile, ProductInPlace(kernels, x, source, place));
}

// Whether all values survive the narrow type; `narrowed` gets them.
template <typename Narrow, typename Widen>
bool FitsNarrow(std::span<const float> values, Narrow narrow, Widen widen,
                std::vector<uint16_t>* narrowed) {
  for (float value : values) {
    narrowed->push_back(narrow(value));
    if (float_bits(widen(narrowed->back())) != float_bits(value)) return false;
  }
  return true;
}

}  // namespace

float Dot(std::span<const float> x, std::span<const float> w) {
  const KernelTable& k = *golden_kernels;
  float result = Product({PackF32Panel, k.multiply_f32, k.in_place_f32, 4}, x, w.data(), x.data());
  std::vector<uint16_t> narrow;
  if (FitsNarrow(
          w, [](float v) { return narrow_to_bf16(v); }, [](uint16_t v) { return widen_bf16(v); },
          &narrow)) {
    const std::vector<uint16_t> other(narrow.rbegin(), narrow.rend());
    result = Agreed(result, Product({PackBf16Panel, k.multiply_bf16, k.in_place_bf16, 2}, x,
                                    narrow.data(), other.data()));
    ++golden_kernel_counts.of_bf16;
  }
  narrow.clear();
  if (FitsNarrow(
          w, [](float v) { return narrow_to_fp16(v); }, [](uint16_t v) { return widen_fp16(v); },
          &narrow)) {
    const std::vector<uint16_t> other(narrow.rbegin(), narrow.rend());
    result = Agreed(result, Product({PackF16Panel, k.multiply_f16, k.in_place_f16, 2}, x,
                                    narrow.data(), other.data()));
    ++golden_kernel_counts.of_f16;
  }
  return result;
}

QuantisedRow QuantiseRow(std::span<const float> x, size_t group_size) {
  QuantisedRow row;
  row.values.resize(x.size());
  row.scales.resize(x.size() / group_size);
  golden_kernels->quantise(x.data(), x.size(), group_size, row.values.data(), row.scales.data());
  return row;
}

namespace {

// Appends the values [begin, begin + count) of every row, as packed activations have them: quads,
// corrections, scales. The row that was asked for is `x`; the others are its negative.
void AppendActivations(const QuantisedRow& x, size_t begin, size_t count, float scale,
                       const Place& place, std::vector<int32_t>* packed) {
  std::vector<int32_t> corrections(place.rows);
  for (size_t k = begin; k < begin + count; k += 4) {
    for (size_t m = 0; m < place.rows; ++m) {
      int8_t quad[4] = {};
      for (size_t i = 0; i < 4 && k + i < begin + count; ++i) {
        quad[i] = static_cast<int8_t>(m == place.row ? x.values[k + i] : -x.values[k + i]);
        corrections[m] -= 128 * quad[i];
      }
      packed->push_back(0);
      std::memcpy(&packed->back(), quad, sizeof(quad));
    }
  }
  packed->insert(packed->end(), corrections.begin(), corrections.end());
  packed->insert(packed->end(), place.rows, static_cast<int32_t>(float_bits(scale)));
}

}  // namespace

float DotQ8(const QuantisedRow& x, std::span<const Q8Block> w) {
  const Place place(golden_kernels->max_byte_rows);
  const size_t dim = x.values.size();
  const std::vector<Q8Block> other(w.rbegin(), w.rend());
  std::vector<std::byte> panel(Q8PanelBytes(dim));
  PackQ8Panel(SourceAround(w.data(), other.data(), dim, place), panel.data());
  std::vector<int32_t> packed;
  for (int at = 0; at < kQ8Classes; ++at) {
    for (auto group = static_cast<size_t>(Q8ClassAt(at)); group < w.size(); group += kQ8Classes) {
      AppendActivations(x, group * kQ8Group, kQ8Group, x.scales[group], place, &packed);
    }
  }
  return TileResult(golden_kernels->multiply_q8, packed.data(), panel.data(), dim, place, nullptr);
}

float DotW8A8(const QuantisedRow& x, std::span<const int8_t> w, float weight_scale) {
  const Place place(golden_kernels->max_byte_rows);
  const size_t dim = x.values.size();
  const std::vector<int8_t> other(w.rbegin(), w.rend());
  std::vector<std::byte> panel(W8A8PanelBytes(dim));
  PackW8A8Panel(SourceAround(w.data(), other.data(), dim, place), panel.data());
  std::vector<int32_t> packed;
  AppendActivations(x, 0, dim, x.scales[0], place, &packed);
  const std::vector<float> scales(place.outputs, weight_scale);
  return TileResult(golden_kernels->multiply_w8a8, packed.data(), panel.data(), dim, place,
                    scales.data());
}

void RmsNorm(std::span<const float> x, std::span<const float> weight, float epsilon,
             std::span<float> y) {
  golden_kernels->rms_norm(x.data(), weight.data(), x.size(), epsilon, y.data());
}

void Rotate(const RopeTable& table, int32_t position, std::span<float> head) {
  const auto half = static_cast<size_t>(table.half_dim);
  const size_t at = static_cast<size_t>(position) * half;
  golden_kernels->rotate(&table.cos[at], &table.sin[at], half, head.data());
}

void SiluMul(std::span<const float> gate, std::span<const float> up, std::span<float> out) {
  golden_kernels->silu_mul(gate.data(), up.data(), gate.size(), out.data());
}

float SumOfExp(std::span<const float> logits, float maximum) {
  float total = 0;
  for (size_t begin = 0; begin < logits.size(); begin += kVocabularyChunk) {
    const size_t count = std::min<size_t>(kVocabularyChunk, logits.size() - begin);
    total = add_rn(total, golden_kernels->sum_of_exp_chunk(&logits[begin], count, maximum));
  }
  return total;
}

LogNormaliser Normalise(std::span<const float> logits) {
  const float maximum = golden_kernels->largest(logits.data(), logits.size());
  return {maximum, add_rn(maximum, Log(SumOfExp(logits, maximum)))};
}

float Logprob(float logit, const LogNormaliser& normaliser) {
  return sub_rn(logit, normaliser.log_sum);
}

namespace {

// Keys and values of one head in blocks, with NaN where nothing is stored.
template <typename Element>
struct Blocks {
  template <typename Narrow>
  Blocks(const KvRows& rows, int32_t end, size_t head_dim, Narrow narrow) {
    for (int32_t at = 0; at < end; ++at) {
      const auto slot = static_cast<size_t>(at % kKvBlockPositions);
      if (slot == 0) {
        blocks.emplace_back(KvBlockElements(head_dim));
        std::memset(blocks.back().data(), 0xff, blocks.back().size() * sizeof(Element));
      }
      for (size_t d = 0; d < head_dim; ++d) {
        const size_t from = static_cast<size_t>(at) * rows.stride + d;
        blocks.back()[KvKeyIndex(slot, d)] = narrow(rows.keys[from]);
        blocks.back()[KvValueIndex(head_dim, slot, d)] = narrow(rows.values[from]);
      }
    }
    for (const auto& block : blocks) pointers.push_back(block.data());
  }

  std::vector<std::vector<Element>> blocks;
  std::vector<const void*> pointers;
};

// The query among others, some of which see fewer keys.
void AttendAmongOthers(void (*attend)(const AttentionWork&), const std::vector<const void*>& blocks,
                       std::span<const float> query, LiveKeys live, float scale, float* out) {
  const size_t dim = query.size();
  const size_t count = 1 + NextBelow(kMaxAttentionQueries + 1);
  const size_t asked = NextBelow(count);
  golden_kernel_counts.full_groups += count >= size_t{kMaxAttentionQueries};
  const std::vector<float> other(query.rbegin(), query.rend());
  std::vector<float> other_out(count * dim);
  std::vector<AttentionQuery> queries;
  for (size_t q = 0; q < count; ++q) {
    const auto skipped =
        static_cast<int32_t>(NextBelow(2) * NextBelow(static_cast<size_t>(live.end - live.first)));
    queries.push_back(
        {.query = other.data(), .out = &other_out[q * dim], .first = live.first, .end = live.end});
    (q % 2 == 0 ? queries[q].first : queries[q].end) += q % 2 == 0 ? skipped : -skipped;
  }
  queries[asked] = {.query = query.data(), .out = out, .first = live.first, .end = live.end};
  const size_t splits = static_cast<size_t>(live.end) / kKvSplit + 1;
  std::vector<float> scratch(splits * kMaxAttentionQueries * (2 + KvPaddedDim(dim)));
  attend({.queries = queries.data(),
          .query_count = static_cast<int>(count),
          .blocks = blocks.data(),
          .head_dim = dim,
          .scale = scale,
          .scratch = scratch.data()});
}

// A cache of a narrow type against one of F32 with the same, rounded values.
template <typename Narrow, typename Widen>
bool NarrowCacheAgrees(void (*attend)(const AttentionWork&), std::span<const float> query,
                       const KvRows& rows, LiveKeys live, float scale, Narrow narrow, Widen widen) {
  const size_t dim = query.size();
  const Blocks<uint16_t> stored(rows, live.end, dim, narrow);
  const Blocks<float> widened(rows, live.end, dim, [&](float v) { return widen(narrow(v)); });
  std::vector<float> a(dim), b(dim);
  AttendAmongOthers(attend, stored.pointers, query, live, scale, a.data());
  AttendAmongOthers(golden_kernels->attend_f32, widened.pointers, query, live, scale, b.data());
  return std::memcmp(a.data(), b.data(), dim * sizeof(float)) == 0;
}

}  // namespace

void Attend(std::span<const float> query, const KvRows& rows, LiveKeys live, float scale,
            std::span<float> out) {
  const Blocks<float> blocks(rows, live.end, query.size(), [](float v) { return v; });
  AttendAmongOthers(golden_kernels->attend_f32, blocks.pointers, query, live, scale, out.data());
  const bool agree =
      NarrowCacheAgrees(
          golden_kernels->attend_bf16, query, rows, live, scale,
          [](float v) { return narrow_to_bf16(v); }, [](uint16_t v) { return widen_bf16(v); }) &&
      NarrowCacheAgrees(
          golden_kernels->attend_f16, query, rows, live, scale,
          [](float v) { return narrow_to_fp16(abs_bits(v) < 60000.0f ? v : 60000.0f); },
          [](uint16_t v) { return widen_fp16(v); });
  if (!agree) out[0] = Agreed(1.0f, -1.0f);
}

}  // namespace reenact::local_engine
