// The golden hashes of reference/, computed by the kernels of every instruction set of this
// machine.

#include "tests/local_engine/cpu/golden_kernels.h"

#include <fstream>
#include <map>
#include <string>

#include "gtest/gtest.h"

#include "local_engine/cpu/isa.h"
#include "tests/local_engine/reference/golden_operations.h"

namespace reenact::local_engine {
namespace {

class GoldenKernels : public testing::TestWithParam<Isa> {};

TEST_P(GoldenKernels, EveryOperationHasTheFrozenHash) {
  golden_kernels = &KernelsFor(GetParam());
  golden_kernel_counts = {};
  ASSERT_STREQ(golden_kernels->name, IsaName(GetParam()));
  std::map<std::string, std::string> frozen;
  std::ifstream file(GOLDEN_FILE);
  for (std::string name, hash; file >> name >> hash;) frozen[name] = hash;
  ASSERT_GE(frozen.size(), 18u);
  for (const GoldenOperation& operation : GoldenOperations()) {
    EXPECT_EQ(operation.hash(), frozen[operation.name]) << operation.name;
    frozen.erase(operation.name);
  }
  EXPECT_TRUE(frozen.empty()) << frozen.begin()->first << " was not computed";
  EXPECT_EQ(golden_kernel_counts.disagreements, 0);
  EXPECT_GT(golden_kernel_counts.full_tiles, 50);
  EXPECT_GT(golden_kernel_counts.in_place, 400);
  EXPECT_GT(golden_kernel_counts.of_f16, 50);
  EXPECT_GT(golden_kernel_counts.of_bf16, 200);
  EXPECT_GT(golden_kernel_counts.full_groups, 50);
}

INSTANTIATE_TEST_SUITE_P(EveryIsa, GoldenKernels, testing::ValuesIn(AvailableIsas()),
                         [](const auto& which) { return std::string(IsaName(which.param)); });

}  // namespace
}  // namespace reenact::local_engine
