// How keys and values of each cache type are read: a unit of 16 bytes at a time, or one by one.

#ifndef REENACT_LOCAL_ENGINE_CUDA_CACHE_TYPES_CUH_
#define REENACT_LOCAL_ENGINE_CUDA_CACHE_TYPES_CUH_

#include <cstdint>

#include "local_engine/cuda/device_operations.cuh"

namespace reenact::local_engine {

struct F32Cache {
  static constexpr int kUnitValues = 4;

  __device__ __forceinline__ static float At(const uint4& unit, int i) {
    return float_from_bits(i == 0 ? unit.x : i == 1 ? unit.y : i == 2 ? unit.z : unit.w);
  }

  __device__ __forceinline__ static float Load(const unsigned char* from, int i) {
    return reinterpret_cast<const float*>(from)[i];
  }
};

template <bool kBf16>
struct NarrowCache {
  static constexpr int kUnitValues = 8;

  __device__ __forceinline__ static float Widen(uint16_t narrow) {
    return kBf16 ? widen_bf16(narrow) : WidenF16(narrow);
  }

  __device__ __forceinline__ static float At(const uint4& unit, int i) {
    const uint32_t word = i < 2 ? unit.x : i < 4 ? unit.y : i < 6 ? unit.z : unit.w;
    return Widen(static_cast<uint16_t>(i % 2 == 0 ? word : word >> 16));
  }

  __device__ __forceinline__ static float Load(const unsigned char* from, int i) {
    return Widen(reinterpret_cast<const uint16_t*>(from)[i]);
  }
};

}  // namespace reenact::local_engine

#endif  // REENACT_LOCAL_ENGINE_CUDA_CACHE_TYPES_CUH_
