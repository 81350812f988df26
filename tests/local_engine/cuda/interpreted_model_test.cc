// Whole models on the PTX that nvcc made of the kernels, under the interpreter: a prompt that is
// long enough for the products of many rows, and tokens after it, bit by bit as the reference has
// them. With REENACT_LONG every golden model with its hash.

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "gtest/gtest.h"

#include "local_engine/engine/backend.h"
#include "local_engine/engine/cuda_backend.h"
#include "local_engine/model/load_model.h"
#include "tests/local_engine/cuda/emulation/execution.h"
#include "tests/local_engine/engine/backend_checks.h"
#include "tests/support/temp_folder.h"

namespace reenact::local_engine {
namespace {

const Schedule kShortSchedule = {{{0, 34, 1}}, {{0, 1, 1}, {1, 3, 2}}, {{0, 1, 1}, {1, 1, 1}}};

class InterpretedModel : public ::testing::TestWithParam<size_t> {
 protected:
  void SetUp() override { WriteModel(folder_.path(), golden()); }

  void TearDown() override { EXPECT_EQ(cuda_emulation::TakeReport(), ""); }

  static GoldenModel golden() { return GoldenModels()[GetParam()]; }

  static std::unique_ptr<Backend> BackendOf(const Model& model) {
    auto backend = MakeCudaBackend(model, {.max_positions = kPositions}, [](int64_t) {});
    EXPECT_TRUE(backend.ok()) << backend.status();
    return backend.ok() ? *std::move(backend) : nullptr;
  }

  testing::TempFolder folder_;
};

TEST_P(InterpretedModel, HasTheBitsOfTheReferenceStepByStep) {
  const auto model = LoadModel(folder_.path());
  ASSERT_TRUE(model.ok()) << model.status();
  const std::vector<float> expected =
      RunSchedule(MakeReferenceBackend(**model, kPositions).get(), **model, kShortSchedule);
  const std::unique_ptr<Backend> backend = BackendOf(**model);
  ASSERT_NE(backend, nullptr);
  EXPECT_EQ(Differences(expected, RunSchedule(backend.get(), **model, kShortSchedule)), 0u);
}

TEST_P(InterpretedModel, HasTheGoldenHash) {
  if (std::getenv("REENACT_LONG") == nullptr) GTEST_SKIP() << "REENACT_LONG is not set";
  const auto model = LoadModel(folder_.path());
  ASSERT_TRUE(model.ok()) << model.status();
  const std::unique_ptr<Backend> backend = BackendOf(**model);
  ASSERT_NE(backend, nullptr);
  EXPECT_EQ(HashOf(backend.get(), **model), golden().hash);
}

// Cache types F32, BF16 and F16 with a window, weights of bytes, and norms of heads.
INSTANTIATE_TEST_SUITE_P(Models, InterpretedModel, ::testing::Values(0u, 1u, 2u, 4u, 5u));

}  // namespace
}  // namespace reenact::local_engine
