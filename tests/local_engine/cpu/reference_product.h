// What kernels of every device are compared with: products by the definition, and logits that are
// hard to normalise.

#ifndef REENACT_TESTS_LOCAL_ENGINE_CPU_REFERENCE_PRODUCT_H_
#define REENACT_TESTS_LOCAL_ENGINE_CPU_REFERENCE_PRODUCT_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "local_engine/numerics/operations.h"
#include "local_engine/numerics/q8_block.h"
#include "local_engine/reference/dot.h"
#include "local_engine/reference/quantised_dot.h"
#include "local_engine/weights/tensor.h"
#include "tests/local_engine/cpu/kernel_testing.h"
#include "tests/local_engine/reference/adversarial_floats.h"

namespace reenact::local_engine {

struct ProductShape {
  size_t rows, outputs, dim;
};

// Q8_0 has whole groups of 32.
inline ProductShape Fitting(DataType type, ProductShape shape) {
  if (type == DataType::kQ8_0) shape.dim = (shape.dim + 31) / 32 * 32;
  return shape;
}

// `quantised`: x, for weights that are.
inline float ReferenceSum(const StoredWeights& weights, std::span<const float> x,
                          const QuantisedRow& quantised, size_t row) {
  const Tensor& tensor = weights.tensor;
  const std::byte* data = tensor.data + tensor.size_bytes / tensor.shape[0] * row;
  if (tensor.type == DataType::kQ8_0) {
    return DotQ8(quantised, {reinterpret_cast<const Q8Block*>(data), x.size() / kQ8GroupSize});
  }
  if (tensor.type == DataType::kI8) {
    return DotW8A8(quantised, {reinterpret_cast<const int8_t*>(data), x.size()},
                   weights.projection.row_scales[row]);
  }
  std::vector<float> widened(x.size());
  WidenRow(tensor, row, widened);
  return Dot(x, widened);
}

inline std::vector<float> ReferenceProduct(const StoredWeights& weights,
                                           const std::vector<float>& x, const ProductShape& shape) {
  std::vector<float> y;
  for (size_t m = 0; m < shape.rows; ++m) {
    const std::span<const float> row = std::span(x).subspan(m * shape.dim, shape.dim);
    QuantisedRow quantised;
    if (IsQuantised(weights.tensor.type)) {
      quantised =
          QuantiseRow(row, weights.tensor.type == DataType::kQ8_0 ? kQ8GroupSize : row.size());
    }
    for (size_t n = 0; n < shape.outputs; ++n) {
      const float sum = ReferenceSum(weights, row, quantised, weights.projection.RowOf(n));
      y.push_back(weights.projection.bias.empty() ? sum : add_rn(sum, weights.projection.bias[n]));
    }
  }
  return y;
}

// Zeros of both signs; a row with a cut; one whose sum is little more than 1.
inline std::vector<float> ThreeRowsOfLogits(size_t vocabulary) {
  std::vector<float> logits = AdversarialFloats(InputKind::kUnit, 3 * vocabulary, 4);
  for (float& logit : logits) logit = mul_rn(logit, 12.0f);
  for (size_t k = 0; k < vocabulary; ++k) logits[k] = k % 3 == 1 ? -0.0f : 0.0f;
  if (vocabulary > 2) {
    logits[vocabulary + 1] = float_from_bits(0xff800000u);
    std::swap(logits[0], logits[1]);  // Negative zero first.
  }
  const std::span<float> last = std::span(logits).last(vocabulary);
  for (float& logit : last) logit = -abs_bits(logit) - 8.0f;
  last[vocabulary / 2] = 0.0f;  // The logarithm of what is left shows every last place.
  return logits;
}

}  // namespace reenact::local_engine

#endif  // REENACT_TESTS_LOCAL_ENGINE_CPU_REFERENCE_PRODUCT_H_
