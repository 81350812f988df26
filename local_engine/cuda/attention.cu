#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "local_engine/cuda/attention.h"
#include "local_engine/cuda/cache_types.cuh"
#include "local_engine/cuda/device_operations.cuh"
#include "local_engine/numerics/exp_log.h"

namespace reenact::local_engine {
namespace {

constexpr int kSplit = 256;       // Positions; a thread takes one.
constexpr int kSubBlocks = 8;     // Of 32 positions; a warp takes one.
constexpr int kBlockQueries = 8;  // Of rows and heads that share keys, computed together.
constexpr int kLaneValues = 4;    // Neighbouring dimensions of a value that a lane takes.
constexpr int kCombineThreads = 128;
constexpr float kNoKey = -__builtin_huge_valf();

// Results of splits before they are combined: split s of query q (row * head_count + head) is at
// q * split_count + s.
struct SplitResults {
  float2* of_weights = nullptr;  // The maximum and the sum.
  float* values = nullptr;       // [head_dim]
  int split_count = 0;
};

// The queries of a block, and what they see.
struct BlockQueries {
  int count = 0;
  int heads = 0;  // Of each row.
  int first_row = 0;
  int first_head = 0;

  __device__ __forceinline__ int RowOf(int query) const { return first_row + query / heads; }

  __device__ __forceinline__ int HeadOf(int query) const { return first_head + query % heads; }
};

struct SeenKeys {
  int first = 0;
  int end = 0;

  __device__ __forceinline__ bool Has(int position) const {
    return position >= first && position < end;
  }
};

__device__ __forceinline__ SeenKeys KeysSeenBy(int position, int window) {
  if (Planted(DeviceFault::kWindowOfOneMore) && window > 0) ++window;
  const int end = position + (Planted(DeviceFault::kKeyAfterTheToken) ? 2 : 1);
  return {window > 0 ? max(0, position + 1 - window) : 0, end};
}

// Followed by floats: queries [kBlockQueries][head_dim], then the sums of values of each sub-block,
// [kSubBlocks][kBlockQueries][head_dim].
struct AttentionShared {
  SeenKeys seen[kBlockQueries];
  float maxima[kSubBlocks][kBlockQueries];
  float sums[kSubBlocks][kBlockQueries];
  float weights[kSubBlocks][kBlockQueries][kWarpLanes];

  __device__ float* Query(int query, int dim) {
    return reinterpret_cast<float*>(this + 1) + query * dim;
  }

  __device__ float* Values(int sub_block, int query, int dim) {
    return reinterpret_cast<float*>(this + 1) +
           (kBlockQueries + sub_block * kBlockQueries + query) * dim;
  }
};

size_t AttentionSharedBytes(int dim) {
  return sizeof(AttentionShared) +
         static_cast<size_t>((1 + kSubBlocks) * kBlockQueries * dim) * sizeof(float);
}

// q.k of one stored key for every query of the block.
template <typename Cache>
__device__ __forceinline__ void Scores(const unsigned char* block, int slot, int dim, int queries,
                                       AttentionShared* shared, float (&scores)[kBlockQueries]) {
  const auto* units = reinterpret_cast<const uint4*>(block) + slot;
  for (int first = 0; first < dim; first += Cache::kUnitValues) {
    const uint4 unit = units[first / Cache::kUnitValues * kKvPagePositions];
#pragma unroll
    for (int i = 0; i < Cache::kUnitValues; ++i) {
      if (first + i >= dim) break;
      const float k = Cache::At(unit, i);
#pragma unroll
      for (int q = 0; q < kBlockQueries; ++q) {
        if (q < queries) scores[q] = fma_rn(shared->Query(q, dim)[first + i], k, scores[q]);
      }
    }
  }
}

// Sums of weighted values over the keys of the warp's sub-block, in their order; a key that a query
// does not see executes nothing in its chain.
template <typename Cache>
__device__ __forceinline__ void AddValues(const KvCache& cache, const unsigned char* block,
                                          int first_position, int queries,
                                          AttentionShared* shared) {
  const int dim = cache.head_dim;
  const int lane = static_cast<int>(threadIdx.x) % kWarpLanes;
  const int warp = static_cast<int>(threadIdx.x) / kWarpLanes;
  for (int first = lane * kLaneValues; first < dim; first += kWarpLanes * kLaneValues) {
    float acc[kBlockQueries][kLaneValues] = {};
    for (int j = 0; j < kKvPagePositions && block != nullptr; ++j) {
      bool any = false;
      for (int q = 0; q < queries; ++q) any = any || shared->seen[q].Has(first_position + j);
      if (!any) continue;
      const unsigned char* value = block + KvValueOffset(cache, j, first);
      float v[kLaneValues];
#pragma unroll
      for (int i = 0; i < kLaneValues; ++i) {
        v[i] = first + i < dim ? Cache::Load(value, i) : 0.0f;
      }
#pragma unroll
      for (int q = 0; q < kBlockQueries; ++q) {
        if (q >= queries || !shared->seen[q].Has(first_position + j)) continue;
        const float weight = shared->weights[warp][q][j];
#pragma unroll
        for (int i = 0; i < kLaneValues; ++i) acc[q][i] = fma_rn(weight, v[i], acc[q][i]);
      }
    }
#pragma unroll
    for (int q = 0; q < kBlockQueries; ++q) {
      if (q >= queries) break;
#pragma unroll
      for (int i = 0; i < kLaneValues; ++i) {
        if (first + i < dim) shared->Values(warp, q, dim)[first + i] = acc[q][i];
      }
    }
  }
}

// Adds the sub-blocks in their order and stores the split's result.
__device__ __forceinline__ void StoreSplit(const BlockQueries& block, const AttentionRows& rows,
                                           int split, int dim, const SplitResults& results,
                                           AttentionShared* shared) {
  for (int i = static_cast<int>(threadIdx.x); i < block.count * dim; i += kSplit) {
    const int q = i / dim;
    const size_t at = static_cast<size_t>(block.RowOf(q) * rows.head_count + block.HeadOf(q)) *
                          static_cast<size_t>(results.split_count) +
                      static_cast<size_t>(split);
    float sum = 0.0f;
    for (int b = 0; b < kSubBlocks; ++b) sum = add_rn(sum, shared->Values(b, q, dim)[i % dim]);
    results.values[at * static_cast<size_t>(dim) + static_cast<size_t>(i % dim)] = sum;
    if (i % dim != 0) continue;
    float maximum = shared->maxima[0][q];
    float weight_sum = 0.0f;
    for (int b = 0; b < kSubBlocks; ++b) {
      maximum = max_select(shared->maxima[b][q], maximum);
      weight_sum = add_rn(weight_sum, shared->sums[b][q]);
    }
    results.of_weights[at] = make_float2(maximum, weight_sum);
  }
}

// A block: one tile, one KV head and up to 8 of its query heads. A thread is a position of the
// split for the scores; a warp is a sub-block for the values.
template <typename Cache>
__global__ void __launch_bounds__(kSplit)
    AttendSplitKernel(const __grid_constant__ StepPositions step,
                      const __grid_constant__ AttentionRows rows, const AttentionTile* tiles,
                      const __grid_constant__ KvCache cache,
                      const __grid_constant__ SplitResults results) {
  auto* shared = SharedMemory<AttentionShared>();
  const AttentionTile tile = tiles[blockIdx.x];
  const int group = rows.head_count / cache.kv_head_count;
  const int kv_head = static_cast<int>(blockIdx.y);
  const int first_of_group = static_cast<int>(blockIdx.z) * kBlockQueries;
  const int heads = min(kBlockQueries, group - first_of_group);
  const BlockQueries block = {tile.row_count * heads, heads, tile.first_row,
                              kv_head * group + first_of_group};
  const int dim = cache.head_dim;
  const int thread = static_cast<int>(threadIdx.x);
  const int lane = thread % kWarpLanes;
  const int warp = thread / kWarpLanes;

  if (thread < block.count) {
    shared->seen[thread] = KeysSeenBy(step.positions[block.RowOf(thread)], rows.window);
  }
  for (int i = thread; i < block.count * dim; i += kSplit) {
    const int q = i / dim;
    const size_t at = static_cast<size_t>(block.RowOf(q) * rows.head_count + block.HeadOf(q)) *
                          static_cast<size_t>(dim) +
                      static_cast<size_t>(i % dim);
    shared->Query(q, dim)[i % dim] = rows.queries[at];
  }
  __syncthreads();

  // Rows are in the order of their positions: the first one begins and the last one ends the keys.
  const int position = tile.split * kSplit + thread;
  const int sub_block_first = tile.split * kSplit + warp * kWarpLanes;
  const SeenKeys all = {shared->seen[0].first, shared->seen[block.count - 1].end};
  const unsigned char* memory = nullptr;
  if (sub_block_first < all.end && sub_block_first + kWarpLanes > all.first) {
    const int page =
        step.pages[step.first_pages[tile.first_row] + sub_block_first / kKvPagePositions];
    memory = cache.pages + KvBlockOffset(cache, page, rows.layer, kv_head);
  }
  float scores[kBlockQueries] = {};
  if (all.Has(position)) Scores<Cache>(memory, lane, dim, block.count, shared, scores);
#pragma unroll
  for (int q = 0; q < kBlockQueries; ++q) {
    if (q >= block.count) break;
    const bool seen = shared->seen[q].Has(position);
    scores[q] = seen ? mul_rn(scores[q], rows.scale) : kNoKey;
    const float maximum = WarpMaximum(scores[q]);
    if (lane == 0) shared->maxima[warp][q] = maximum;
  }
  __syncthreads();
#pragma unroll
  for (int q = 0; q < kBlockQueries; ++q) {
    if (q >= block.count) break;
    float maximum = shared->maxima[0][q];
    for (int b = 1; b < kSubBlocks; ++b) maximum = max_select(shared->maxima[b][q], maximum);
    if (Planted(DeviceFault::kMaximumOfSubBlock)) maximum = shared->maxima[warp][q];
    const bool seen = shared->seen[q].Has(position);
    const float weight = seen ? Exp(sub_rn(scores[q], maximum)) : 0.0f;
    shared->weights[warp][q][lane] = weight;
    const float sum = WarpTree(weight);
    if (lane == 0) shared->sums[warp][q] = sum;
  }
  __syncwarp();
  AddValues<Cache>(cache, memory, sub_block_first, block.count, shared);
  __syncthreads();
  StoreSplit(block, rows, tile.split, dim, results, shared);
}

// A block: one head of one row. Splits in index order; those without a key that is seen do not
// exist.
__global__ void __launch_bounds__(kCombineThreads)
    CombineSplitsKernel(const __grid_constant__ StepPositions step,
                        const __grid_constant__ AttentionRows rows, int dim,
                        const __grid_constant__ SplitResults results) {
  const int row = static_cast<int>(blockIdx.y);
  const size_t query = static_cast<size_t>(row) * static_cast<size_t>(rows.head_count) + blockIdx.x;
  const SeenKeys seen = KeysSeenBy(step.positions[row], rows.window);
  const int first = seen.first / kSplit;
  const int end = (seen.end + kSplit - 1) / kSplit;
  const size_t at = query * static_cast<size_t>(results.split_count);
  float maximum = kNoKey;
  for (int s = first; s < end; ++s) {
    maximum = max_select(results.of_weights[at + static_cast<size_t>(s)].x, maximum);
  }
  for (int d = static_cast<int>(threadIdx.x); d < dim; d += kCombineThreads) {
    float sum = 0.0f;
    float value = 0.0f;
    for (int s = first; s < end; ++s) {
      const bool backwards = Planted(DeviceFault::kSplitsByBatch) && step.row_count > 1;
      const size_t split = at + static_cast<size_t>(backwards ? first + end - 1 - s : s);
      const float2 of_split = results.of_weights[split];
      const float weight = Exp(sub_rn(of_split.x, maximum));
      sum = fma_rn(weight, of_split.y, sum);
      value = fma_rn(
          weight, results.values[split * static_cast<size_t>(dim) + static_cast<size_t>(d)], value);
    }
    rows.out[query * static_cast<size_t>(dim) + static_cast<size_t>(d)] = div_rn(value, sum);
  }
}

}  // namespace

void AttentionPlan::Make(std::span<const int32_t> positions, std::span<const int32_t> first_pages,
                         int group, CudaDevice& device) {
  const auto at_once = static_cast<size_t>(std::max(1, kBlockQueries / group));
  tiles_.clear();
  split_count_ = 0;
  for (size_t row = 0; row < positions.size();) {
    size_t end = row + 1;
    while (end < positions.size() && end - row < at_once && first_pages[end] == first_pages[row]) {
      ++end;
    }
    const int32_t splits = positions[end - 1] / kSplit + 1;
    for (int32_t split = 0; split < splits; ++split) {
      tiles_.push_back({static_cast<int32_t>(row), static_cast<int32_t>(end - row), split});
    }
    split_count_ = std::max(split_count_, static_cast<int>(splits));
    row = end;
  }
  const size_t size_bytes = tiles_.size() * sizeof(AttentionTile);
  if (!device.Reserve(size_bytes, &device_tiles_)) return;
  device.Copy(device_tiles_.As<void>(), tiles_.data(), size_bytes);
}

void AttendRows(const StepPositions& step, const AttentionRows& rows, const AttentionPlan& plan,
                const KvCache& cache, CudaDevice& device) {
  const size_t queries = static_cast<size_t>(step.row_count) * static_cast<size_t>(rows.head_count);
  const size_t splits = queries * static_cast<size_t>(plan.split_count());
  const auto dim = static_cast<size_t>(cache.head_dim);
  std::byte* memory =
      device.Scratch(ScratchUse::kSplits, splits * (sizeof(float2) + dim * sizeof(float)));
  if (memory == nullptr) return;
  const SplitResults results = {
      .of_weights = reinterpret_cast<float2*>(memory),
      .values = reinterpret_cast<float*>(memory + splits * sizeof(float2)),
      .split_count = plan.split_count()};
  const int group = rows.head_count / cache.kv_head_count;
  const auto kernel = cache.type == DataType::kF32    ? AttendSplitKernel<F32Cache>
                      : cache.type == DataType::kBF16 ? AttendSplitKernel<NarrowCache<true>>
                                                      : AttendSplitKernel<NarrowCache<false>>;
  device.Launch({.blocks = dim3(static_cast<unsigned>(plan.tile_count()),
                                static_cast<unsigned>(cache.kv_head_count),
                                static_cast<unsigned>((group + kBlockQueries - 1) / kBlockQueries)),
                 .threads = kSplit,
                 .shared_bytes = AttentionSharedBytes(cache.head_dim)},
                kernel, step, rows, plan.tiles(), cache, results);
  device.Launch({.blocks = dim3(static_cast<unsigned>(rows.head_count),
                                static_cast<unsigned>(step.row_count)),
                 .threads = kCombineThreads},
                CombineSplitsKernel, step, rows, cache.head_dim, results);
}

}  // namespace reenact::local_engine
