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

// y[m] = W x[m] + bias.
//
// Shapes: x [rows][input_dim], y [rows][output_dim]; y is none of x. rows >= 0.
// Bits: those of Dot, DotQ8 or DotW8A8 by the type of the weights, activations quantised by
// QuantiseRow, and one addition for a bias; for any number of rows, threads and either placement.
// Errors: FailedPrecondition when the calling thread's floating-point mode is wrong.
absl::Status Multiply(const Matrix& weights, std::span<const float> x, size_t rows,
                      CpuDevice& device, std::span<float> y);

}  // namespace reenact::local_engine

#endif  // REENACT_LOCAL_ENGINE_CPU_MATRIX_PRODUCT_H_
