// Every instruction set that this machine has, against reference/dot.h and quantised_dot.h, as
// uint32.

#include "local_engine/cpu/matrix_product.h"

#include <cstddef>
#include <iterator>
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
#include "local_engine/reference/dot.h"
#include "tests/local_engine/cpu/kernel_checks.h"
#include "tests/local_engine/cpu/kernel_testing.h"
#include "tests/local_engine/reference/adversarial_floats.h"

namespace reenact::local_engine {
namespace {

using Floats = std::vector<float>;

class MatrixProduct : public testing::TestWithParam<std::tuple<Isa, DataType>> {
 protected:
  static Isa TheIsa() { return std::get<0>(GetParam()); }

  static DataType TheType() { return std::get<1>(GetParam()); }
};

TEST_P(MatrixProduct, EqualsTheReferenceForEveryShapeAndInput) {
  constexpr int kTwoThreads[] = {2};
  EXPECT_EQ(DifferentProducts(TheType(), DevicesOf(TheIsa(), kTwoThreads)), 0u);
}

TEST_P(MatrixProduct, BiasIsOneAdditionAndInterleavedRowsAreFound) {
  constexpr int kOneThread[] = {1};
  EXPECT_EQ(DifferentBiasedProducts(TheType(), DevicesOf(TheIsa(), kOneThread)), 0u);
}

TEST_P(MatrixProduct, ThreadsAndRowsInTheBatchChangeNoBit) {
  constexpr size_t kOutputs = 200, kDim = 320;
  const StoredWeights weights(TheType(), kOutputs, kDim, InputKind::kUnit);
  const Floats x = AdversarialFloats(InputKind::kUnit, 50 * kDim, 8);
  Floats first;
  for (int threads : {1, 2, 3, 8}) {
    const auto device = DeviceFor(TheIsa(), threads);
    const auto matrix = Matrix::Make(weights.projection, WeightPlacement::kPacked, device->pool());
    ASSERT_TRUE(matrix.ok());
    for (size_t rows : {1, 2, 11, 50}) {
      Floats y(rows * kOutputs);
      ASSERT_TRUE(Multiply(*matrix, std::span(x).first(rows * kDim), rows, *device, y).ok());
      if (first.empty()) first = y;
      EXPECT_EQ(DifferentBits(first, std::span(y).first(kOutputs)), 0u)
          << threads << " threads, " << rows << " rows";
    }
  }
}

// As a layer has them: neighbours that read one packing, others, and weights in place.
TEST(SeveralProducts, HaveTheBitsThatEachHasAlone) {
  constexpr size_t kDim = 96;
  const DataType types[] = {DataType::kF32, DataType::kBF16, DataType::kQ8_0,
                            DataType::kI8,  DataType::kF16,  DataType::kF32};
  const Floats x = AdversarialFloats(InputKind::kUnit, 30 * kDim, 8);
  for (Isa isa : AvailableIsas()) {
    const auto device = DeviceFor(isa, 3);
    std::vector<std::unique_ptr<StoredWeights>> weights;
    std::vector<Matrix> matrices;
    for (size_t i = 0; i < std::size(types); ++i) {
      weights.push_back(
          std::make_unique<StoredWeights>(types[i], 20 + 40 * i, kDim, InputKind::kUnit));
      const auto placement = i == 5 ? WeightPlacement::kInPlace : WeightPlacement::kPacked;
      auto matrix = Matrix::Make(weights.back()->projection, placement, device->pool());
      ASSERT_TRUE(matrix.ok()) << matrix.status();
      matrices.push_back(*std::move(matrix));
    }
    for (size_t rows : {1, 4, 30}) {
      const std::span<const float> rows_of_x = std::span(x).first(rows * kDim);
      std::vector<Floats> together, alone;
      std::vector<Product> products;
      for (const Matrix& matrix : matrices) {
        alone.emplace_back(rows * matrix.output_dim());
        together.emplace_back(alone.back().size(), -7.0f);
        ASSERT_TRUE(Multiply(matrix, rows_of_x, rows, *device, alone.back()).ok());
      }
      for (size_t i = 0; i < matrices.size(); ++i) products.push_back({&matrices[i], together[i]});
      ASSERT_TRUE(Multiply(products, rows_of_x, rows, *device).ok());
      for (size_t i = 0; i < matrices.size(); ++i) {
        EXPECT_EQ(DifferentBits(alone[i], together[i]), 0u) << DataTypeName(types[i]);
      }
    }
  }
}

// So large that rows are multiplied in several blocks.
TEST(MatrixProductInBlocks, EachRowIsTheReferences) {
  constexpr size_t kRows = 24, kOutputs = 33, kDim = 45000;
  const StoredWeights weights(DataType::kBF16, kOutputs, kDim, InputKind::kUnit);
  const Floats x = AdversarialFloats(InputKind::kUnit, kRows * kDim, 8);
  for (Isa isa : AvailableIsas()) {
    const auto device = DeviceFor(isa, 2);
    const auto matrix = Matrix::Make(weights.projection, WeightPlacement::kPacked, device->pool());
    ASSERT_TRUE(matrix.ok());
    Floats y(kRows * kOutputs, -7.0f), expected, computed;
    ASSERT_TRUE(Multiply(*matrix, x, kRows, *device, y).ok());
    for (size_t m : {0, 5, 6, 11, 12, 18, 23}) {
      for (size_t n : {m, size_t{32}}) {
        Floats widened(kDim);
        WidenRow(weights.tensor, n, widened);
        expected.push_back(Dot(std::span(x).subspan(m * kDim, kDim), widened));
        computed.push_back(y[m * kOutputs + n]);
      }
    }
    EXPECT_EQ(DifferentBits(expected, computed), 0u) << IsaName(isa);
  }
}

INSTANTIATE_TEST_SUITE_P(EveryIsa, MatrixProduct,
                         testing::Combine(testing::ValuesIn(AvailableIsas()),
                                          testing::Values(DataType::kF32, DataType::kF16,
                                                          DataType::kBF16, DataType::kQ8_0,
                                                          DataType::kI8)),
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
