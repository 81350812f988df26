// The golden hashes catch what they are there for: with each fault planted, those of the operation
// that it is in change, and without it they hold.

#include "local_engine/reference/planted_fault.h"

#include <fstream>
#include <map>
#include <set>
#include <string>

#include "gtest/gtest.h"

#include "tests/local_engine/reference/golden_operations.h"

namespace reenact::local_engine {

PlantedFault planted_fault = PlantedFault::kNone;

namespace {

struct FaultyOperation {
  PlantedFault fault;
  const char* name;  // Of the fault.
  const char* operation;
};

#define FAULT(name, operation) \
  { PlantedFault::name, #name, operation }
constexpr FaultyOperation kFaults[] = {
    FAULT(kDotClassOrder, "dot"),
    FAULT(kDotUnfused, "dot"),
    FAULT(kDotTailSkipped, "dot"),
    FAULT(kDotFlushesSubnormals, "dot"),
    FAULT(kTreeOfNeighbours, "dot"),
    FAULT(kTreeOfNeighbours, "rms_norm"),
    FAULT(kTreeOfNeighbours, "attention"),
    FAULT(kTreeOfNeighbours, "logprob"),
    FAULT(kNormScaleFirst, "rms_norm"),
    FAULT(kNormFewerClasses, "rms_norm"),
    FAULT(kVocabularyUnchunked, "logprob"),
    FAULT(kRopeFloatAngle, "rope_plain"),
    FAULT(kRopeFused, "rope_rotation"),
    FAULT(kSplitByCount, "attention"),
    FAULT(kSplitFromFirstKey, "attention"),
    FAULT(kOnlineMaximum, "attention"),
    FAULT(kCombineBackwards, "attention"),
    FAULT(kQueryScaled, "attention"),
    FAULT(kQ8Reciprocal, "quantised_row"),
    FAULT(kQ8ClassTree, "dot_q8"),
    FAULT(kSiluReciprocal, "silu_mul"),
    FAULT(kLogprobOfProbability, "logprob"),
    FAULT(kTieToHighestId, "cuts"),
    FAULT(kNoiseByRank, "samples"),
    FAULT(kTopPInFloat, "cuts"),
};
#undef FAULT

std::string HashOf(const std::string& operation) {
  for (const GoldenOperation& golden : GoldenOperations()) {
    if (operation == golden.name) return golden.hash();
  }
  return "no operation " + operation;
}

std::map<std::string, std::string> FrozenHashes() {
  std::map<std::string, std::string> frozen;
  std::ifstream file(GOLDEN_FILE);
  for (std::string name, hash; file >> name >> hash;) frozen[name] = hash;
  return frozen;
}

TEST(PlantedFault, EveryFaultChangesTheHashOfItsOperation) {
  const std::map<std::string, std::string> frozen = FrozenHashes();
  std::set<PlantedFault> tried;
  for (const FaultyOperation& planted : kFaults) {
    tried.insert(planted.fault);
    ASSERT_EQ(frozen.count(planted.operation), 1u) << planted.operation;
    planted_fault = planted.fault;
    EXPECT_NE(HashOf(planted.operation), frozen.at(planted.operation)) << planted.name;
    planted_fault = PlantedFault::kNone;
    EXPECT_EQ(HashOf(planted.operation), frozen.at(planted.operation)) << "without a fault";
  }
  EXPECT_EQ(tried.size(), static_cast<size_t>(PlantedFault::kCount) - 1) << "a fault is not tried";
}

}  // namespace
}  // namespace reenact::local_engine
