// Every architecture on small random models, against binary64.

#include "local_engine/reference/forward.h"

#include <cmath>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "gtest/gtest.h"

#include "local_engine/numerics/sha256.h"
#include "tests/local_engine/model/random_model.h"
#include "tests/local_engine/reference/forward_checks.h"
#include "tests/local_engine/reference/golden_models.h"
#include "tests/support/temp_folder.h"

namespace reenact::local_engine {
namespace {

struct Case {
  std::string architecture;
  std::string more;  // Of config.json.
  RandomModelShape shape;
  double bound = 1e-4;
  int32_t length = 40;
  bool w8a8 = false;  // The layers' matrices as bytes.
};

std::unique_ptr<const Model> Load(const Case& which, const std::string& folder) {
  std::vector<StoredTensor> tensors = RandomTensors(which.shape).All();
  if (which.w8a8) tensors = QuantisedToBytes(tensors);
  WriteFolder(folder, ConfigOf(which.shape, which.architecture, which.more), tensors);
  absl::StatusOr<std::unique_ptr<const Model>> model = LoadModel(folder);
  EXPECT_TRUE(model.ok()) << model.status();
  return model.ok() ? *std::move(model) : nullptr;
}

void ExpectWithinBound(const Case& which) {
  const testing::TempFolder folder;
  const std::unique_ptr<const Model> model = Load(which, folder.path());
  ASSERT_NE(model, nullptr);
  const double worst = WorstDifference(*model, *model, which.length);
  EXPECT_LT(worst, which.bound) << which.architecture;
  EXPECT_GT(worst, 1e-9) << "equal to binary64: the comparison compares nothing";
}

constexpr const char* kLlama3Rope = R"(,"rope_theta":500000.0,"rope_scaling":{"factor":8.0,
      "high_freq_factor":4.0,"low_freq_factor":1.0,"original_max_position_embeddings":64,
      "rope_type":"llama3"})";

TEST(Forward, EveryArchitectureIsWithinItsBoundOfBinary64TiedOrNot) {
  const Case architectures[] = {{"LlamaForCausalLM", "", {}},
                                {"LlamaForCausalLM", kLlama3Rope, {}},
                                {"MistralForCausalLM", R"(,"sliding_window":7)", {}},
                                {"Qwen2ForCausalLM", "", {.qkv_bias = true}},
                                {"Qwen3ForCausalLM", "", {.qk_norm = true}}};
  for (Case which : architectures) {
    for (const bool tied : {false, true}) {
      which.shape.tied = tied;
      ExpectWithinBound(which);
    }
  }
}

TEST(Forward, QueriesWithTheirOwnKeysAndOneKeyForAllQueries) {
  ExpectWithinBound({"LlamaForCausalLM", "", {.head_count = 3, .kv_head_count = 3}});
  ExpectWithinBound({"LlamaForCausalLM", "", {.head_count = 5, .kv_head_count = 1}});
}

TEST(Forward, YarnWithThePapersAttentionFactorAndWithOneOfItsOwn) {
  ExpectWithinBound({"Qwen2ForCausalLM",
                     R"(,"rope_scaling":{"type":"yarn","factor":4.0,
      "original_max_position_embeddings":64})",
                     {.qkv_bias = true}});
  ExpectWithinBound({"LlamaForCausalLM",
                     R"(,"rope_scaling":{"rope_type":"yarn","factor":8.0,"attention_factor":0.9,
      "beta_fast":16.0,"beta_slow":2.0,"original_max_position_embeddings":64})",
                     {}});
}

TEST(Forward, AcrossASplitOfTheCache) {
  ExpectWithinBound(
      {.architecture = "LlamaForCausalLM", .shape = {.layer_count = 1}, .length = 300});
}

// The cache's rounding is half of 2^-8 or 2^-11 of a key; binary64 does not round.
TEST(Forward, NarrowTypesStayWithinTheirCachesRounding) {
  ExpectWithinBound(
      {.architecture = "LlamaForCausalLM", .shape = {.type = DataType::kBF16}, .bound = 0.1});
  ExpectWithinBound(
      {.architecture = "LlamaForCausalLM", .shape = {.type = DataType::kF16}, .bound = 0.02});
}

// Where binary64 and binary32 round an activation to neighbouring steps, one step of 255 is seen.
TEST(Forward, W8A8IsWithinAStepOfItsActivations) {
  ExpectWithinBound({.architecture = "LlamaForCausalLM", .bound = 0.02, .w8a8 = true});
}

// The hash of all logits and of the cache of one sequence.
std::string HashOf(const Case& which) {
  const testing::TempFolder folder;
  const std::unique_ptr<const Model> model = Load(which, folder.path());
  if (model == nullptr) return "no model";
  const ReferenceModel reference(*model, which.length);
  ReferenceCache cache;
  Sha256 hash;
  for (int32_t position = 0; position < which.length; ++position) {
    const absl::StatusOr<std::vector<float>> logits =
        reference.Forward(GoldenTokenAt(position), &cache);
    if (!logits.ok()) return std::string(logits.status().message());
    hash.UpdateValues(std::span<const float>(*logits));
  }
  const Sha256Digest of_cache = cache.Digest();
  hash.Update(of_cache.data(), of_cache.size());
  return HexText(hash.Finish());
}

TEST(Forward, GoldenHashesOfEveryTypeAndArchitecture) {
  for (const GoldenModel& golden : GoldenModels()) {
    EXPECT_EQ(HashOf({.architecture = golden.architecture,
                      .more = golden.more,
                      .shape = golden.shape,
                      .length = kGoldenLength,
                      .w8a8 = golden.w8a8}),
              golden.hash)
        << golden.architecture;
  }
}

TEST(Forward, TheWindowMatters) {
  const testing::TempFolder folder;
  const Case windowed = {"MistralForCausalLM", R"(,"sliding_window":7)", {}};
  const std::unique_ptr<const Model> model = Load(windowed, folder.path());
  ASSERT_NE(model, nullptr);
  Model without_window{.config = model->config};
  without_window.config.layer_windows = {0, 0};
  without_window.weights = model->weights;
  ReferenceCache a;
  ReferenceCache b;
  const ReferenceModel with(*model, 40);
  const ReferenceModel without(without_window, 40);
  for (int32_t position = 0; position < 12; ++position) {
    const auto windowed_logits = with.Forward(GoldenTokenAt(position), &a);
    const auto full_logits = without.Forward(GoldenTokenAt(position), &b);
    ASSERT_TRUE(windowed_logits.ok() && full_logits.ok());
    EXPECT_EQ(*windowed_logits == *full_logits, position < 7) << position;
  }
}

TEST(Forward, ATokenOrPositionBeyondTheModelIsNamed) {
  const testing::TempFolder folder;
  const std::unique_ptr<const Model> model = Load({"LlamaForCausalLM", "", {}}, folder.path());
  ASSERT_NE(model, nullptr);
  const ReferenceModel reference(*model, 2);
  ReferenceCache cache;
  EXPECT_EQ(reference.Forward(97, &cache).status().code(), absl::StatusCode::kOutOfRange);
  EXPECT_EQ(reference.Forward(-1, &cache).status().code(), absl::StatusCode::kOutOfRange);
  EXPECT_TRUE(reference.Forward(0, &cache).ok());
  EXPECT_TRUE(reference.Forward(0, &cache).ok());
  EXPECT_EQ(reference.Forward(0, &cache).status().code(), absl::StatusCode::kOutOfRange);
}

TEST(Forward, AValueThatOverflowsBinary16IsNamed) {
  const testing::TempFolder folder;
  Case overflowing = {.architecture = "Qwen2ForCausalLM",
                      .shape = {.qkv_bias = true, .type = DataType::kF16}};
  std::vector<StoredTensor> tensors = RandomTensors(overflowing.shape).All();
  std::vector<float> steep(32 * 48);  // Rows of both signs: one of them overflows for any input.
  for (size_t i = 0; i < steep.size(); ++i) steep[i] = i / 48 % 2 == 0 ? 60000.0f : -60000.0f;
  for (StoredTensor& tensor : tensors) {
    if (tensor.name == "model.layers.1.self_attn.v_proj.bias") {
      tensor = Store(tensor.name, DataType::kF16, tensor.shape, std::vector<float>(32, 65504.0f));
    }
    if (tensor.name == "model.layers.1.self_attn.v_proj.weight") {
      tensor = Store(tensor.name, DataType::kF16, tensor.shape, steep);
    }
  }
  WriteFolder(folder.path(), ConfigOf(overflowing.shape, overflowing.architecture, ""), tensors);
  const auto model = LoadModel(folder.path());
  ASSERT_TRUE(model.ok()) << model.status();
  const ReferenceModel reference(**model, 4);
  ReferenceCache cache;
  const absl::Status status = reference.Forward(3, &cache).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
  EXPECT_NE(std::string(status.message()).find("layer 1: the value cache"), std::string::npos)
      << status;
}

}  // namespace
}  // namespace reenact::local_engine
