#include <cstddef>
#include <cstdint>

#include "local_engine/cuda/device_operations.cuh"
#include "local_engine/cuda/inverse_norm.cuh"
#include "local_engine/cuda/rotate.h"

namespace reenact::local_engine {
namespace {

struct RotateShared {
  ClassSums sums;
  float head[1];  // head_dim of them.
};

// What is stored, as it will be read.
__device__ __forceinline__ float StoreRounded(DataType type, float value, unsigned char* to) {
  if (type == DataType::kF32) {
    *reinterpret_cast<float*>(to) = value;
    return value;
  }
  const uint16_t narrow = type == DataType::kF16 ? narrow_to_fp16(value) : narrow_to_bf16(value);
  *reinterpret_cast<uint16_t*>(to) = narrow;
  return type == DataType::kF16 ? widen_fp16(narrow) : widen_bf16(narrow);
}

// The rotated value of dimension `d`, from the whole head.
__device__ __forceinline__ float Rotated(const float* head, const float* cos, const float* sin,
                                         int half, int d) {
  const int i = d < half ? d : d - half;
  const float low = head[i];
  const float high = head[i + half];
  if (d < half) return sub_rn(mul_rn(low, cos[i]), mul_rn(high, sin[i]));
  return add_rn(mul_rn(high, cos[i]), mul_rn(low, sin[i]));
}

// The row's own memory for one head of keys or values.
struct HeadPlace {
  unsigned char* block;
  int slot;
};

__device__ __forceinline__ HeadPlace PlaceOf(const StepPositions& step, const KvCache& cache,
                                             int layer, int row, int kv_head) {
  const int position = step.positions[row];
  const int page = step.pages[step.first_pages[row] + position / kKvPagePositions];
  return {cache.pages + KvBlockOffset(cache, page, layer, kv_head), position % kKvPagePositions};
}

// A block takes one head of one row: queries, then keys, then values.
__global__ void __launch_bounds__(kClassCount)
    RotateAndStoreKernel(const __grid_constant__ StepPositions step,
                         const __grid_constant__ HeadRows heads,
                         const __grid_constant__ KvCache cache) {
  auto* shared = SharedMemory<RotateShared>();
  const int row = static_cast<int>(blockIdx.y);
  const int index = static_cast<int>(blockIdx.x);
  const int dim = cache.head_dim;
  const bool is_query = index < heads.head_count;
  const bool is_key = !is_query && index < heads.head_count + cache.kv_head_count;
  const int head = is_query ? index : (index - heads.head_count) % cache.kv_head_count;
  const size_t at = (static_cast<size_t>(row) *
                         static_cast<size_t>(is_query ? heads.head_count : cache.kv_head_count) +
                     static_cast<size_t>(head)) *
                    static_cast<size_t>(dim);
  const float* x = (is_query ? heads.queries : is_key ? heads.keys : heads.values) + at;
  const float* norm = is_query ? heads.query_norm : is_key ? heads.key_norm : nullptr;
  const float inverse = norm == nullptr ? 0.0f : InverseNorm(x, dim, heads.epsilon, &shared->sums);
  for (int d = static_cast<int>(threadIdx.x); d < dim; d += kClassCount) {
    shared->head[d] = norm == nullptr ? x[d] : mul_rn(mul_rn(x[d], inverse), norm[d]);
  }
  __syncthreads();
  const size_t table = static_cast<size_t>(step.positions[row]) * static_cast<size_t>(dim / 2);
  const HeadPlace place = PlaceOf(step, cache, heads.layer, row, is_query ? 0 : head);
  for (int d = static_cast<int>(threadIdx.x); d < dim; d += kClassCount) {
    const float value =
        is_query || is_key ? Rotated(shared->head, heads.cos + table, heads.sin + table, dim / 2, d)
                           : shared->head[d];
    LayerFault fault = kQueryFault;
    float kept = value;
    if (is_query) {
      heads.queries[at + static_cast<size_t>(d)] = value;
    } else {
      fault = is_key ? kKeyFault : kValueFault;
      const int offset =
          is_key ? KvKeyOffset(cache, place.slot, d) : KvValueOffset(cache, place.slot, d);
      kept = StoreRounded(cache.type, value, place.block + offset);
    }
    NoteIfNotFinite({heads.first_fault, heads.layer * kFaultsOfLayer + fault}, row, kept);
  }
}

}  // namespace

void RotateAndStore(const StepPositions& step, const HeadRows& heads, const KvCache& cache,
                    CudaDevice& device) {
  const int all_heads = heads.head_count + 2 * cache.kv_head_count;
  device.Launch(
      {.blocks = dim3(static_cast<unsigned>(all_heads), static_cast<unsigned>(step.row_count)),
       .threads = kClassCount,
       .shared_bytes = sizeof(RotateShared) + static_cast<size_t>(cache.head_dim) * sizeof(float)},
      RotateAndStoreKernel, step, heads, cache);
}

}  // namespace reenact::local_engine
