// Every instruction set that this machine has, against reference/dot.h and quantised_dot.h, as
// uint32.

#include "local_engine/cpu/matrix_product.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "gtest/gtest.h"

#include "local_engine/cpu/device.h"
#include "local_engine/cpu/internal/kernel_table.h"
#include "local_engine/cpu/isa.h"
#include "local_engine/cpu/matrix.h"
#include "local_engine/numerics/q8_block.h"
#include "local_engine/reference/dot.h"
#include "local_engine/reference/quantised_dot.h"
#include "tests/local_engine/cpu/kernel_testing.h"
#include "tests/local_engine/reference/adversarial_floats.h"

namespace reenact::local_engine {
namespace {

using Floats = std::vector<float>;

struct Shape {
  size_t rows, outputs, dim;
};

constexpr Shape kShapes[] = {{1, 1, 1},    {1, 33, 64},   {2, 31, 63},  {3, 32, 65},
                             {4, 70, 128}, {5, 16, 172},  {6, 17, 200}, {7, 96, 1000},
                             {12, 40, 96}, {13, 64, 127}, {24, 48, 64}, {29, 35, 33}};

class MatrixProduct : public testing::TestWithParam<std::tuple<Isa, DataType>> {
 protected:
  static Isa TheIsa() { return std::get<0>(GetParam()); }

  static DataType TheType() { return std::get<1>(GetParam()); }
};

float ReferenceSum(const StoredWeights& weights, std::span<const float> x, size_t row) {
  const Tensor& tensor = weights.tensor;
  const std::byte* data = tensor.data + tensor.size_bytes / tensor.shape[0] * row;
  if (tensor.type == DataType::kQ8_0) {
    return DotQ8(QuantiseRow(x, kQ8GroupSize),
                 {reinterpret_cast<const Q8Block*>(data), x.size() / kQ8GroupSize});
  }
  if (tensor.type == DataType::kI8) {
    return DotW8A8(QuantiseRow(x, x.size()), {reinterpret_cast<const int8_t*>(data), x.size()},
                   weights.projection.row_scales[row]);
  }
  Floats widened(x.size());
  WidenRow(tensor, row, widened);
  return Dot(x, widened);
}

Floats ReferenceProduct(const StoredWeights& weights, const Floats& x, const Shape& shape) {
  Floats y;
  for (size_t m = 0; m < shape.rows; ++m) {
    const std::span<const float> row = std::span(x).subspan(m * shape.dim, shape.dim);
    for (size_t n = 0; n < shape.outputs; ++n) {
      const float sum = ReferenceSum(weights, row, weights.projection.RowOf(n));
      y.push_back(weights.projection.bias.empty() ? sum : add_rn(sum, weights.projection.bias[n]));
    }
  }
  return y;
}

// Q8_0 has whole groups of 32.
Shape Fitting(DataType type, Shape shape) {
  if (type == DataType::kQ8_0) shape.dim = (shape.dim + 31) / 32 * 32;
  return shape;
}

TEST_P(MatrixProduct, EqualsTheReferenceForEveryShapeAndInput) {
  const auto device = DeviceFor(TheIsa(), 2);
  for (const Shape& listed : kShapes) {
    const Shape shape = Fitting(TheType(), listed);
    for (InputKind kind : kInputKinds) {
      StoredWeights weights(TheType(), shape.outputs, shape.dim, kind);
      const Floats x = AdversarialFloats(kind, shape.rows * shape.dim, shape.dim);
      const Floats expected = ReferenceProduct(weights, x, shape);
      for (WeightPlacement placement : {WeightPlacement::kPacked, WeightPlacement::kInPlace}) {
        const auto matrix = Matrix::Make(weights.projection, placement, device->pool());
        ASSERT_TRUE(matrix.ok()) << matrix.status();
        Floats y(shape.rows * shape.outputs, -7.0f);
        ASSERT_TRUE(Multiply(*matrix, x, shape.rows, *device, y).ok());
        EXPECT_EQ(DifferentBits(expected, y), 0u)
            << shape.rows << " x " << shape.outputs << " x " << shape.dim << ", input "
            << static_cast<int>(kind) << ", placement " << static_cast<int>(placement);
      }
    }
  }
}

TEST_P(MatrixProduct, BiasIsOneAdditionAndInterleavedRowsAreFound) {
  const auto device = DeviceFor(TheIsa(), 1);
  const Shape shape = {5, 48, 96};
  StoredWeights weights(TheType(), shape.outputs, shape.dim, InputKind::kWide);
  weights.projection.bias = AdversarialFloats(InputKind::kUnit, shape.outputs, 3);
  weights.projection.interleaved_head_dim = 16;
  const Floats x = AdversarialFloats(InputKind::kUnit, shape.rows * shape.dim, 4);
  const Floats expected = ReferenceProduct(weights, x, shape);
  for (WeightPlacement placement : {WeightPlacement::kPacked, WeightPlacement::kInPlace}) {
    const auto matrix = Matrix::Make(weights.projection, placement, device->pool());
    ASSERT_TRUE(matrix.ok()) << matrix.status();
    Floats y(expected.size());
    ASSERT_TRUE(Multiply(*matrix, x, shape.rows, *device, y).ok());
    EXPECT_EQ(DifferentBits(expected, y), 0u);
  }
}

TEST_P(MatrixProduct, ThreadsAndRowsInTheBatchChangeNoBit) {
  const Shape shape = Fitting(TheType(), {50, 200, 300});
  const StoredWeights weights(TheType(), shape.outputs, shape.dim, InputKind::kUnit);
  const Floats x = AdversarialFloats(InputKind::kUnit, shape.rows * shape.dim, 8);
  Floats first;
  for (int threads : {1, 2, 3, 8}) {
    const auto device = DeviceFor(TheIsa(), threads);
    const auto matrix = Matrix::Make(weights.projection, WeightPlacement::kPacked, device->pool());
    ASSERT_TRUE(matrix.ok());
    for (size_t rows : {1, 2, 11, 50}) {
      Floats y(rows * shape.outputs);
      ASSERT_TRUE(Multiply(*matrix, std::span(x).first(rows * shape.dim), rows, *device, y).ok());
      if (first.empty()) first = y;
      EXPECT_EQ(DifferentBits(first, std::span(y).first(shape.outputs)), 0u)
          << threads << " threads, " << rows << " rows";
    }
  }
}

INSTANTIATE_TEST_SUITE_P(EveryIsa, MatrixProduct,
                         testing::Combine(testing::ValuesIn(AvailableIsas()),
                                          testing::Values(DataType::kF32, DataType::kF16,
                                                          DataType::kBF16)),
                         [](const auto& which) {
                           return std::string(IsaName(std::get<0>(which.param))) + "_" +
                                  DataTypeName(std::get<1>(which.param));
                         });

TEST(MatrixProductComparison, SeesOneChangedBit) {
  const Floats a = {1.0f, 0.0f};
  const Floats b = {1.0f, -0.0f};
  EXPECT_EQ(DifferentBits(a, a), 0u);
  EXPECT_EQ(DifferentBits(a, b), 1u);
}

TEST(Kernels, AreThoseThatWereAskedFor) {
  for (Isa isa : AvailableIsas()) {
    EXPECT_STREQ(DeviceFor(isa, 1)->kernels().name, IsaName(isa));
  }
  EXPECT_EQ((*CpuDevice::Create({}))->isa(), AvailableIsas().back());
  EXPECT_EQ(CpuDevice::Create({.isa = "avx9"}).status().code(), absl::StatusCode::kInvalidArgument);
#if defined(__x86_64__)
  EXPECT_EQ(CpuDevice::Create({.isa = "neon"}).status().code(), absl::StatusCode::kUnimplemented);
#endif
}

}  // namespace
}  // namespace reenact::local_engine
