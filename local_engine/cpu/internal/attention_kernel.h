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

// Adds the keys [first, end) of one block to the weighted values of `kQueries` queries, `kVectors`
// vectors of dimensions at a time.
template <typename Cache, int kQueries, int kVectors>
REENACT_NUMERICS_FN size_t AddValues(const typename Cache::Element* values, size_t dim, size_t from,
                                     int32_t first, int32_t end, const float* const* weights,
                                     float* const* sums) {
  for (; from + 16 * kVectors <= dim; from += 16 * kVectors) {
    Lanes acc[kQueries][kVectors];
#pragma GCC unroll 8
    for (int q = 0; q < kQueries; ++q) {
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) acc[q][v] = Zero();
    }
    for (int32_t j = first; j < end; ++j) {
      const auto* row = values + static_cast<size_t>(j) * dim + from;
      Lanes value[kVectors];
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) value[v] = Cache::Widen(row + 16 * v);
#pragma GCC unroll 8
      for (int q = 0; q < kQueries; ++q) {
        const Lanes weight = Broadcast(weights[q][j]);
#pragma GCC unroll 4
        for (int v = 0; v < kVectors; ++v) acc[q][v] = Fma(weight, value[v], acc[q][v]);
      }
    }
#pragma GCC unroll 8
    for (int q = 0; q < kQueries; ++q) {
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) {
        float* sum = sums[q] + from + 16 * v;
        Store(sum, Add(Load(sum), acc[q][v]));
      }
    }
  }
  return from;
}

// Where a query is live in a split, relative to its beginning; empty when first >= end.
struct LiveInSplit {
  int32_t first, end;
};

template <typename Cache, int kQueries>
REENACT_NUMERICS_FN void AttendSplit(const AttentionWork& work, const AttentionQuery* queries,
                                     int32_t split, size_t result_floats, float* results) {
  using Element = typename Cache::Element;
  const int32_t begin = split * kSplitPositions;
  const size_t dim = KvPaddedDim(work.head_dim);
  alignas(64) float scores[kQueries][kSplitPositions];
  LiveInSplit live[kQueries];
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
  float* sums[kQueries];
  const float* weights[kQueries];
  for (int q = 0; q < kQueries; ++q) {
    float* result = results + static_cast<size_t>(q) * result_floats;
    sums[q] = result + 2;
    for (size_t d = 0; d < dim; ++d) sums[q][d] = 0.0f;
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
    bool all_live = true;
    for (int q = 0; q < kQueries; ++q) {
      weights[q] = scores[q] + at;
      all_live &= live[q].first <= at && live[q].end >= at + kKvBlockPositions;
    }
    if (kQueries > 1 && all_live) {
      size_t from = 0;
      if (kQueries <= 4) {
        from =
            AddValues<Cache, kQueries, 2>(values, dim, from, 0, kKvBlockPositions, weights, sums);
      }
      AddValues<Cache, kQueries, 1>(values, dim, from, 0, kKvBlockPositions, weights, sums);
      continue;
    }
    for (int q = 0; q < kQueries; ++q) {
      int32_t from_key = Larger(live[q].first - at, 0);
      int32_t to_key = Smaller(live[q].end - at, kKvBlockPositions);
      if (from_key >= to_key) continue;
      if (Planted(KernelFault::kMaskedKeysMultiplied)) from_key = 0, to_key = kKvBlockPositions;
      const size_t from =
          AddValues<Cache, 1, 4>(values, dim, 0, from_key, to_key, weights + q, sums + q);
      AddValues<Cache, 1, 1>(values, dim, from, from_key, to_key, weights + q, sums + q);
    }
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
