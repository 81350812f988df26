// The product that every projection is made of: few rows of activations (decode) or many (prefill,
// batches). A row's result is a function of that row and the weights alone.

#ifndef REENACT_LOCAL_ENGINE_CUDA_MATRIX_PRODUCT_H_
#define REENACT_LOCAL_ENGINE_CUDA_MATRIX_PRODUCT_H_

#include <cstddef>
#include <span>

#include "local_engine/cuda/device.h"
#include "local_engine/cuda/finite_check.h"
#include "local_engine/cuda/matrix.h"

namespace reenact::local_engine {

// What a product reads.
struct ProductRows {
  std::span<const float> x;  // [rows][input_dim]
  size_t rows = 0;
  // Not empty: each row goes through RmsNorm first.
  std::span<const float> norm_weight = {};
  float epsilon = 0;
};

struct Product {
  const CudaMatrix* weights = nullptr;
  std::span<float> y;  // [rows][output_dim], none of x.
};

// y[m] = W x[m] + bias, of up to three matrices of one input.
//
// Bits, here and below: those of Dot, DotQ8 or DotW8A8 by the type of the weights, activations
// quantised by QuantiseRow, and one addition for a bias; for any number of rows. How many there are
// chooses between kernels that compute the same expression.
void Multiply(std::span<const Product> products, const ProductRows& rows, CudaDevice& device);

// y[m] = y[m] + (W x[m] + bias): a residual.
void MultiplyAndAdd(const Product& product, const ProductRows& rows, const FiniteCheck& check,
                    CudaDevice& device);

// y[m] = SiluMul(gate x[m], up x[m]); y is of `gate`. Both have one shape and type, or are computed
// one by one.
void MultiplyAndGate(const Product& gate, const CudaMatrix& up, const ProductRows& rows,
                     const FiniteCheck& check, CudaDevice& device);

}  // namespace reenact::local_engine

#endif  // REENACT_LOCAL_ENGINE_CUDA_MATRIX_PRODUCT_H_
