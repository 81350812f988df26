// Every operation of cuda/ under the emulator: the bits of reference/, and nothing to report.

#include "gtest/gtest.h"

#include "local_engine/weights/tensor.h"
#include "tests/local_engine/cuda/emulation/execution.h"
#include "tests/local_engine/cuda/kernel_checks.h"

namespace reenact::local_engine {
namespace {

class CudaKernels : public ::testing::Test {
 protected:
  void TearDown() override {
    EXPECT_EQ(cuda_emulation::TakeReport(), "");
#if defined(REENACT_ACCESS_HOOKS)
    EXPECT_GT(cuda_emulation::CountersSoFar().accesses, 0) << "no access was checked";
#endif
  }
};

TEST_F(CudaKernels, NormsHaveTheBitsOfTheReference) {
  EXPECT_EQ(DifferentNorms(), 0u);
}

TEST_F(CudaKernels, GatesAndResidualsHaveTheBitsOfTheReference) {
  EXPECT_EQ(DifferentGates(), 0u);
  EXPECT_EQ(DifferentResiduals(), 0u);
}

TEST_F(CudaKernels, LogNormalisersHaveTheBitsOfTheReference) {
  EXPECT_EQ(DifferentLogNormalisers(), 0u);
}

TEST_F(CudaKernels, PickTheTokensOfTheSampler) {
  EXPECT_EQ(DifferentPicks(), 0u);
}

class CudaCaches : public CudaKernels, public ::testing::WithParamInterface<DataType> {};

TEST_P(CudaCaches, TakeNormedAndRotatedHeadsRoundedToNearestEven) {
  EXPECT_EQ(DifferentRotations(GetParam()), 0u);
}

TEST_P(CudaCaches, AreAttendedWithTheBitsOfTheReference) {
  EXPECT_EQ(DifferentAttention(GetParam()), 0u);
}

INSTANTIATE_TEST_SUITE_P(Types, CudaCaches,
                         ::testing::Values(DataType::kF32, DataType::kF16, DataType::kBF16),
                         [](const auto& type) { return DataTypeName(type.param); });

class CudaProducts : public CudaKernels, public ::testing::WithParamInterface<DataType> {};

TEST_P(CudaProducts, HaveTheBitsOfTheReference) {
  EXPECT_EQ(DifferentProducts(GetParam()), 0u);
}

TEST_P(CudaProducts, HaveThemNormalisedAddedAndGated) {
  EXPECT_EQ(DifferentFusedProducts(GetParam()), 0u);
}

INSTANTIATE_TEST_SUITE_P(Types, CudaProducts,
                         ::testing::Values(DataType::kF32, DataType::kF16, DataType::kBF16,
                                           DataType::kQ8_0, DataType::kI8),
                         [](const auto& type) { return DataTypeName(type.param); });

// Not of bytes with a scale a row: a model with such an embedding is refused.
class CudaEmbeddings : public CudaKernels, public ::testing::WithParamInterface<DataType> {};

TEST_P(CudaEmbeddings, HaveTheBitsOfTheReference) {
  EXPECT_EQ(DifferentEmbeddings(GetParam()), 0u);
}

INSTANTIATE_TEST_SUITE_P(Types, CudaEmbeddings,
                         ::testing::Values(DataType::kF32, DataType::kF16, DataType::kBF16,
                                           DataType::kQ8_0),
                         [](const auto& type) { return DataTypeName(type.param); });

}  // namespace
}  // namespace reenact::local_engine
