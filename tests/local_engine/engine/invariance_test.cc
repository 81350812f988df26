// The invariance matrix, row by row, on random models, and the rows of arithmetic on a trained one:
// 0 differences, on either backend.

#include <cstdio>
#include <filesystem>
#include <string>

#include "gtest/gtest.h"

#include "local_engine/engine/invariance_matrix.h"
#include "tests/local_engine/engine/small_model.h"
#include "tests/support/temp_folder.h"

namespace reenact::local_engine {
namespace {

void ExpectRowsHold(const MatrixSettings& settings, const char* model) {
  for (Invariance invariance : kInvariances) {
    const absl::StatusOr<MatrixRow> row = RunInvariance(invariance, settings);
    ASSERT_TRUE(row.ok()) << InvarianceName(invariance) << ": " << row.status();
    std::printf("%-22s %-9s %9lld comparisons, %lld differences (%s)\n", model,
                InvarianceName(invariance), static_cast<long long>(row->comparisons),
                static_cast<long long>(row->differences), row->proof.c_str());
    EXPECT_EQ(row->differences, 0) << InvarianceName(invariance) << ": " << row->first_difference;
    EXPECT_GT(row->comparisons, 1000) << InvarianceName(invariance);
    EXPECT_TRUE(row->path_ran) << InvarianceName(invariance) << ": " << row->proof;
  }
}

// Every length and residue is tried on one model; what differs by model is tried on fewer.
MatrixSettings Sparse(const std::string& model_path) {
  return {.model_path = model_path,
          .batch_sizes = {2, 7},
          .chunk_sizes = {3, 32, 33},
          .lengths = {2, 33, 64, 97},
          .residue_step = 11,
          .orders = 4};
}

TEST(Invariance, HoldsOnALlamaModelWithAnF32Cache) {
  const testing::TempFolder folder;
  WriteSmallModel(folder.path(), SmallShape(), "LlamaForCausalLM");
  ExpectRowsHold({.model_path = folder.path(), .orders = 8}, "llama F32");
}

TEST(Invariance, HoldsOnAQwen3ModelWithABf16Cache) {
  const testing::TempFolder folder;
  RandomModelShape shape = SmallShape(DataType::kBF16);
  shape.qk_norm = true;
  WriteSmallModel(folder.path(), shape, "Qwen3ForCausalLM");
  ExpectRowsHold(Sparse(folder.path()), "qwen3 BF16");
}

TEST(Invariance, HoldsOnAMistralModelWithASlidingWindowAndAnF16Cache) {
  const testing::TempFolder folder;
  WriteSmallModel(folder.path(), SmallShape(DataType::kF16), "MistralForCausalLM",
                  R"(,"sliding_window":37)");
  ExpectRowsHold(Sparse(folder.path()), "mistral F16, window");
}

TEST(Invariance, HoldsOnTheReferenceBackend) {
  const testing::TempFolder folder;
  WriteSmallModel(folder.path(), SmallShape(), "LlamaForCausalLM");
  MatrixSettings settings = Sparse(folder.path());
  settings.backend = BackendKind::kReference;
  ExpectRowsHold(settings, "llama F32, reference");
}

TEST(Invariance, HoldsOnATrainedModel) {
  const std::string folder = STORIES_FOLDER;
  if (!std::filesystem::exists(folder + "/model.safetensors")) {
    GTEST_SKIP() << "the model stories260k is not beside this checkout";
  }
  MatrixSettings settings = Sparse(folder);
  settings.batch_sizes = {4, 32};
  settings.lengths = {2, 33, 64, 257};
  ExpectRowsHold(settings, "stories260k F32");
}

}  // namespace
}  // namespace reenact::local_engine
