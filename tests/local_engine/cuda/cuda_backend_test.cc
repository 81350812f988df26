// The CUDA backend on the emulator: whole models with the golden hashes of the CPU, every step of a
// schedule that mixes prefill, chunks and decode, and how many launches a layer takes.

#include "local_engine/engine/cuda_backend.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "gtest/gtest.h"

#include "local_engine/engine/backend.h"
#include "local_engine/model/load_model.h"
#include "local_engine/numerics/sha256.h"
#include "local_engine/reference/sampler.h"
#include "tests/local_engine/cuda/emulation/execution.h"
#include "tests/local_engine/cuda/emulation/memory_checks.h"
#include "tests/local_engine/engine/backend_checks.h"
#include "tests/local_engine/model/random_gguf.h"
#include "tests/support/temp_folder.h"

namespace reenact::local_engine {
namespace {

constexpr uint64_t kShuffled = 20261130;

class CudaBackendTest : public ::testing::Test {
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

TEST_F(CudaBackendTest, HasTheGoldenHashOfEveryModel) {
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

TEST_F(CudaBackendTest, HasTheBitsOfTheReferenceInAStepOfPrefillAndDecode) {
  cuda_emulation::SetSchedule(kShuffled);
  const testing::TempFolder folder;
  for (const GoldenModel& model :
       {GoldenModels()[2], GoldenModels()[4],
        GoldenModel{"MistralForCausalLM", R"(,"sliding_window":37)", {.head_dim = 8}, false, ""}}) {
    WriteModel(folder.path(), model);
    ExpectReferenceBits(folder.path(), model.architecture);
  }
}

TEST_F(CudaBackendTest, HasTheBitsOfTheReferenceOnMixedTypesOfAGguf) {
  const testing::TempFolder folder;
  const std::string path = folder.path() + "/model.gguf";
  WriteQuantisedGguf(path,
                     {.hidden_dim = 64, .feed_forward_dim = 96, .head_count = 4, .qkv_bias = true},
                     "qwen2", "mlp.up_proj.weight");
  ExpectReferenceBits(path, path);
}

TEST_F(CudaBackendTest, TellsAStoryOfATrainedModelWithTheGoldenCache) {
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

TEST_F(CudaBackendTest, ADecodedTokenTakesSevenLaunchesALayer) {
  const testing::TempFolder folder;
  const auto launches_of = [&](int layers) {
    WriteModel(folder.path(), {"LlamaForCausalLM", "", {.layer_count = layers}, false, ""});
    const auto model = LoadModel(folder.path());
    EXPECT_TRUE(model.ok()) << model.status();
    const std::unique_ptr<Backend> backend = BackendOf(**model);
    EXPECT_TRUE(backend->ReservePages(1).ok());
    const int64_t before = cuda_emulation::CountersSoFar().grids;
    const std::vector<int32_t> pages = {0}, tokens = {5};
    const StepSequence sequence = {pages, 0, tokens, 1};
    std::vector<SequenceOutput> outputs;
    EXPECT_TRUE(backend->Forward({&sequence, 1}, &outputs).ok());
    return cuda_emulation::CountersSoFar().grids - before;
  };
  EXPECT_EQ(launches_of(3) - launches_of(2), 7);
}

TEST_F(CudaBackendTest, WhatIsNotFiniteEndsItsOwnSequenceAndIsNamedAsInTheReference) {
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

TEST_F(CudaBackendTest, AModelThatIsLargerThanTheDeviceIsRefusedBeforeItIsCopied) {
  const testing::TempFolder folder;
  WriteModel(folder.path(), GoldenModels()[0]);
  const auto model = LoadModel(folder.path());
  ASSERT_TRUE(model.ok()) << model.status();
  const int64_t before = cuda_emulation::MostDeviceBytes();
  cuda_emulation::LimitDeviceBytes(100000);
  int64_t copied = 0;
  const auto refused =
      MakeCudaBackend(**model, {.max_positions = 8}, [&](int64_t bytes) { copied += bytes; });
  cuda_emulation::LimitDeviceBytes(before);
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(copied, 0);
}

}  // namespace
}  // namespace reenact::local_engine
