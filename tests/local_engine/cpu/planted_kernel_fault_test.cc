// The comparisons with the reference catch what they are there for: with each fault planted in the
// kernels, the one of the operation that it is in sees a difference, and without it none.

#include "local_engine/cpu/internal/planted_kernel_fault.h"

#include <cstddef>
#include <set>

#include "gtest/gtest.h"

#include "local_engine/cpu/isa.h"
#include "tests/local_engine/cpu/kernel_checks.h"

namespace reenact::local_engine {

KernelFault planted_kernel_fault = KernelFault::kNone;

namespace {

using Check = size_t (*)(const Devices&);

template <DataType kType>
size_t Products(const Devices& devices) {
  return DifferentProducts(kType, devices);
}

template <DataType kType>
size_t Attention(const Devices& devices) {
  return DifferentAttention(kType, devices);
}

size_t StoredValues(const Devices&) {
  return DifferentStoredValues(DataType::kBF16);
}

struct FaultyOperation {
  KernelFault fault;
  const char* name;  // Of the fault.
  Check check;
};

#define FAULT(name, check) \
  { KernelFault::name, #name, check }
constexpr FaultyOperation kFaults[] = {
    FAULT(kClassesInOrder, Products<DataType::kF32>),
    FAULT(kTileUnfused, Products<DataType::kF32>),
    FAULT(kInPlaceTailDropped, Products<DataType::kBF16>),
    FAULT(kF16Flushes, Products<DataType::kF16>),
    FAULT(kQ8PairsSaturate, Products<DataType::kQ8_0>),
    FAULT(kQ8ScaleOfTile, Products<DataType::kQ8_0>),
    FAULT(kQ8ScalesApart, Products<DataType::kQ8_0>),
    FAULT(kQ8ClassesInOrder, Products<DataType::kQ8_0>),
    FAULT(kQ8ByReciprocal, Products<DataType::kI8>),
    FAULT(kW8A8ScalesApart, Products<DataType::kI8>),
    FAULT(kQueryScaled, Attention<DataType::kF32>),
    FAULT(kMaximumOfGroup, Attention<DataType::kF32>),
    FAULT(kMaximumFromZero, Attention<DataType::kF32>),
    FAULT(kMaskedKeysMultiplied, Attention<DataType::kF32>),
    FAULT(kWeightsInOrder, Attention<DataType::kF32>),
    FAULT(kCacheTruncates, StoredValues),
    FAULT(kNormOfVectors, DifferentNorms),
    FAULT(kNormScaleFirst, DifferentNorms),
    FAULT(kRotationFused, DifferentRotations),
    FAULT(kGateByReciprocal, DifferentGates),
    FAULT(kVocabularyByThreads, DifferentLogNormalisers),
#if defined(__SSE2__)
    FAULT(kWorkersFlush, ThreadsInWrongMode),
#endif
};
#undef FAULT

TEST(PlantedKernelFault, EveryFaultIsSeenByTheComparisonOfItsOperation) {
  constexpr int kThreeThreads[] = {3};
  std::set<KernelFault> tried;
  for (const FaultyOperation& planted : kFaults) {
    tried.insert(planted.fault);
    planted_kernel_fault = planted.fault;
    EXPECT_GT(planted.check(DevicesOf(Isa::kPlain, kThreeThreads)), 0u) << planted.name;
    planted_kernel_fault = KernelFault::kNone;
  }
#if defined(__SSE2__)
  EXPECT_EQ(tried.size(), static_cast<size_t>(KernelFault::kCount) - 1) << "a fault is not tried";
#endif
}

TEST(PlantedKernelFault, WithoutOneNothingDiffers) {
  constexpr int kThreeThreads[] = {3};
  const Devices devices = DevicesOf(Isa::kPlain, kThreeThreads);
  std::set<Check> checks;
  for (const FaultyOperation& planted : kFaults) checks.insert(planted.check);
  for (Check check : checks) EXPECT_EQ(check(devices), 0u);
}

}  // namespace
}  // namespace reenact::local_engine
