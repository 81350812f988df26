// Each fault that can be planted in a kernel is caught: by the comparison with reference/ or by the
// emulator's own checks. kernel_operations_test.cc runs the same checks on the same objects with
// none planted.

#include "local_engine/cuda/planted_device_fault.h"

#include <cstddef>
#include <iterator>
#include <string>

#include "gtest/gtest.h"

#include "local_engine/weights/tensor.h"
#include "tests/local_engine/cuda/emulation/execution.h"
#include "tests/local_engine/cuda/kernel_checks.h"
#include "tests/local_engine/cuda/planted.h"

namespace reenact::local_engine {
namespace {

struct Case {
  DeviceFault fault;
  const char* name;
  size_t (*different)();
  // What the emulator says, of which this is a part; empty where only the bits tell.
  const char* report;
};

size_t Normalisers() {
  return DifferentLogNormalisers();
}

size_t Picks() {
  return DifferentPicks();
}

size_t Norms() {
  return DifferentNorms();
}

size_t FloatProducts() {
  return DifferentProducts(DataType::kF32);
}

size_t HalfProducts() {
  return DifferentProducts(DataType::kBF16);
}

size_t ByteProducts() {
  return DifferentProducts(DataType::kQ8_0);
}

size_t Attention() {
  return DifferentAttention(DataType::kBF16);
}

const Case kCases[] = {
    {DeviceFault::kBarrierMissing, "BarrierMissing", Norms, "memory that nobody wrote"},
    {DeviceFault::kBarrierOfHalf, "BarrierOfHalf", Norms, "barrier"},
    {DeviceFault::kSlabBarrierMissing, "SlabBarrierMissing", FloatProducts,
     "without a barrier between"},
    {DeviceFault::kPaddingUnwritten, "PaddingUnwritten", FloatProducts,
     "reads shared memory that nobody wrote"},
    {DeviceFault::kPaddingComputed, "PaddingComputed", HalfProducts, ""},
    {DeviceFault::kFoldReversed, "FoldReversed", FloatProducts, ""},
    {DeviceFault::kWindowOfOneMore, "WindowOfOneMore", Attention, ""},
    {DeviceFault::kKeyAfterTheToken, "KeyAfterTheToken", Attention, ""},
    {DeviceFault::kMaximumOfSubBlock, "MaximumOfSubBlock", Attention, ""},
    {DeviceFault::kSplitsByBatch, "SplitsByBatch", Attention, ""},
    {DeviceFault::kRowsEndLate, "RowsEndLate", Norms, "out of bounds"},
    {DeviceFault::kBlocksShareARow, "BlocksShareARow", Norms, "another block"},
    {DeviceFault::kHalfWarpExchanges, "HalfWarpExchanges", Normalisers, ""},
    {DeviceFault::kScaleOfFirstRow, "ScaleOfFirstRow", ByteProducts, ""},
    {DeviceFault::kOneBuffer, "OneBuffer", FloatProducts, "without a barrier between"},
    {DeviceFault::kTieToHighestId, "TieToHighestId", Picks, ""},
};

class PlantedDeviceFault : public ::testing::TestWithParam<Case> {
 protected:
  void TearDown() override { planted_device_fault = DeviceFault::kNone; }
};

TEST_P(PlantedDeviceFault, IsCaught) {
#if !defined(REENACT_ACCESS_HOOKS)
  GTEST_SKIP() << "a sanitizer ends the program where the emulator would report";
#endif
  ASSERT_EQ(cuda_emulation::TakeReport(), "");
  planted_device_fault = GetParam().fault;
  EXPECT_GT(GetParam().different(), 0u);
  const std::string report = cuda_emulation::TakeReport();
  EXPECT_NE(report.find(GetParam().report), std::string::npos) << report;
}

TEST(PlantedDeviceFaults, AreAllOfTheList) {
  EXPECT_EQ(std::size(kCases) + 1, static_cast<size_t>(DeviceFault::kCount));
}

INSTANTIATE_TEST_SUITE_P(Faults, PlantedDeviceFault, ::testing::ValuesIn(kCases),
                         [](const auto& fault) { return std::string(fault.param.name); });

}  // namespace
}  // namespace reenact::local_engine
