// Attention of some queries over one KV head, in the order of reference/attention.h. Scores: vector
// lanes are keys, so that a score stays one chain over the head's dimensions. Weighted values:
// lanes are dimensions, so that each stays one chain over the keys. Keys and values that were
// loaded are used for several queries at once.

#ifndef REENACT_LOCAL_ENGINE_CPU_INTERNAL_ATTENTION_KERNEL_H_
#define REENACT_LOCAL_ENGINE_CPU_INTERNAL_ATTENTION_KERNEL_H_

#include <cstddef>
#include <cstdint>

#include "local_engine/cpu/internal/kernel_table.h"
#include "local_engine/cpu/internal/kv_block_layout.h"
#include "local_engine/cpu/internal/lanes.h"
#include "local_engine/cpu/internal/planted_kernel_fault.h"
#include "local_engine/numerics/exp_log.h"
#include "local_engine/numerics/operations.h"

namespace reenact::local_engine {
namespace {

constexpr int32_t kSplitPositions = 256;
constexpr int32_t kBlocksPerSplit = kSplitPositions / kKvBlockPositions;

struct F32Cache {
  using Element = float;

  REENACT_NUMERICS_FN Lanes Widen(const float* p) { return Load(p); }
};

struct F16Cache {
  using Element = uint16_t;

  REENACT_NUMERICS_FN Lanes Widen(const uint16_t* p) { return WidenF16(p); }
};

struct Bf16Cache {
  using Element = uint16_t;

  REENACT_NUMERICS_FN Lanes Widen(const uint16_t* p) { return WidenBf16(p); }
};

REENACT_NUMERICS_FN int32_t Smaller(int32_t a, int32_t b) {
  return a < b ? a : b;
}

REENACT_NUMERICS_FN int32_t Larger(int32_t a, int32_t b) {
  return a > b ? a : b;
}

// What a split gives for one query: the largest score, the sum of weights, and then the weighted
// values, padded to whole vectors.
REENACT_NUMERICS_FN size_t SplitResultFloats(size_t head_dim) {
  return 2 + KvPaddedDim(head_dim);
}

template <typename Cache, int kQueries>
REENACT_NUMERICS_FN void ScoreBlock(const AttentionQuery* queries,
                                    const typename Cache::Element* keys, size_t head_dim,
                                    float scale, int32_t at, float (*scores)[kSplitPositions]) {
  Lanes low[kQueries], high[kQueries];
#pragma GCC unroll 8
  for (int q = 0; q < kQueries; ++q) low[q] = high[q] = Zero();
  for (size_t d = 0; d < head_dim; ++d) {
    const Lanes key_low = Cache::Widen(keys);
    const Lanes key_high = Cache::Widen(keys + 16);
    keys += kKvBlockPositions;
#pragma GCC unroll 8
    for (int q = 0; q < kQueries; ++q) {
      const float of_query = queries[q].query[d];
      const Lanes value =
          Broadcast(Planted(KernelFault::kQueryScaled) ? mul_rn(of_query, scale) : of_query);
      low[q] = Fma(value, key_low, low[q]);
      high[q] = Fma(value, key_high, high[q]);
    }
  }
  const Lanes scales = Broadcast(Planted(KernelFault::kQueryScaled) ? 1.0f : scale);
#pragma GCC unroll 8
  for (int q = 0; q < kQueries; ++q) {
    Store(scores[q] + at, Mul(low[q], scales));
    Store(scores[q] + at + 16, Mul(high[q], scales));
  }
}

// Turns scores into weights: Exp(score - maximum) for live keys, +0 for the others of their blocks,
// whose scores become -infinity. `first` and `end` are live and relative to the split; at least one
// is. The sign of a maximum that is zero has no effect on any weight.
REENACT_NUMERICS_FN void WeighScores(int32_t first, int32_t end, float floor, float* scores,
                                     float* result) {
  const int32_t begin = first / kKvBlockPositions * kKvBlockPositions;
  const int32_t padded_end = (end + kKvBlockPositions - 1) / kKvBlockPositions * kKvBlockPositions;
  for (int32_t j = begin; j < first; ++j) scores[j] = float_from_bits(0xff800000u);
  for (int32_t j = end; j < padded_end; ++j) scores[j] = float_from_bits(0xff800000u);
  Lanes largest = Broadcast(floor);
  for (int32_t j = begin; j < padded_end; j += 16) largest = Max(Load(scores + j), largest);
  alignas(64) float lanes[16];
  Store(lanes, largest);
  float maximum = floor;
  for (float lane : lanes) maximum = max_select(lane, maximum);
  for (int32_t j = begin; j < padded_end; ++j) scores[j] = Exp(sub_rn(scores[j], maximum));
  float sum = 0.0f;
  for (int32_t j = begin; j < end; j += kKvBlockPositions) {
    if (Planted(KernelFault::kWeightsInOrder)) {
      for (int32_t i = j; i < j + kKvBlockPositions; ++i) sum = add_rn(sum, scores[i]);
      continue;
    }
    sum = add_rn(sum, Halve16(Add(Load(scores + j), Load(scores + j + 16))));
  }
  result[0] = maximum;
  result[1] = sum;
}

// Vectors of dimensions that are summed together, for so many queries: what registers there are.
#if defined(REENACT_KERNELS_avx512)
template <int kQueries>
constexpr int kValueVectors = kQueries > 4 ? 2 : 4;
#else
template <int kQueries>
constexpr int kValueVectors = kQueries > 1 ? 2 : 4;
#endif

// Where a query is live, relative to the beginning of a split or a block; empty when first >= end.
struct KeySpan {
  int32_t first, end;
};

// Of the keys that any of some queries sees, those in the middle that all of them see.
struct SharedKeys {
  int32_t begin, shared_begin, shared_end, end;
};

template <int kQueries>
REENACT_NUMERICS_FN SharedKeys SharedBy(const KeySpan* live) {
  SharedKeys keys = {kKvBlockPositions, 0, kKvBlockPositions, 0};
  for (int q = 0; q < kQueries; ++q) {
    keys.shared_begin = Larger(keys.shared_begin, live[q].first);
    keys.shared_end = Smaller(keys.shared_end, live[q].end);
    if (live[q].first >= live[q].end) continue;
    keys.begin = Smaller(keys.begin, live[q].first);
    keys.end = Larger(keys.end, live[q].end);
  }
  if (keys.shared_begin < keys.shared_end) return keys;
  return {keys.begin, keys.end, keys.end, keys.end};
}

// The weighted values of one block, for `kQueries` queries and `kVectors` vectors of dimensions
// from `values` on; a row of values has `dim`. `weights`: [kQueries][kSplitPositions].
template <typename Cache, int kQueries, int kVectors>
struct BlockValues {
  const typename Cache::Element* values;
  size_t dim;
  const float* weights;
  Lanes acc[kQueries][kVectors];

  // Adds the keys [first, end). With `kAsks`, those that are not live for a query are left out: a
  // product with zero would turn a -0 or show what a dead key holds.
  template <bool kAsks>
  REENACT_NUMERICS_FN void Add(BlockValues* self, const KeySpan* live, int32_t first, int32_t end) {
    for (int32_t j = first; j < end; ++j) {
      const auto* row = self->values + static_cast<size_t>(j) * self->dim;
      Lanes value[kVectors];
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) value[v] = Cache::Widen(row + 16 * v);
#pragma GCC unroll 8
      for (int q = 0; q < kQueries; ++q) {
        if (kAsks && (j < live[q].first || j >= live[q].end)) continue;
        const Lanes weight = Broadcast(self->weights[q * kSplitPositions + j]);
#pragma GCC unroll 4
        for (int v = 0; v < kVectors; ++v) {
          self->acc[q][v] = Fma(weight, value[v], self->acc[q][v]);
        }
      }
    }
  }
};

// Adds one block to the weighted values of `kQueries` queries, from dimension `from` on and
// `kVectors` vectors at a time; returns how far it came. sums: [kQueries] at `sum_stride`.
template <typename Cache, int kQueries, int kVectors>
REENACT_NUMERICS_FN size_t AddValues(const typename Cache::Element* values, size_t dim, size_t from,
                                     const KeySpan* live, const float* weights, float* sums,
                                     size_t sum_stride) {
  using Block = BlockValues<Cache, kQueries, kVectors>;
  const SharedKeys keys = SharedBy<kQueries>(live);
  for (; from + 16 * kVectors <= dim; from += 16 * kVectors) {
    Block block = {values + from, dim, weights, {}};
#pragma GCC unroll 8
    for (int q = 0; q < kQueries; ++q) {
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) block.acc[q][v] = Zero();
    }
    Block::template Add<true>(&block, live, keys.begin, keys.shared_begin);
    Block::template Add<false>(&block, live, keys.shared_begin, keys.shared_end);
    Block::template Add<true>(&block, live, keys.shared_end, keys.end);
#pragma GCC unroll 8
    for (int q = 0; q < kQueries; ++q) {
      if (live[q].first >= live[q].end) continue;
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) {
        float* sum = sums + static_cast<size_t>(q) * sum_stride + from + 16 * v;
        Store(sum, reenact::local_engine::Add(Load(sum), block.acc[q][v]));
      }
    }
  }
  return from;
}

template <typename Cache, int kQueries>
REENACT_NUMERICS_FN void AttendSplit(const AttentionWork& work, const AttentionQuery* queries,
                                     int32_t split, size_t result_floats, float* results) {
  using Element = typename Cache::Element;
  const int32_t begin = split * kSplitPositions;
  const size_t dim = KvPaddedDim(work.head_dim);
  alignas(64) float scores[kQueries][kSplitPositions];
  KeySpan live[kQueries];
  int32_t first = kSplitPositions, end = 0;
  for (int q = 0; q < kQueries; ++q) {
    live[q] = {Larger(queries[q].first - begin, 0),
               Smaller(queries[q].end - begin, kSplitPositions)};
    if (live[q].first >= live[q].end) continue;
    first = Smaller(first, live[q].first);
    end = Larger(end, live[q].end);
  }
  const int32_t first_block = first / kKvBlockPositions;
  const int32_t block_end = (end + kKvBlockPositions - 1) / kKvBlockPositions;
  for (int32_t block = first_block; block < block_end; ++block) {
    const auto* keys = static_cast<const Element*>(work.blocks[split * kBlocksPerSplit + block]);
    ScoreBlock<Cache, kQueries>(queries, keys, work.head_dim, work.scale, block * kKvBlockPositions,
                                scores);
  }
  // What a maximum starts from.
  float floor = float_from_bits(0xff800000u);
  if (Planted(KernelFault::kMaximumFromZero)) floor = 0.0f;
  for (int q = 0; q < kQueries && Planted(KernelFault::kMaximumOfGroup); ++q) {
    for (int32_t j = live[q].first; j < live[q].end; ++j) floor = max_select(scores[q][j], floor);
  }
  for (int q = 0; q < kQueries; ++q) {
    float* result = results + static_cast<size_t>(q) * result_floats;
    for (size_t d = 0; d < dim; ++d) result[2 + d] = 0.0f;
    if (live[q].first < live[q].end) {
      WeighScores(live[q].first, live[q].end, floor, scores[q], result);
    } else {
      result[1] = -1.0f;  // No live key: such a split does not exist.
    }
  }
  for (int32_t block = first_block; block < block_end; ++block) {
    const int32_t at = block * kKvBlockPositions;
    const auto* values = static_cast<const Element*>(work.blocks[split * kBlocksPerSplit + block]) +
                         work.head_dim * kKvBlockPositions;
    KeySpan in_block[kQueries];
    for (int q = 0; q < kQueries; ++q) {
      in_block[q] = {Larger(live[q].first - at, 0), Smaller(live[q].end - at, kKvBlockPositions)};
      if (Planted(KernelFault::kMaskedKeysMultiplied) && in_block[q].first < in_block[q].end) {
        in_block[q] = {0, kKvBlockPositions};
      }
    }
    const float* weights = scores[0] + at;
    const size_t from = AddValues<Cache, kQueries, kValueVectors<kQueries>>(
        values, dim, 0, in_block, weights, results + 2, result_floats);
    AddValues<Cache, kQueries, 1>(values, dim, from, in_block, weights, results + 2, result_floats);
  }
}

// Splits in index order. results: [splits] at `stride` floats.
REENACT_NUMERICS_FN void CombineSplits(const float* results, int32_t splits, size_t stride,
                                       size_t head_dim, float* out) {
  float maximum = float_from_bits(0xff800000u);
  for (int32_t s = 0; s < splits; ++s) {
    const float* result = results + static_cast<size_t>(s) * stride;
    if (result[1] >= 0.0f) maximum = max_select(result[0], maximum);
  }
  for (size_t d = 0; d < head_dim; ++d) out[d] = 0.0f;
  float sum = 0.0f;
  for (int32_t s = 0; s < splits; ++s) {
    const float* result = results + static_cast<size_t>(s) * stride;
    if (result[1] < 0.0f) continue;
    const float weight = Exp(sub_rn(result[0], maximum));
    sum = fma_rn(weight, result[1], sum);
    for (size_t d = 0; d < head_dim; ++d) out[d] = fma_rn(weight, result[2 + d], out[d]);
  }
  for (size_t d = 0; d < head_dim; ++d) out[d] = div_rn(out[d], sum);
}

template <typename Cache, int kQueries>
__attribute__((noinline)) void AttendQueries(const AttentionWork& work,
                                             const AttentionQuery* queries) {
  int32_t first = queries[0].first, end = queries[0].end;
  for (int q = 1; q < kQueries; ++q) {
    first = Smaller(first, queries[q].first);
    end = Larger(end, queries[q].end);
  }
  const int32_t first_split = first / kSplitPositions;
  const int32_t splits = (end - 1) / kSplitPositions + 1 - first_split;
  const size_t result_floats = SplitResultFloats(work.head_dim);
  for (int32_t s = 0; s < splits; ++s) {
    AttendSplit<Cache, kQueries>(work, queries, first_split + s, result_floats,
                                 work.scratch + static_cast<size_t>(s) * kQueries * result_floats);
  }
  for (int q = 0; q < kQueries; ++q) {
    CombineSplits(work.scratch + static_cast<size_t>(q) * result_floats, splits,
                  kQueries * result_floats, work.head_dim, queries[q].out);
  }
}

template <typename Cache>
void Attend(const AttentionWork& work) {
  int q = 0;
#if defined(REENACT_KERNELS_avx512)
  for (; q + 8 <= work.query_count; q += 8) AttendQueries<Cache, 8>(work, work.queries + q);
#endif
#if defined(REENACT_KERNELS_avx512) || defined(REENACT_KERNELS_avx2) || \
    defined(REENACT_KERNELS_neon) || defined(REENACT_PLANTED_FAULTS)
  for (; q + 4 <= work.query_count; q += 4) AttendQueries<Cache, 4>(work, work.queries + q);
  for (; q + 2 <= work.query_count; q += 2) AttendQueries<Cache, 2>(work, work.queries + q);
#endif
  for (; q < work.query_count; ++q) AttendQueries<Cache, 1>(work, work.queries + q);
}

}  // namespace
}  // namespace reenact::local_engine

#endif  // REENACT_LOCAL_ENGINE_CPU_INTERNAL_ATTENTION_KERNEL_H_
