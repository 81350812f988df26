// The product that every projection is made of: one row of activations (decode) or many (prefill,
// batches). A row's result is a function of that row and the weights alone.

#ifndef REENACT_LOCAL_ENGINE_CPU_MATRIX_PRODUCT_H_
#define REENACT_LOCAL_ENGINE_CPU_MATRIX_PRODUCT_H_

#include <cstddef>
#include <span>

#include "absl/status/status.h"

#include "local_engine/cpu/device.h"
#include "local_engine/cpu/matrix.h"

namespace reenact::local_engine {

// One of several products of the same activations.
struct Product {
  const Matrix* weights = nullptr;
  std::span<float> y;  // [rows][output_dim]
};

// y[m] = W x[m] + bias, for each of `products`; activations are packed once for neighbours of one
// kind of weights, and threads meet once after all of them.
//
// Shapes: x [rows][input_dim], the same for all; no y is part of x or of another. rows >= 0.
// Bits: those of Dot, DotQ8 or DotW8A8 by the type of the weights, activations quantised by
// QuantiseRow, and one addition for a bias; for any number of rows, threads and either placement.
// Errors: FailedPrecondition when the calling thread's floating-point mode is wrong.
absl::Status Multiply(std::span<const Product> products, std::span<const float> x, size_t rows,
                      CpuDevice& device);

inline absl::Status Multiply(const Matrix& weights, std::span<const float> x, size_t rows,
                             CpuDevice& device, std::span<float> y) {
  const Product product = {&weights, y};
  return Multiply({&product, 1}, x, rows, device);
}

}  // namespace reenact::local_engine

#endif  // REENACT_LOCAL_ENGINE_CPU_MATRIX_PRODUCT_H_
