// Keys and values in device memory, in pages of 32 positions.

#ifndef REENACT_LOCAL_ENGINE_CUDA_KV_CACHE_H_
#define REENACT_LOCAL_ENGINE_CUDA_KV_CACHE_H_

#include <cstddef>
#include <cstdint>

#include "local_engine/weights/tensor.h"

namespace reenact::local_engine {

inline constexpr int kKvPagePositions = 32;

// [page][layer][KV head] blocks of 32 positions:
//   keys    [units of 16 bytes of a key][32 positions][16 bytes]
//   values  [32 positions][a value, to whole units]
// so that a warp reads a unit of 32 keys, or one value, in one run.
struct KvCache {
  unsigned char* pages = nullptr;
  DataType type = DataType::kF32;  // F32, F16 or BF16
  int layer_count = 0;
  int kv_head_count = 0;
  int head_dim = 0;
};

#if defined(__CUDACC__)
#define REENACT_KV_FN static __host__ __device__ __forceinline__
#else
#define REENACT_KV_FN static inline
#endif

REENACT_KV_FN int KvValueBytes(const KvCache& cache) {
  return cache.type == DataType::kF32 ? 4 : 2;
}

// Bytes of one key or value.
REENACT_KV_FN int KvRowBytes(const KvCache& cache) {
  return (cache.head_dim * KvValueBytes(cache) + 15) / 16 * 16;
}

REENACT_KV_FN size_t KvBlockBytes(const KvCache& cache) {
  return static_cast<size_t>(2 * kKvPagePositions) * static_cast<size_t>(KvRowBytes(cache));
}

REENACT_KV_FN size_t KvPageBytes(const KvCache& cache) {
  return KvBlockBytes(cache) * static_cast<size_t>(cache.layer_count) *
         static_cast<size_t>(cache.kv_head_count);
}

REENACT_KV_FN size_t KvBlockOffset(const KvCache& cache, int page, int layer, int kv_head) {
  return KvPageBytes(cache) * static_cast<size_t>(page) +
         KvBlockBytes(cache) *
             (static_cast<size_t>(layer) * static_cast<size_t>(cache.kv_head_count) +
              static_cast<size_t>(kv_head));
}

// Where dimension `d` of the key and the value at `slot` (the position mod 32) stand in a block.
REENACT_KV_FN int KvKeyOffset(const KvCache& cache, int slot, int d) {
  const int at = d * KvValueBytes(cache);
  return at / 16 * 16 * kKvPagePositions + slot * 16 + at % 16;
}

REENACT_KV_FN int KvValueOffset(const KvCache& cache, int slot, int d) {
  return (kKvPagePositions + slot) * KvRowBytes(cache) + d * KvValueBytes(cache);
}

}  // namespace reenact::local_engine

#endif  // REENACT_LOCAL_ENGINE_CUDA_KV_CACHE_H_
