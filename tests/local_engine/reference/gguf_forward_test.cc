// Models as GGUF files: their logits beside those of binary64 on the same model as a Hugging Face
// folder, so that names, metadata and the order of rows are compared too.

#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "gtest/gtest.h"

#include "tests/local_engine/model/random_gguf.h"
#include "tests/local_engine/reference/forward_checks.h"
#include "tests/support/temp_folder.h"

namespace reenact::local_engine {
namespace {

constexpr int32_t kLength = 40;

struct GgufCase {
  std::string architecture;  // Of config.json.
  std::string more;          // Of config.json.
  RandomModelShape shape;
  std::string gguf_architecture;
  GgufMetadata metadata = {};  // What `more` says.
};

std::unique_ptr<const Model> Load(const std::string& path) {
  absl::StatusOr<std::unique_ptr<const Model>> model = LoadModel(path);
  EXPECT_TRUE(model.ok()) << model.status();
  return model.ok() ? *std::move(model) : nullptr;
}

double WorstOf(const GgufCase& which, const std::vector<StoredTensor>& more_tensors = {}) {
  const testing::TempFolder folder;
  WriteFolder(folder.path(), ConfigOf(which.shape, which.architecture, which.more),
              RandomTensors(which.shape).All());
  const std::string file = folder.path() + "/model.gguf";
  WriteGguf(file, which.shape, which.gguf_architecture, which.metadata, more_tensors);
  const std::unique_ptr<const Model> exact = Load(folder.path());
  const std::unique_ptr<const Model> tested = Load(file);
  return exact == nullptr || tested == nullptr ? -1 : WorstDifference(*tested, *exact, kLength);
}

void ExpectWithinBound(double worst, const GgufCase& which) {
  EXPECT_LT(worst, 1e-4) << which.architecture << ", tied " << which.shape.tied;
  EXPECT_GT(worst, 1e-9) << which.architecture << ": the comparison compares nothing";
}

TEST(GgufForward, EveryArchitectureIsWithinItsBoundOfBinary64TiedOrNot) {
  const GgufCase architectures[] = {
      {"LlamaForCausalLM", "", {}, "llama"},
      {"MistralForCausalLM",
       R"(,"sliding_window":7,"rope_theta":50000.0)",
       {},
       "llama",
       {{"llama.attention.sliding_window", uint64_t{7}}, {"llama.rope.freq_base", 50000.0}}},
      {"Qwen2ForCausalLM",
       R"(,"rope_scaling":{"type":"yarn","factor":4.0,"original_max_position_embeddings":64})",
       {.qkv_bias = true},
       "qwen2",
       {{"qwen2.rope.scaling.type", std::string("yarn")},
        {"qwen2.rope.scaling.factor", 4.0},
        {"qwen2.rope.scaling.original_context_length", uint64_t{64}}}},
      {"Qwen3ForCausalLM", "", {.qk_norm = true}, "qwen3"}};
  for (GgufCase which : architectures) {
    for (const bool tied : {false, true}) {
      which.shape.tied = tied;
      ExpectWithinBound(WorstOf(which), which);
    }
  }
}

// As converters write Llama 3.1: the divisor of each frequency is a tensor.
TEST(GgufForward, Llama3sScaledFrequenciesComeAsATensor) {
  const GgufCase which = {"LlamaForCausalLM",
                          R"(,"rope_theta":500000.0,"rope_scaling":{"factor":8.0,
      "high_freq_factor":4.0,"low_freq_factor":1.0,"original_max_position_embeddings":64,
      "rope_type":"llama3"})",
                          {},
                          "llama",
                          {{"llama.rope.freq_base", 500000.0}}};
  std::vector<float> divisors;
  for (int pair = 0; pair < 8; ++pair) {
    const double turns = 64 * std::pow(500000.0, -pair / 8.0) / (2 * M_PI);
    const double kept = std::fmin(1, std::fmax(0, (turns - 1) / 3));
    divisors.push_back(static_cast<float>(1 / (kept + (1 - kept) / 8)));
  }
  ExpectWithinBound(WorstOf(which, {Store("rope_freqs.weight", DataType::kF32, {8}, divisors)}),
                    which);
  EXPECT_GT(WorstOf(which), 1e-2) << "the scaling makes no difference: the test tests nothing";
}

// An activation that binary64 and binary32 round to neighbouring steps is one step of 255 apart,
// and keys and values are rounded to binary16.
TEST(GgufForward, Q8WeightsAreWithinAStepOfTheirActivations) {
  for (const char* architecture : {"llama", "qwen2"}) {
    const testing::TempFolder folder;
    const std::string file = folder.path() + "/model.gguf";
    WriteQuantisedGguf(file,
                       {.hidden_dim = 64,
                        .feed_forward_dim = 96,
                        .head_count = 4,
                        .qkv_bias = std::string(architecture) == "qwen2"},
                       architecture, "mlp.up_proj.weight");
    const std::unique_ptr<const Model> model = Load(file);
    ASSERT_NE(model, nullptr);
    const double worst = WorstDifference(*model, *model, kLength);
    EXPECT_LT(worst, 0.2) << architecture;
    EXPECT_GT(worst, 1e-9) << architecture << ": the comparison compares nothing";
  }
}

}  // namespace
}  // namespace reenact::local_engine
