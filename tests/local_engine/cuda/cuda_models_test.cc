// Whole models on the kernels of cuda/, with the golden hashes and the bits of the CPU: every step
// of a schedule that mixes prefill, chunks and decode, and the invariance matrix. On the emulator,
// and on a device where there is one.

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <iterator>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "gtest/gtest.h"

#include "local_engine/engine/backend.h"
#include "local_engine/engine/cuda_backend.h"
#include "local_engine/engine/invariance_matrix.h"
#include "local_engine/model/load_model.h"
#include "local_engine/numerics/sha256.h"
#include "local_engine/reference/sampler.h"
#include "tests/local_engine/cuda/emulation/execution.h"
#include "tests/local_engine/engine/backend_checks.h"
#include "tests/local_engine/engine/small_model.h"
#include "tests/local_engine/model/random_gguf.h"
#include "tests/support/temp_folder.h"

namespace reenact::local_engine {
namespace {

constexpr uint64_t kShuffled = 20261130;

class CudaModels : public ::testing::Test {
 protected:
  void TearDown() override {
    cuda_emulation::SetSchedule(0);
    EXPECT_EQ(cuda_emulation::TakeReport(), "");
  }

  static std::unique_ptr<Backend> BackendOf(const Model& model,
                                            int32_t max_positions = kPositions) {
    auto backend = MakeCudaBackend(model, {.max_positions = max_positions}, [](int64_t) {});
    EXPECT_TRUE(backend.ok()) << backend.status();
    return backend.ok() ? *std::move(backend) : nullptr;
  }

  static void ExpectReferenceBits(const std::string& path, const std::string& name) {
    const auto model = LoadModel(path);
    ASSERT_TRUE(model.ok()) << model.status();
    const auto reference = MakeReferenceBackend(**model, kPositions);
    const std::vector<float> expected = RunSchedule(reference.get(), **model, kMixedSchedule);
    const std::unique_ptr<Backend> backend = BackendOf(**model);
    ASSERT_NE(backend, nullptr);
    EXPECT_EQ(Differences(expected, RunSchedule(backend.get(), **model, kMixedSchedule)), 0u)
        << name;
  }
};

TEST_F(CudaModels, HasTheGoldenHashOfEveryModel) {
  uint64_t schedule = 0;
  for (const GoldenModel& golden : GoldenModels()) {
    cuda_emulation::SetSchedule(schedule++);
    const testing::TempFolder folder;
    WriteModel(folder.path(), golden);
    const auto model = LoadModel(folder.path());
    ASSERT_TRUE(model.ok()) << model.status();
    const std::unique_ptr<Backend> backend = BackendOf(**model);
    ASSERT_NE(backend, nullptr);
    EXPECT_EQ(HashOf(backend.get(), **model), golden.hash) << golden.architecture;
  }
}

TEST_F(CudaModels, HasTheBitsOfTheReferenceInAStepOfPrefillAndDecode) {
  cuda_emulation::SetSchedule(kShuffled);
  const testing::TempFolder folder;
  for (const GoldenModel& model :
       {GoldenModels()[2], GoldenModels()[4],
        GoldenModel{"MistralForCausalLM", R"(,"sliding_window":37)", {.head_dim = 8}, false, ""}}) {
    WriteModel(folder.path(), model);
    ExpectReferenceBits(folder.path(), model.architecture);
  }
}

TEST_F(CudaModels, HasTheBitsOfTheReferenceOnMixedTypesOfAGguf) {
  const testing::TempFolder folder;
  const std::string path = folder.path() + "/model.gguf";
  WriteQuantisedGguf(path,
                     {.hidden_dim = 64, .feed_forward_dim = 96, .head_count = 4, .qkv_bias = true},
                     "qwen2", "mlp.up_proj.weight");
  ExpectReferenceBits(path, path);
}

TEST_F(CudaModels, TellsAStoryOfATrainedModelWithTheGoldenCache) {
  const std::string folder = STORIES_FOLDER;
  if (!std::filesystem::exists(folder + "/model.safetensors")) {
    GTEST_SKIP() << "the model stories260k is not beside this checkout";
  }
  cuda_emulation::SetSchedule(kShuffled);
  const auto model = LoadModel(folder);
  ASSERT_TRUE(model.ok()) << model.status();
  const std::unique_ptr<Backend> backend = BackendOf(**model);
  ASSERT_NE(backend, nullptr);
  ASSERT_TRUE(backend->ReservePages(9).ok());
  const std::vector<int32_t> pages = {8, 0, 7, 1, 6, 2, 5, 3, 4};
  constexpr int32_t kBegin = 1;  // It begins a text, and ends a story.
  int32_t token = kBegin;
  int32_t position = 0;
  for (; position < 257 && (position == 0 || token != kBegin); ++position) {
    const StepSequence sequence = {pages, position, {&token, 1}, 1};
    std::vector<SequenceOutput> outputs;
    ASSERT_TRUE(backend->Forward({&sequence, 1}, &outputs).ok());
    ASSERT_TRUE(outputs[0].status.ok()) << outputs[0].status;
    token = ArgMax(outputs[0].logits);
  }
  // As in engine/stories_test.cc.
  EXPECT_EQ(HexText(CacheDigest(*backend, **model, pages, static_cast<size_t>(position))),
            "b3d6e5cd366f451c560820eba7c792f158c425bb5c09fed68c9ce84dbcd5a921");
}

TEST_F(CudaModels, WhatIsNotFiniteEndsItsOwnSequenceAndIsNamedAsInTheReference) {
  const testing::TempFolder folder;
  WriteOverflowing(folder.path());
  const auto model = LoadModel(folder.path());
  ASSERT_TRUE(model.ok()) << model.status();
  const std::vector<int32_t> pages[] = {{0}, {1}, {2}};
  const std::vector<int32_t> tokens[] = {{1, 2}, {1, 3, 5}, {7, 97}};
  const auto run = [&](Backend* backend) {
    EXPECT_TRUE(backend->ReservePages(3).ok());
    std::vector<StepSequence> sequences;
    for (size_t i = 0; i < 3; ++i) sequences.push_back({pages[i], 0, tokens[i], 1});
    std::vector<SequenceOutput> outputs;
    EXPECT_TRUE(backend->Forward(sequences, &outputs).ok());
    return outputs;
  };
  const auto expected = run(MakeReferenceBackend(**model, kPositions).get());
  const auto actual = run(BackendOf(**model).get());
  EXPECT_EQ(actual[1].status.code(), absl::StatusCode::kInternal);
  EXPECT_EQ(actual[1].status, expected[1].status);
  EXPECT_EQ(actual[2].status.code(), absl::StatusCode::kOutOfRange);
  ASSERT_TRUE(actual[0].status.ok()) << actual[0].status;
  EXPECT_EQ(Differences(actual[0].logits, expected[0].logits), 0u);
}

void ExpectRowsHold(const std::vector<Invariance>& rows, const MatrixSettings& settings) {
  for (const Invariance invariance : rows) {
    const absl::StatusOr<MatrixRow> row = RunInvariance(invariance, settings);
    ASSERT_TRUE(row.ok()) << InvarianceName(invariance) << ": " << row.status();
    std::printf("%-9s %9lld comparisons, %lld differences (%s)\n", InvarianceName(invariance),
                static_cast<long long>(row->comparisons), static_cast<long long>(row->differences),
                row->proof.c_str());
    EXPECT_EQ(row->differences, 0) << InvarianceName(invariance) << ": " << row->first_difference;
    EXPECT_GT(row->comparisons, 100) << InvarianceName(invariance);
    EXPECT_TRUE(row->path_ran) << InvarianceName(invariance) << ": " << row->proof;
  }
}

// Batches, chunks, cached prefixes and preemptions on the device give what it gives alone, and that
// is what the other backends give.
TEST_F(CudaModels, HoldEveryInvariance) {
  const testing::TempFolder folder;
  RandomModelShape shape = SmallShape(DataType::kBF16);
  shape.qk_norm = true;
  WriteSmallModel(folder.path(), shape, "Qwen3ForCausalLM");
  const MatrixSettings settings = {.model_path = folder.path(),
                                   .backend = BackendKind::kCuda,
                                   .other_backends = {BackendKind::kCpu, BackendKind::kReference},
                                   .batch_sizes = {5},
                                   .chunk_sizes = {3, 32},
                                   .lengths = {2, 33, 64},
                                   .prompt_tokens = 36,
                                   .output_tokens = 6,
                                   .residue_step = 16,
                                   .orders = 2,
                                   .thread_counts = {2}};
  std::vector<Invariance> rows(std::begin(kInvariances), std::end(kInvariances));
  rows.push_back(Invariance::kDevice);
  ExpectRowsHold(rows, settings);
}

#if !defined(REENACT_EMULATED_CUDA)  // Where a token takes minutes.
TEST_F(CudaModels, TheDemoModelHasTheBitsOfTheCpuInAnyCompany) {
  const MatrixSettings settings = {.model_path = DEMO_FOLDER,
                                   .backend = BackendKind::kCuda,
                                   .other_backends = {BackendKind::kCpu},
                                   .batch_sizes = {2, 7, 16},
                                   .lengths = {2, 33, 64, 257},
                                   .residue_step = 11,
                                   .orders = 4};
  ExpectRowsHold(
      {Invariance::kRun, Invariance::kBatch, Invariance::kPrefillDecode, Invariance::kChunk,
       Invariance::kCache, Invariance::kPreempt, Invariance::kDevice},
      settings);
}
#endif

}  // namespace
}  // namespace reenact::local_engine
