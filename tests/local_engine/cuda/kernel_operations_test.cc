// Every operation of cuda/ under the emulator: the bits of reference/, and nothing to report.

#include "gtest/gtest.h"

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

}  // namespace
}  // namespace reenact::local_engine
