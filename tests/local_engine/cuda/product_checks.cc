// Products with weights of every type.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "gtest/gtest.h"

#include "local_engine/cuda/device.h"
#include "local_engine/cuda/elementwise.h"
#include "local_engine/cuda/matrix.h"
#include "local_engine/cuda/matrix_product.h"
#include "local_engine/reference/rms_norm.h"
#include "local_engine/reference/silu_mul.h"
#include "tests/local_engine/cpu/reference_product.h"
#include "tests/local_engine/cuda/device_array.h"
#include "tests/local_engine/cuda/kernel_checks.h"
#include "tests/local_engine/cuda/schedules.h"
#include "tests/local_engine/reference/adversarial_floats.h"

namespace reenact::local_engine {
namespace {

using Floats = std::vector<float>;

constexpr float kNormEpsilon = 1e-5f;

using Shape = ProductShape;

// Rows around the sizes of a block's rows and of a tile, outputs around a panel's, K around a
// chunk's, a unit's and a slab's.
constexpr Shape kShapes[] = {{1, 1, 1},    {1, 33, 64},  {2, 31, 63},  {1, 70, 172}, {3, 32, 1100},
                             {8, 40, 200}, {9, 15, 130}, {33, 65, 96}, {65, 7, 300}, {70, 70, 33}};
// Beyond one slab of a single row and of several, and beyond one tile of 128 by 128.
constexpr Shape kLargeShapes[] = {{1, 3, 8300}, {1, 2, 32800}, {9, 3, 4200}, {130, 131, 40}};
// Of products with something else in the same kernel: one row, some and many; then beyond a slab of
// each kind.
constexpr Shape kFusedShapes[] = {{1, 45, 160}, {3, 45, 160},  {40, 45, 160},
                                  {1, 3, 8300}, {1, 2, 32800}, {3, 3, 4200}};

CudaMatrix MatrixOf(const StoredWeights& weights) {
  CudaDevice device(nullptr);
  CudaMatrix matrix;
  // Where that fails, as after a fault that was reported, nothing equals what an empty matrix
  // makes.
  if (CudaMatrix::Make(weights.projection, device, &matrix) != cudaSuccess) return {};
  return matrix;
}

size_t DifferentProduct(const StoredWeights& weights, const Floats& x, const Shape& shape) {
  const Floats expected = ReferenceProduct(weights, x, shape);
  const CudaMatrix matrix = MatrixOf(weights);
  const DeviceArray<float> rows(x);
  return DifferentInAnySchedule(expected, [&](CudaDevice& device) {
    DeviceArray<float> y(expected.size());
    const Product product = {&matrix, y.span()};
    Multiply({&product, 1}, {rows.constant(), shape.rows}, device);
    return y.Read();
  });
}

Floats Normalised(const Floats& x, const Floats& weight, size_t rows) {
  Floats y(x.size());
  const size_t dim = weight.size();
  for (size_t row = 0; row < rows; ++row) {
    RmsNorm(std::span(x).subspan(row * dim, dim), weight, kNormEpsilon,
            std::span(y).subspan(row * dim, dim));
  }
  return y;
}

// Three matrices in one go, each a part of one array.
size_t DifferentTriple(DataType type, const Shape& shape, const Floats& x, const Floats& norm) {
  const StoredWeights weights[] = {{type, shape.outputs, shape.dim, InputKind::kUnit},
                                   {type, 5, shape.dim, InputKind::kWide},
                                   {type, 34, shape.dim, InputKind::kUnit}};
  Floats expected;
  for (const StoredWeights& stored : weights) {
    const Shape own = {shape.rows, stored.tensor.shape[0], shape.dim};
    const Floats product = ReferenceProduct(stored, Normalised(x, norm, shape.rows), own);
    expected.insert(expected.end(), product.begin(), product.end());
  }
  const CudaMatrix matrices[] = {MatrixOf(weights[0]), MatrixOf(weights[1]), MatrixOf(weights[2])};
  const DeviceArray<float> rows(x), norm_weight(norm);
  return DifferentInAnySchedule(expected, [&](CudaDevice& device) {
    DeviceArray<float> y(expected.size());
    const size_t first = shape.rows * shape.outputs, second = first + shape.rows * 5;
    const Product products[] = {{&matrices[0], y.span().first(first)},
                                {&matrices[1], y.span().subspan(first, second - first)},
                                {&matrices[2], y.span().subspan(second)}};
    Multiply(products, {rows.constant(), shape.rows, norm_weight.constant(), kNormEpsilon}, device);
    return y.Read();
  });
}

size_t DifferentResidual(DataType type, const Shape& shape, const Floats& x) {
  const StoredWeights weights(type, shape.outputs, shape.dim, InputKind::kUnit);
  const Floats residual = AdversarialFloats(InputKind::kWide, shape.rows * shape.outputs, 9);
  Floats expected = ReferenceProduct(weights, x, shape);
  for (size_t i = 0; i < expected.size(); ++i) expected[i] = add_rn(residual[i], expected[i]);
  const CudaMatrix matrix = MatrixOf(weights);
  const DeviceArray<float> rows(x);
  return DifferentInAnySchedule(expected, [&](CudaDevice& device) {
    DeviceArray<float> y(residual);
    MultiplyAndAdd({&matrix, y.span()}, {rows.constant(), shape.rows}, {}, device);
    return y.Read();
  });
}

size_t DifferentGated(DataType type, const Shape& shape, const Floats& x, const Floats& norm) {
  const StoredWeights gate(type, shape.outputs, shape.dim, InputKind::kUnit);
  const StoredWeights up(type, shape.outputs, shape.dim, InputKind::kWide);
  const Floats input = Normalised(x, norm, shape.rows);
  Floats expected = ReferenceProduct(gate, input, shape);
  SiluMul(expected, ReferenceProduct(up, input, shape), expected);
  const CudaMatrix gate_matrix = MatrixOf(gate), up_matrix = MatrixOf(up);
  const DeviceArray<float> rows(x), norm_weight(norm);
  return DifferentInAnySchedule(expected, [&](CudaDevice& device) {
    DeviceArray<float> y(expected.size());
    MultiplyAndGate({&gate_matrix, y.span()}, up_matrix,
                    {rows.constant(), shape.rows, norm_weight.constant(), kNormEpsilon}, {},
                    device);
    return y.Read();
  });
}

}  // namespace

size_t DifferentProducts(DataType type) {
  size_t different = 0;
  for (const Shape& listed : kShapes) {
    const Shape shape = Fitting(type, listed);
    for (InputKind kind : kInputKinds) {
      const StoredWeights weights(type, shape.outputs, shape.dim, kind);
      // Products of two subnormals would all be zero.
      const bool vanish = kind == InputKind::kSubnormal && !IsQuantised(type);
      const InputKind of_x = vanish ? InputKind::kUnit : kind;
      const Floats x = AdversarialFloats(of_x, shape.rows * shape.dim, shape.dim);
      different += DifferentProduct(weights, x, shape);
    }
    if (different > 0) return different;  // One shape says enough.
  }
  for (const Shape& listed : kLargeShapes) {
    const Shape shape = Fitting(type, listed);
    const StoredWeights weights(type, shape.outputs, shape.dim, InputKind::kUnit);
    different += DifferentProduct(
        weights, AdversarialFloats(InputKind::kUnit, shape.rows * shape.dim, 8), shape);
  }
  const Shape biased = {5, 48, 96};
  StoredWeights weights(type, biased.outputs, biased.dim, InputKind::kWide);
  weights.projection.bias = AdversarialFloats(InputKind::kUnit, biased.outputs, 3);
  weights.projection.interleaved_head_dim = 16;
  return different +
         DifferentProduct(weights, AdversarialFloats(InputKind::kUnit, biased.rows * biased.dim, 4),
                          biased);
}

size_t DifferentFusedProducts(DataType type) {
  size_t different = 0;
  for (const Shape& listed : kFusedShapes) {
    const Shape shape = Fitting(type, listed);
    const Floats x = AdversarialFloats(InputKind::kWide, shape.rows * shape.dim, 6);
    const Floats norm = AdversarialFloats(InputKind::kUnit, shape.dim, 7);
    different += DifferentTriple(type, shape, x, norm);
    different += DifferentResidual(type, shape, x);
    different += DifferentGated(type, shape, x, norm);
    if (different > 0) break;  // One shape says enough.
  }
  return different;
}

size_t DifferentEmbeddings(DataType type) {
  const size_t dim = 160;
  const StoredWeights weights(type, 45, dim, InputKind::kSubnormal);
  const std::vector<int32_t> tokens = {0, 44, 31, 32, 7, 7};
  Floats expected(tokens.size() * dim);
  for (size_t i = 0; i < tokens.size(); ++i) {
    WidenRow(weights.tensor, static_cast<uint64_t>(tokens[i]),
             std::span(expected).subspan(i * dim, dim));
  }
  const CudaMatrix matrix = MatrixOf(weights);
  const DeviceArray<int32_t> wanted(tokens);
  return DifferentInAnySchedule(expected, [&](CudaDevice& device) {
    DeviceArray<float> y(expected.size());
    EmbedTokens(matrix, wanted.constant(), device, y.span());
    return y.Read();
  });
}

}  // namespace reenact::local_engine
