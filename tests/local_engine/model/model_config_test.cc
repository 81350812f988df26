#include "local_engine/model/model_config.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"

#include "tests/local_engine/weights/file_refusal.h"

namespace reenact::local_engine {
namespace {

constexpr const char* kSizes = R"("hidden_size":64,"intermediate_size":172,
  "num_hidden_layers":4,"num_attention_heads":8,"num_key_value_heads":4,"vocab_size":512,
  "max_position_embeddings":8192,"rms_norm_eps":1e-05)";

// A config.json with the sizes above; `more` begins with a comma.
std::string Config(const std::string& architecture, const std::string& more = "") {
  return "{\"architectures\":[\"" + architecture + "\"]," + kSizes + more + "}";
}

ModelConfig ParsedConfig(const std::string& text) {
  const absl::StatusOr<ModelConfig> config = ReadConfigJson("config.json", text);
  EXPECT_TRUE(config.ok()) << config.status();
  return config.ok() ? *config : ModelConfig{};
}

void ExpectConfigRefused(const std::string& text, absl::StatusCode code, const std::string& words) {
  const absl::Status status = ReadConfigJson("config.json", text).status();
  EXPECT_EQ(status.code(), code) << status;
  ExpectFileRefused(status, "config.json", words);
}

TEST(ModelConfig, LlamaWithItsDefaults) {
  const ModelConfig config =
      ParsedConfig(Config("LlamaForCausalLM", R"(,"eos_token_id":[128001,128009])"));
  EXPECT_EQ(config.architecture, Architecture::kLlama);
  EXPECT_EQ(config.head_dim, 8);
  EXPECT_EQ(config.rope.theta, 10000.0);
  EXPECT_EQ(config.rope.scaling, RopeScaling::kNone);
  EXPECT_EQ(config.rms_norm_epsilon, 1e-5f);
  EXPECT_FALSE(config.tied_embeddings);
  EXPECT_FALSE(config.qkv_bias);
  EXPECT_EQ(config.layer_windows, (std::vector<int32_t>{0, 0, 0, 0}));
  EXPECT_EQ(config.end_token_ids, (std::vector<int32_t>{128001, 128009}));
}

TEST(ModelConfig, Llama3Scaling) {
  const ModelConfig config = ParsedConfig(Config("LlamaForCausalLM", R"(,"rope_theta":500000.0,
    "rope_scaling":{"factor":32.0,"high_freq_factor":4.0,"low_freq_factor":1.0,
    "original_max_position_embeddings":8192,"rope_type":"llama3"})"));
  EXPECT_EQ(config.rope.scaling, RopeScaling::kLlama3);
  EXPECT_EQ(config.rope.factor, 32.0);
  EXPECT_EQ(config.rope.original_context, 8192.0);
  EXPECT_EQ(config.rope.theta, 500000.0);
}

TEST(ModelConfig, YarnReachesItsScaledContext) {
  const ModelConfig config =
      ParsedConfig(Config("Qwen2ForCausalLM", R"(,"rope_scaling":{"type":"yarn",
    "factor":4.0,"original_max_position_embeddings":8192})"));
  EXPECT_EQ(config.rope.scaling, RopeScaling::kYarn);
  EXPECT_EQ(config.max_positions, 32768);
}

TEST(ModelConfig, RopeParametersOfNewerConfigsAreReadToo) {
  const ModelConfig config = ParsedConfig(Config("Qwen3ForCausalLM",
                                                 R"(,"rope_parameters":{"rope_type":"default",
                                            "rope_theta":1000000})"));
  EXPECT_EQ(config.rope.theta, 1000000.0);
}

TEST(ModelConfig, QwenHasBiasesAndQwen3Norms) {
  const ModelConfig two =
      ParsedConfig(Config("Qwen2ForCausalLM", R"(,"tie_word_embeddings":true)"));
  EXPECT_TRUE(two.qkv_bias);
  EXPECT_FALSE(two.output_bias);
  EXPECT_TRUE(two.tied_embeddings);
  const ModelConfig three = ParsedConfig(Config("Qwen3ForCausalLM", R"(,"head_dim":128)"));
  EXPECT_FALSE(three.qkv_bias);
  EXPECT_TRUE(three.qk_norm);
  EXPECT_EQ(three.head_dim, 128);
}

TEST(ModelConfig, SlidingWindowsByLayer) {
  using Windows = std::vector<int32_t>;
  EXPECT_EQ(ParsedConfig(Config("MistralForCausalLM", R"(,"sliding_window":4096)")).layer_windows,
            (Windows{4096, 4096, 4096, 4096}));
  EXPECT_EQ(ParsedConfig(Config("MistralForCausalLM", R"(,"sliding_window":null)")).layer_windows,
            (Windows{0, 0, 0, 0}));
  EXPECT_EQ(
      ParsedConfig(Config("Qwen2ForCausalLM", R"(,"sliding_window":4096,"use_sliding_window":false,
              "max_window_layers":2)"))
          .layer_windows,
      (Windows{0, 0, 0, 0}));
  EXPECT_EQ(
      ParsedConfig(Config("Qwen2ForCausalLM", R"(,"sliding_window":4096,"use_sliding_window":true,
              "max_window_layers":2)"))
          .layer_windows,
      (Windows{0, 0, 4096, 4096}));
  EXPECT_EQ(
      ParsedConfig(Config("Qwen3ForCausalLM", R"(,"sliding_window":64,"use_sliding_window":true,
              "layer_types":["sliding_attention","full_attention","full_attention",
              "sliding_attention"])"))
          .layer_windows,
      (Windows{64, 0, 0, 64}));
}

TEST(ModelConfig, WhatIsNotSupportedIsRefusedByName) {
  const auto refused = [](const std::string& text, const std::string& words) {
    ExpectConfigRefused(text, absl::StatusCode::kUnimplemented, words);
  };
  refused(Config("MixtralForCausalLM"), "MixtralForCausalLM");
  refused(Config("LlamaForCausalLM", R"(,"hidden_act":"gelu")"), "gelu");
  refused(Config("LlamaForCausalLM", R"(,"mlp_bias":true)"), "mlp_bias");
  refused(Config("LlamaForCausalLM", R"(,"partial_rotary_factor":0.5)"), "partial_rotary_factor");
  refused(Config("LlamaForCausalLM", R"(,"quantization_config":{"quant_method":"gptq"})"), "gptq");
  for (const std::string type : {"linear", "dynamic", "longrope", "su", "mrope", "proportional"}) {
    refused(Config("LlamaForCausalLM",
                   R"(,"rope_scaling":{"rope_type":")" + type + R"(","factor":2.0})"),
            "\"" + type + "\"");
  }
  for (const std::string key : {"mscale\":1.0", "mscale_all_dim\":0.7", "truncate\":false"}) {
    refused(
        Config("Qwen2ForCausalLM", R"(,"rope_scaling":{"type":"yarn","factor":2.0,")" + key + "}"),
        "rope_scaling\" with " + key.substr(0, key.find('"')));
  }
}

TEST(ModelConfig, WhatContradictsItselfIsNamed) {
  const auto refused = [](const std::string& text, const std::string& words) {
    ExpectConfigRefused(text, absl::StatusCode::kInvalidArgument, words);
  };
  refused("", "no JSON object");
  refused(R"({"architectures":["LlamaForCausalLM"]})", "\"num_hidden_layers\" is missing");
  refused(Config("LlamaForCausalLM", R"(,"num_attention_heads":"8")"), "num_attention_heads");
  refused(Config("LlamaForCausalLM", R"(,"num_attention_heads":7)"), "7 heads cannot share");
  refused(Config("LlamaForCausalLM", R"(,"num_attention_heads":0)"), "number of heads 0");
  refused(Config("LlamaForCausalLM", R"(,"head_dim":9)"), "odd");
  refused(Config("LlamaForCausalLM", R"(,"num_hidden_layers":2147483647)"), "layers");
  refused(Config("LlamaForCausalLM", R"(,"num_hidden_layers":-1)"), "num_hidden_layers");
  refused(Config("LlamaForCausalLM", R"(,"rms_norm_eps":0)"), "epsilon");
  refused(Config("LlamaForCausalLM", R"(,"rope_theta":0.5)"), "theta");
  refused(Config("LlamaForCausalLM", R"(,"rope_scaling":{"rope_type":"llama3"})"), "rope_scaling");
}

}  // namespace
}  // namespace reenact::local_engine
