// The types of weights that are widened to binary32 before they are multiplied. A unit is what one
// thread reads at once.

#ifndef REENACT_LOCAL_ENGINE_CUDA_WEIGHT_TYPES_CUH_
#define REENACT_LOCAL_ENGINE_CUDA_WEIGHT_TYPES_CUH_

#include "local_engine/cuda/device_operations.cuh"
#include "local_engine/cuda/panel_layout.cuh"

namespace reenact::local_engine {

struct F32Weights {
  static constexpr int kValueBytes = 4;
  static constexpr int kValues = 4;  // Of a unit.

  __device__ __forceinline__ static void Widen(const uint4& unit, float* w) {
    w[0] = float_from_bits(unit.x);
    w[1] = float_from_bits(unit.y);
    w[2] = float_from_bits(unit.z);
    w[3] = float_from_bits(unit.w);
  }
};

struct F16Weights {
  static constexpr int kValueBytes = 2;
  static constexpr int kValues = 8;

  __device__ __forceinline__ static void Widen(const uint4& unit, float* w) {
    const uint32_t words[4] = {unit.x, unit.y, unit.z, unit.w};
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      w[2 * i] = WidenF16(static_cast<uint16_t>(words[i]));
      w[2 * i + 1] = WidenF16(static_cast<uint16_t>(words[i] >> 16));
    }
  }
};

struct Bf16Weights {
  static constexpr int kValueBytes = 2;
  static constexpr int kValues = 8;

  __device__ __forceinline__ static void Widen(const uint4& unit, float* w) {
    const uint32_t words[4] = {unit.x, unit.y, unit.z, unit.w};
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      w[2 * i] = float_from_bits(words[i] << 16);
      w[2 * i + 1] = float_from_bits(words[i] & 0xffff0000u);
    }
  }
};

}  // namespace reenact::local_engine

#endif  // REENACT_LOCAL_ENGINE_CUDA_WEIGHT_TYPES_CUH_
