// Rows of activations as products read them: as they are or normalised, as floats or quantised.

#ifndef REENACT_LOCAL_ENGINE_CUDA_ACTIVATIONS_CUH_
#define REENACT_LOCAL_ENGINE_CUDA_ACTIVATIONS_CUH_

#include "local_engine/cuda/device_operations.cuh"
#include "local_engine/cuda/inverse_norm.cuh"

namespace reenact::local_engine {

struct ActivationRows {
  const float* x = nullptr;  // [row_count][dim]
  int row_count = 0;
  int dim = 0;
  // Not null: each row is normalised first, as by RmsNormRows.
  const float* norm_weight = nullptr;  // [dim]
  float epsilon = 0;
};

// `inverse` is that of the row.
__device__ __forceinline__ float ActivationAt(const ActivationRows& rows, int row, int k,
                                              float inverse) {
  const float x =
      rows.x[static_cast<size_t>(row) * static_cast<size_t>(rows.dim) + static_cast<size_t>(k)];
  return rows.norm_weight == nullptr ? x : mul_rn(mul_rn(x, inverse), rows.norm_weight[k]);
}

// The factors of the norm of rows [first_row, first_row + rows_here), where they have one. All of a
// block of 256 calls it.
template <int kRows>
__device__ __forceinline__ void InverseNorms(const ActivationRows& rows, int first_row,
                                             int rows_here, ClassSums* sums,
                                             float (&inverse)[kRows]) {
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
    inverse[r] = 0.0f;
    if (rows.norm_weight == nullptr || r >= rows_here) continue;
    const size_t at = static_cast<size_t>(first_row + r) * static_cast<size_t>(rows.dim);
    inverse[r] = InverseNorm(rows.x + at, rows.dim, rows.epsilon, sums);
  }
}

// The scale of a group whose largest magnitude is `largest`.
__device__ __forceinline__ float QuantisedScale(float largest) {
  return div_rn(largest, 127.0f);
}

__device__ __forceinline__ int QuantisedValue(float x, float scale) {
  if (scale == 0.0f) return 0;
  const int nearest = round_to_int(div_rn(x, scale));
  return nearest < -127 ? -127 : (nearest > 127 ? 127 : nearest);
}

// Signed bytes in a word, the first one lowest.
__device__ __forceinline__ uint32_t ByteOfWord(int value, int index) {
  return (static_cast<uint32_t>(value) & 0xffu) << (8 * index);
}

}  // namespace reenact::local_engine

#endif  // REENACT_LOCAL_ENGINE_CUDA_ACTIVATIONS_CUH_
