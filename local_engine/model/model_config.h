// What a model is, read from a Hugging Face config.json or GGUF metadata into one checked form.

#ifndef REENACT_LOCAL_ENGINE_MODEL_MODEL_CONFIG_H_
#define REENACT_LOCAL_ENGINE_MODEL_MODEL_CONFIG_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "local_engine/model/rope_config.h"
#include "local_engine/weights/gguf.h"

namespace reenact::local_engine {

enum class Architecture { kLlama, kMistral, kQwen2, kQwen3 };

struct ModelConfig {
  Architecture architecture = Architecture::kLlama;
  int32_t layer_count = 0;
  int32_t hidden_dim = 0;
  int32_t feed_forward_dim = 0;
  int32_t head_count = 0;
  int32_t kv_head_count = 0;
  int32_t head_dim = 0;
  int32_t vocabulary_size = 0;
  int32_t max_positions = 0;
  float rms_norm_epsilon = 0;
  RopeConfig rope;
  bool tied_embeddings = false;  // The head is the embedding.
  bool qkv_bias = false;
  bool output_bias = false;  // Of the attention's output projection.
  bool qk_norm = false;      // RMSNorm of each query and key head, before the rotation.
  // A layer's sliding window: the positions that a token sees, itself among them; 0 is all.
  std::vector<int32_t> layer_windows;  // [layer_count]
  std::vector<int32_t> end_token_ids;
  int32_t begin_token_id = -1;  // -1: none.
};

// A config.json. Errors name `file` and the key: Unimplemented for an architecture, activation,
// scaling or option that the engine does not compute, InvalidArgument for what contradicts itself.
absl::StatusOr<ModelConfig> ReadConfigJson(const std::string& file, std::string_view text);

// The same from a GGUF file's metadata: architectures llama, qwen2, qwen3. Scaled rotary
// frequencies of Llama 3 come as the tensor rope_freqs.weight.
absl::StatusOr<ModelConfig> ReadGgufConfig(const std::string& file, const GgufFile& gguf);

// InvalidArgument names the first value that is out of range or does not fit the others. What both
// readers end with.
absl::Status CheckConfig(const std::string& file, const ModelConfig& config);

}  // namespace reenact::local_engine

#endif  // REENACT_LOCAL_ENGINE_MODEL_MODEL_CONFIG_H_
