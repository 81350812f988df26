// Norm, rotation, gate, log-probabilities and attention on every instruction set of this machine,
// with 1, 2, 3 and 8 threads, against reference/, as uint32.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "gtest/gtest.h"

#include "local_engine/cpu/elementwise.h"
#include "local_engine/cpu/isa.h"
#include "local_engine/numerics/narrow_floats.h"
#include "tests/local_engine/cpu/kernel_checks.h"
#include "tests/local_engine/cpu/kernel_testing.h"
#include "tests/local_engine/reference/adversarial_floats.h"

namespace reenact::local_engine {
namespace {

constexpr int kThreadCounts[] = {1, 2, 3, 8};
constexpr DataType kCacheTypes[] = {DataType::kF32, DataType::kF16, DataType::kBF16};

class KernelOperations : public testing::TestWithParam<Isa> {
 protected:
  const Devices devices_ = DevicesOf(GetParam(), kThreadCounts);
};

TEST_P(KernelOperations, NormIsTheReferences) {
  EXPECT_EQ(DifferentNorms(devices_), 0u);
}

TEST_P(KernelOperations, RotationIsTheReferences) {
  EXPECT_EQ(DifferentRotations(devices_), 0u);
}

TEST_P(KernelOperations, GateIsTheReferences) {
  EXPECT_EQ(DifferentGates(devices_), 0u);
}

TEST_P(KernelOperations, ResidualIsOneRoundedAddition) {
  EXPECT_EQ(DifferentResiduals(devices_), 0u);
}

// Every 1021st float, and those around a change of the rule: overflow, subnormals, half of the
// least.
TEST_P(KernelOperations, RoundingToTheCacheIsThatOfTheNarrowFloats) {
  std::vector<float> x;
  for (uint64_t bits = 0; bits < uint64_t{1} << 32; bits += 1021) {
    x.push_back(float_from_bits(static_cast<uint32_t>(bits)));
  }
  for (uint32_t edge : {0x7f800000u, 0x477ff000u, 0x38800000u, 0x33000000u, 0x33800000u, 0u}) {
    for (uint32_t bits = edge - 9; bits != edge + 9; ++bits) x.push_back(float_from_bits(bits));
  }
  for (DataType type : kCacheTypes) {
    std::vector<float> expected;
    for (float value : x) {
      expected.push_back(type == DataType::kF16    ? widen_fp16(narrow_to_fp16(value))
                         : type == DataType::kBF16 ? widen_bf16(narrow_to_bf16(value))
                                                   : value);
    }
    std::vector<float> rounded = x;
    ASSERT_TRUE(RoundTo(type, *devices_[1], rounded).ok());
    EXPECT_EQ(DifferentBits(expected, rounded), 0u) << DataTypeName(type);
    EXPECT_EQ(DifferentBits(x, rounded) == 0, type == DataType::kF32);
  }
}

TEST_P(KernelOperations, LogNormalisersAreTheReferences) {
  EXPECT_EQ(DifferentLogNormalisers(devices_), 0u);
}

TEST_P(KernelOperations, AttentionIsTheReferencesForDecodeAndPrefill) {
  for (DataType type : kCacheTypes) {
    EXPECT_EQ(DifferentAttention(type, devices_), 0u) << DataTypeName(type);
  }
}

TEST_P(KernelOperations, EveryThreadComputesInTheRightMode) {
  EXPECT_EQ(ThreadsInWrongMode(devices_), 0u);
}

TEST_P(KernelOperations, OneValueThatIsNotFiniteIsFoundWhereverItIs) {
  std::vector<float> x = AdversarialFloats(InputKind::kWide, 77, 1);
  EXPECT_TRUE(AllFinite(x, *devices_[0]));
  for (size_t at : {0, 15, 64, 76}) {
    for (uint32_t bits : {0x7f800000u, 0xff800000u, 0x7fc00001u}) {
      const float kept = x[at];
      x[at] = float_from_bits(bits);
      EXPECT_FALSE(AllFinite(x, *devices_[0]));
      x[at] = kept;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(EveryIsa, KernelOperations, testing::ValuesIn(AvailableIsas()),
                         [](const auto& which) { return std::string(IsaName(which.param)); });

TEST(KvBlock, GivesBackWhatWasStoredRoundedToNearestEven) {
  for (DataType type : kCacheTypes) {
    EXPECT_EQ(DifferentStoredValues(type), 0u) << DataTypeName(type);
  }
}

}  // namespace
}  // namespace reenact::local_engine
