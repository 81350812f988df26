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
#include "local_engine/numerics/operations.h"
#include "local_engine/numerics/sha256.h"
#include "tests/local_engine/model/random_gguf.h"
#include "tests/local_engine/reference/golden_models.h"
#include "tests/support/temp_folder.h"

namespace reenact::local_engine {
namespace {

constexpr int32_t kPages = 14;
constexpr int32_t kPositions = 400;

struct StepPart {
  int32_t sequence = 0;
  int32_t token_count = 0;
  int32_t logits_count = 0;
};

using Schedule = std::vector<std::vector<StepPart>>;

// Three sequences: chunks that end within a page, decode beside prefill, and a second split of
// attention for the first one.
const Schedule kMixedSchedule = {{{0, 70, 70}, {1, 5, 1}},
                                 {{0, 1, 1}, {1, 40, 0}, {2, 33, 2}},
                                 {{2, 1, 1}, {0, 190, 3}, {1, 1, 1}},
                                 {{0, 1, 1}, {1, 1, 1}, {2, 1, 1}},
                                 {{0, 9, 9}}};

// The pages of a sequence, in no order.
std::vector<int32_t> PagesOf(int32_t sequence) {
  if (sequence == 0) return {3, 0, 7, 11, 2, 9, 5, 13, 1};
  return sequence == 1 ? std::vector<int32_t>{12, 4} : std::vector<int32_t>{6, 8};
}

// Runs a schedule; all logits in their order, then all pages.
std::vector<float> Run(Backend* backend, const Model& model, const Schedule& schedule) {
  EXPECT_TRUE(backend->ReservePages(kPages).ok());
  for (int32_t page = 0; page < kPages; ++page) backend->PoisonPage(page);
  std::vector<float> results;
  std::vector<int32_t> done(3);
  for (const std::vector<StepPart>& step : schedule) {
    std::vector<std::vector<int32_t>> tokens;
    std::vector<std::vector<int32_t>> pages;
    std::vector<StepSequence> sequences;
    for (const StepPart& part : step) {
      pages.push_back(PagesOf(part.sequence));
      tokens.emplace_back();
      for (int32_t i = 0; i < part.token_count; ++i) {
        const int32_t position = done[static_cast<size_t>(part.sequence)] + i;
        tokens.back().push_back((position * 31 + part.sequence) % model.config.vocabulary_size);
      }
    }
    for (size_t i = 0; i < step.size(); ++i) {
      int32_t& position = done[static_cast<size_t>(step[i].sequence)];
      sequences.push_back({pages[i], position, tokens[i], step[i].logits_count});
      position += step[i].token_count;
    }
    std::vector<SequenceOutput> outputs;
    EXPECT_TRUE(backend->Forward(sequences, &outputs).ok());
    for (const SequenceOutput& output : outputs) {
      EXPECT_TRUE(output.status.ok()) << output.status;
      results.insert(results.end(), output.logits.begin(), output.logits.end());
    }
  }
  const auto kv_dim = static_cast<size_t>(model.config.kv_head_count * model.config.head_dim);
  std::vector<float> rows(kPagePositions * kv_dim * 2);
  const std::span<float> keys = std::span(rows).first(rows.size() / 2);
  const std::span<float> values = std::span(rows).last(rows.size() / 2);
  for (int32_t page = 0; page < kPages; ++page) {
    for (int32_t layer = 0; layer < model.config.layer_count; ++layer) {
      backend->ReadPage(page, layer, keys, values);
      results.insert(results.end(), rows.begin(), rows.end());
    }
  }
  return results;
}

std::unique_ptr<Backend> CpuBackendOf(const Model& model, const CpuBackendOptions& options) {
  auto backend = MakeCpuBackend(model, options, [](int64_t) {});
  EXPECT_TRUE(backend.ok()) << backend.status();
  return backend.ok() ? *std::move(backend) : nullptr;
}

size_t Differences(const std::vector<float>& a, const std::vector<float>& b) {
  if (a.size() != b.size()) return a.size() + b.size();
  size_t count = 0;
  for (size_t i = 0; i < a.size(); ++i) count += float_bits(a[i]) != float_bits(b[i]) ? 1 : 0;
  return count;
}

void ExpectReferenceBits(const std::string& path, const std::string& name) {
  const auto model = LoadModel(path);
  ASSERT_TRUE(model.ok()) << model.status();
  const std::unique_ptr<Backend> reference = MakeReferenceBackend(**model, kPositions);
  const std::vector<float> expected = Run(reference.get(), **model, kMixedSchedule);
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
    EXPECT_EQ(Differences(expected, Run(backend.get(), **model, kMixedSchedule)), 0u)
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

// As in golden_models.h, a token a step.
std::string HashOf(Backend* backend, const Model& model) {
  EXPECT_TRUE(backend->ReservePages(2).ok());
  const std::vector<int32_t> pages = {1, 0};
  Sha256 hash;
  for (int32_t position = 0; position < kGoldenLength; ++position) {
    const int32_t token = GoldenTokenAt(position);
    const StepSequence sequence = {pages, position, {&token, 1}, 1};
    std::vector<SequenceOutput> outputs;
    EXPECT_TRUE(backend->Forward({&sequence, 1}, &outputs).ok());
    hash.UpdateValues(std::span<const float>(outputs.at(0).logits));
  }
  const auto kv_dim = static_cast<size_t>(model.config.kv_head_count * model.config.head_dim);
  const size_t page_size = kPagePositions * kv_dim;
  Sha256 of_cache;
  for (int32_t layer = 0; layer < model.config.layer_count; ++layer) {
    std::vector<float> keys(2 * page_size);
    std::vector<float> values(2 * page_size);
    for (size_t i = 0; i < pages.size(); ++i) {
      backend->ReadPage(pages[i], layer, std::span(keys).subspan(i * page_size, page_size),
                        std::span(values).subspan(i * page_size, page_size));
    }
    of_cache.UpdateValues(std::span<const float>(keys).first(kGoldenLength * kv_dim));
    of_cache.UpdateValues(std::span<const float>(values).first(kGoldenLength * kv_dim));
  }
  const Sha256Digest digest = of_cache.Finish();
  hash.Update(digest.data(), digest.size());
  return HexText(hash.Finish());
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

// A model whose token 3 overflows binary16 in a value of layer 1.
void WriteOverflowing(const std::string& folder) {
  const RandomModelShape shape = {.type = DataType::kF16};
  std::vector<StoredTensor> tensors = RandomTensors(shape).All();
  for (StoredTensor& tensor : tensors) {
    if (tensor.name != "model.embed_tokens.weight") continue;
    // A row of one large value: RMSNorm makes it the same for all, so the residual overflows.
    std::vector<float> rows(97 * 48);
    for (size_t i = 0; i < rows.size(); ++i)
      rows[i] = i / 48 == 3 ? 65504.0f : 0.01f * static_cast<float>(i % 7);
    tensor = Store(tensor.name, DataType::kF16, tensor.shape, rows);
  }
  for (StoredTensor& tensor : tensors) {
    if (tensor.name != "model.layers.1.self_attn.v_proj.weight") continue;
    std::vector<float> steep(32 * 48);
    for (size_t i = 0; i < steep.size(); ++i) steep[i] = i / 48 % 2 == 0 ? 2000.0f : -2000.0f;
    tensor = Store(tensor.name, DataType::kF16, tensor.shape, steep);
  }
  WriteFolder(folder, ConfigOf(shape, "LlamaForCausalLM", ""), tensors);
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
