// A model's config.json: refused with words, or a configuration that passes the check.

#include "local_engine/model/model_config.h"
#include "local_engine/model/rope_config.h"
#include "tests/fuzz/fuzz_target.h"

namespace reenact::fuzz::config_json {

using namespace reenact::local_engine;

void FuzzOne(std::string_view bytes) {
  const absl::StatusOr<ModelConfig> config = ReadConfigJson("config.json", bytes);
  if (!config.ok()) {
    if (config.status().message().substr(0, 11) != "config.json") Broken("an error without a file");
    return;
  }
  if (!CheckConfig("config.json", *config).ok()) Broken("a configuration that fails its check");
  if (config->layer_windows.size() != static_cast<size_t>(config->layer_count)) {
    Broken("layers without a window");
  }
  Reached();
}

std::vector<std::string> Seeds() {
  const std::string sizes =
      R"("hidden_size":64,"intermediate_size":172,"num_hidden_layers":4,"num_attention_heads":8,
      "num_key_value_heads":4,"vocab_size":512,"max_position_embeddings":8192,"rms_norm_eps":1e-05)";
  const auto config = [&](const std::string& architecture, const std::string& more) {
    return "{\"architectures\":[\"" + architecture + "\"]," + sizes + more + "}";
  };
  return {config("LlamaForCausalLM",
                 R"(,"eos_token_id":[128001,128009],"bos_token_id":1,"rope_theta":500000.0,
        "hidden_act":"silu","torch_dtype":"bfloat16","model_type":"llama","rope_scaling":{"factor":32.0,
        "high_freq_factor":4.0,"low_freq_factor":1.0,"original_max_position_embeddings":8192,"rope_type":"llama3"})"),
          config("Qwen2ForCausalLM", R"(,"rope_scaling":{"type":"yarn","factor":4.0,
        "original_max_position_embeddings":8192},"use_sliding_window":true,"sliding_window":4096,"max_window_layers":2)"),
          config("Qwen3ForCausalLM",
                 R"(,"head_dim":16,"tie_word_embeddings":true,"attention_bias":false,
        "layer_types":["full_attention","sliding_attention","full_attention","sliding_attention"],"sliding_window":128)"),
          config("MistralForCausalLM", R"(,"sliding_window":null,"eos_token_id":2)")};
}

std::vector<std::string> Tokens() {
  return {"\"rope_scaling\":",
          "\"rope_parameters\":",
          "\"linear\"",
          "\"dynamic\"",
          "\"default\"",
          "\"sliding_window\":",
          "\"layer_types\":",
          "\"head_dim\":",
          "\"quantization_config\":",
          "\"num_experts\":4",
          "null",
          "true",
          "false",
          "{",
          "}",
          "[",
          "]",
          ",",
          ":",
          "-1",
          "0",
          "1e308",
          "9223372036854775807",
          "\"hidden_act\":\"gelu\"",
          "\"eos_token_id\":"};
}

const bool added = AddTarget({"config_json", FuzzOne, Seeds, Tokens});

}  // namespace reenact::fuzz::config_json
