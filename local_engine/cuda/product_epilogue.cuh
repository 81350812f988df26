// What becomes of the sums of a product.

#ifndef REENACT_LOCAL_ENGINE_CUDA_PRODUCT_EPILOGUE_CUH_
#define REENACT_LOCAL_ENGINE_CUDA_PRODUCT_EPILOGUE_CUH_

#include "local_engine/cuda/activations.cuh"
#include "local_engine/cuda/matrix.h"
#include "local_engine/cuda/panel_layout.cuh"
#include "local_engine/numerics/exp_log.h"

namespace reenact::local_engine {

inline constexpr int kMostMatrices = 3;  // That read the same rows, in one launch.

struct ProductArguments {
  ActivationRows rows;
  MatrixView matrices[kMostMatrices];
  float* y[kMostMatrices] = {};  // [row_count][output_dim]
  int matrix_count = 0;
  bool adds = false;  // y = y + (W x + bias) in place of W x + bias.
  FiniteCheck check;  // Of what is stored.
};

// The matrix that a panel, counted over all matrices, belongs to; `panel` becomes its own.
__device__ __forceinline__ int MatrixOfPanel(const ProductArguments& work, int* panel) {
  int matrix = 0;
  while (matrix + 1 < work.matrix_count) {
    const int panels = CountOf(work.matrices[matrix].output_dim, kPanelOutputs);
    if (*panel < panels) break;
    *panel -= panels;
    ++matrix;
  }
  return matrix;
}

// As in reference/silu_mul.h.
__device__ __forceinline__ float GatedValue(float gate, float up) {
  return mul_rn(div_rn(gate, add_rn(1.0f, Exp(-gate))), up);
}

__device__ __forceinline__ float WithBias(const MatrixView& matrix, int output, float sum) {
  return matrix.bias == nullptr ? sum : add_rn(sum, matrix.bias[output]);
}

// With kGate the matrices are the gate and up, whose sums these are: y = silu(gate x) (up x).
// Without it `up` is not read.
template <bool kGate>
__device__ __forceinline__ void Finish(const ProductArguments& work, int matrix, int row,
                                       int output, float sum, float up) {
  const MatrixView& view = work.matrices[matrix];
  if (output >= view.output_dim) return;
  float* y = work.y[matrix] + static_cast<size_t>(row) * static_cast<size_t>(view.output_dim) +
             static_cast<size_t>(output);
  float value = WithBias(view, output, sum);
  if (kGate) {
    value = GatedValue(value, WithBias(work.matrices[1], output, up));
  } else if (work.adds) {
    value = add_rn(*y, value);
  }
  NoteIfNotFinite(work.check, row, value);
  *y = value;
}

}  // namespace reenact::local_engine

#endif  // REENACT_LOCAL_ENGINE_CUDA_PRODUCT_EPILOGUE_CUH_
