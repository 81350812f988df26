// The fast backend against the definition: whole models, every step of a schedule that mixes
// prefill, chunks and decode, logits and pages as bits.

#include "local_engine/engine/cpu_backend.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "gtest/gtest.h"

#include "local_engine/cpu/isa.h"
#include "local_engine/engine/backend.h"
#include "tests/local_engine/engine/backend_checks.h"
#include "tests/local_engine/model/random_gguf.h"
#include "tests/local_engine/reference/golden_models.h"
#include "tests/support/temp_folder.h"

namespace reenact::local_engine {
namespace {

std::unique_ptr<Backend> CpuBackendOf(const Model& model, const CpuBackendOptions& options) {
  auto backend = MakeCpuBackend(model, options, [](int64_t) {});
  EXPECT_TRUE(backend.ok()) << backend.status();
  return backend.ok() ? *std::move(backend) : nullptr;
}

void ExpectReferenceBits(const std::string& path, const std::string& name) {
  const auto model = LoadModel(path);
  ASSERT_TRUE(model.ok()) << model.status();
  const std::unique_ptr<Backend> reference = MakeReferenceBackend(**model, kPositions);
  const std::vector<float> expected = RunSchedule(reference.get(), **model, kMixedSchedule);
  EXPECT_GT(expected.size(), 10000u);

  struct Configuration {
    Isa isa;
    int32_t threads;
    bool in_place;
  };

  const Isa fastest = AvailableIsas().back();
  std::vector<Configuration> configurations = {{fastest, 1, false}, {fastest, 3, true}};
  for (Isa isa : AvailableIsas()) {
    if (isa != fastest) configurations.push_back({isa, 1, configurations.size() % 2 == 0});
  }
  for (const auto& [isa, threads, in_place] : configurations) {
    const std::unique_ptr<Backend> backend = CpuBackendOf(**model, {.max_positions = kPositions,
                                                                    .thread_count = threads,
                                                                    .isa = IsaName(isa),
                                                                    .weights_in_place = in_place});
    ASSERT_NE(backend, nullptr);
    EXPECT_EQ(Differences(expected, RunSchedule(backend.get(), **model, kMixedSchedule)), 0u)
        << name << ", " << IsaName(isa) << ", " << threads << " threads, in place " << in_place
        << ", of " << expected.size();
  }
}

TEST(CpuBackend, HasTheBitsOfTheReferenceOnEveryArchitectureAndType) {
  std::vector<GoldenModel> models = GoldenModels();
  models.push_back({"LlamaForCausalLM",
                    R"(,"rope_theta":500000.0,"rope_scaling":{"factor":8.0,
      "high_freq_factor":4.0,"low_freq_factor":1.0,"original_max_position_embeddings":64,
      "rope_type":"llama3"})",
                    {.head_count = 3, .kv_head_count = 1, .head_dim = 80, .tied = true}});
  models.push_back({"MistralForCausalLM", R"(,"sliding_window":37)", {.head_dim = 8}});
  for (const GoldenModel& model : models) {
    const testing::TempFolder folder;
    WriteModel(folder.path(), model);
    ExpectReferenceBits(folder.path(), model.architecture + model.more);
  }
}

TEST(CpuBackend, HasTheBitsOfTheReferenceOnMixedTypesOfAGguf) {
  const testing::TempFolder folder;
  for (const char* architecture : {"llama", "qwen2"}) {
    const std::string path = folder.path() + "/" + architecture + ".gguf";
    WriteQuantisedGguf(path,
                       {.hidden_dim = 64,
                        .feed_forward_dim = 96,
                        .head_count = 4,
                        .qkv_bias = std::string(architecture) == "qwen2"},
                       architecture, "mlp.up_proj.weight");
    ExpectReferenceBits(path, path);
  }
}

TEST(CpuBackend, HasTheBitsOfTheReferenceOnATrainedModel) {
  const std::string folder = STORIES_FOLDER;
  if (!std::filesystem::exists(folder + "/model-q8_0.gguf")) {
    GTEST_SKIP() << "the model stories260k is not beside this checkout";
  }
  ExpectReferenceBits(folder + "/model-q8_0.gguf", "stories260k Q8_0");
}

TEST(CpuBackend, HasTheGoldenHashOfEveryModel) {
  for (const GoldenModel& golden : GoldenModels()) {
    const testing::TempFolder folder;
    WriteModel(folder.path(), golden);
    const auto model = LoadModel(folder.path());
    ASSERT_TRUE(model.ok()) << model.status();
    EXPECT_EQ(HashOf(CpuBackendOf(**model, {.max_positions = kPositions}).get(), **model),
              golden.hash)
        << golden.architecture;
    EXPECT_EQ(HashOf(MakeReferenceBackend(**model, kPositions).get(), **model), golden.hash)
        << golden.architecture;
  }
}

TEST(CpuBackend, WhatIsNotFiniteEndsItsOwnSequenceAndIsNamedAsInTheReference) {
  const testing::TempFolder folder;
  WriteOverflowing(folder.path());
  const auto model = LoadModel(folder.path());
  ASSERT_TRUE(model.ok()) << model.status();
  const std::vector<int32_t> pages[] = {{0}, {1}, {2}};
  const std::vector<int32_t> tokens[] = {{1, 2}, {1, 3, 5}, {7, 11}};
  const auto run = [&](Backend* backend, std::vector<size_t> which) {
    EXPECT_TRUE(backend->ReservePages(3).ok());
    std::vector<StepSequence> sequences;
    for (size_t i : which) sequences.push_back({pages[i], 0, tokens[i], 1});
    std::vector<SequenceOutput> outputs;
    EXPECT_TRUE(backend->Forward(sequences, &outputs).ok());
    return outputs;
  };
  const auto backend = CpuBackendOf(**model, {.max_positions = kPositions, .thread_count = 2});
  const auto reference = MakeReferenceBackend(**model, kPositions);
  const auto expected = run(reference.get(), {0, 1, 2});
  const auto together = run(backend.get(), {0, 1, 2});
  EXPECT_EQ(together[1].status.code(), absl::StatusCode::kInternal);
  EXPECT_EQ(together[1].status, expected[1].status);
  const auto alone = run(backend.get(), {0, 2});
  for (size_t i : {size_t{0}, size_t{2}}) {
    ASSERT_TRUE(together[i].status.ok()) << together[i].status;
    EXPECT_EQ(Differences(together[i].logits, expected[i].logits), 0u);
    EXPECT_EQ(Differences(together[i].logits, alone[i / 2].logits), 0u);
  }
}

TEST(CpuBackend, ATokenOrPositionBeyondTheModelEndsItsSequence) {
  const testing::TempFolder folder;
  WriteModel(folder.path(), GoldenModels()[0]);
  const auto model = LoadModel(folder.path());
  ASSERT_TRUE(model.ok()) << model.status();
  const auto backend = CpuBackendOf(**model, {.max_positions = 33});
  ASSERT_TRUE(backend->ReservePages(3).ok());
  const std::vector<int32_t> pages = {0, 1};
  const std::vector<int32_t> other_page = {2};
  const std::vector<int32_t> tokens[] = {{97}, {5}, {4, 5}};
  const StepSequence sequences[] = {
      {other_page, 0, tokens[0], 1}, {other_page, 0, tokens[1], 1}, {pages, 32, tokens[2], 1}};
  std::vector<SequenceOutput> outputs;
  ASSERT_TRUE(backend->Forward(sequences, &outputs).ok());
  EXPECT_EQ(outputs[0].status.code(), absl::StatusCode::kOutOfRange);
  EXPECT_TRUE(outputs[1].status.ok());
  EXPECT_EQ(outputs[1].logits.size(), 97u);
  EXPECT_EQ(outputs[2].status.code(), absl::StatusCode::kOutOfRange);
}

TEST(CpuBackend, AnInstructionSetThatIsNotThereIsNeverReplaced) {
  const testing::TempFolder folder;
  WriteModel(folder.path(), GoldenModels()[0]);
  const auto model = LoadModel(folder.path());
  ASSERT_TRUE(model.ok()) << model.status();
  const auto refused = MakeCpuBackend(**model, {.max_positions = 8, .isa = "mmx"}, [](int64_t) {});
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(CpuBackend, PackingTellsOfEveryByteAndWeightsInPlaceOfNone) {
  const testing::TempFolder folder;
  WriteModel(folder.path(), GoldenModels()[3]);
  const auto model = LoadModel(folder.path());
  ASSERT_TRUE(model.ok()) << model.status();
  int64_t packed = 0;
  const auto count = [&](int64_t bytes) { packed += bytes; };
  ASSERT_TRUE(MakeCpuBackend(**model, {.max_positions = 8}, count).ok());
  // Query and output 96 * 48, key and value 32 * 48, three of 80 * 48, twice; the embedding.
  EXPECT_EQ(packed, 4 * (2 * (2 * 96 + 2 * 32 + 3 * 80) * 48 + 97 * 48));
  ASSERT_TRUE(MakeCpuBackend(**model, {.max_positions = 8, .weights_in_place = true}, count).ok());
  EXPECT_EQ(packed, 4 * (2 * (2 * 96 + 2 * 32 + 3 * 80) * 48 + 97 * 48));
}

}  // namespace
}  // namespace reenact::local_engine
