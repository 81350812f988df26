// Random models as GGUF files, Q8_0 among their types.

#ifndef REENACT_TESTS_LOCAL_ENGINE_MODEL_RANDOM_GGUF_H_
#define REENACT_TESTS_LOCAL_ENGINE_MODEL_RANDOM_GGUF_H_

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "local_engine/numerics/narrow_floats.h"
#include "local_engine/numerics/q8_block.h"
#include "tests/local_engine/model/random_model.h"

namespace reenact::local_engine {

inline std::string GgufNameOf(std::string name) {
  const std::pair<const char*, const char*> parts[] = {{"model.embed_tokens", "token_embd"},
                                                       {"model.layers.", "blk."},
                                                       {"post_attention_layernorm", "ffn_norm"},
                                                       {"input_layernorm", "attn_norm"},
                                                       {"self_attn.q_proj", "attn_q"},
                                                       {"self_attn.k_proj", "attn_k"},
                                                       {"self_attn.v_proj", "attn_v"},
                                                       {"self_attn.o_proj", "attn_output"},
                                                       {"self_attn.q_norm", "attn_q_norm"},
                                                       {"self_attn.k_norm", "attn_k_norm"},
                                                       {"mlp.gate_proj", "ffn_gate"},
                                                       {"mlp.up_proj", "ffn_up"},
                                                       {"mlp.down_proj", "ffn_down"},
                                                       {"model.norm", "output_norm"},
                                                       {"lm_head", "output"}};
  for (const auto& [from, to] : parts) {
    const size_t at = name.find(from);
    if (at != std::string::npos) name.replace(at, std::strlen(from), to);
  }
  return name;
}

// An F32 tensor whose rows are whole groups of 32.
inline StoredTensor QuantisedToBlocks(const StoredTensor& tensor) {
  std::vector<float> values(tensor.data.size() / sizeof(float));
  std::memcpy(values.data(), tensor.data.data(), tensor.data.size());
  StoredTensor quantised{tensor.name, DataType::kQ8_0, tensor.shape, ""};
  for (size_t begin = 0; begin < values.size(); begin += kQ8GroupSize) {
    float largest = 0;
    for (size_t k = 0; k < kQ8GroupSize; ++k) {
      largest = std::fmax(largest, std::fabs(values[begin + k]));
    }
    Q8Block block = {.scale_fp16 = narrow_to_fp16(largest / 127.0f), .values = {}};
    const float scale = widen_fp16(block.scale_fp16);
    for (size_t k = 0; k < kQ8GroupSize; ++k) {
      const float steps = scale == 0 ? 0 : values[begin + k] / scale;
      block.values[k] = static_cast<int8_t>(std::clamp(std::lround(steps), -127L, 127L));
    }
    quantised.data.append(reinterpret_cast<const char*>(&block), sizeof(block));
  }
  return quantised;
}

using GgufMetadata = std::vector<std::pair<std::string, GgufValue>>;

inline GgufMetadata GgufMetadataOf(const RandomModelShape& shape, const std::string& architecture) {
  const std::string prefix = architecture + ".";
  return {{"general.architecture", architecture},
          {prefix + "block_count", static_cast<uint64_t>(shape.layer_count)},
          {prefix + "context_length", uint64_t{1024}},
          {prefix + "embedding_length", shape.hidden_dim},
          {prefix + "feed_forward_length", shape.feed_forward_dim},
          {prefix + "attention.head_count", shape.head_count},
          {prefix + "attention.head_count_kv", shape.kv_head_count},
          {prefix + "attention.key_length", shape.head_dim},
          {prefix + "attention.value_length", shape.head_dim},
          {prefix + "attention.layer_norm_rms_epsilon", 1e-6}};
}

// The rows of each head of a matrix in the order of GGUF's "llama": the two of a rotated pair side
// by side, where Hugging Face has them half a head apart.
inline StoredTensor PairsSideBySide(const StoredTensor& tensor, uint64_t head_dim) {
  const size_t row_bytes = tensor.data.size() / tensor.shape[0];
  StoredTensor ordered = tensor;
  for (uint64_t row = 0; row < tensor.shape[0]; ++row) {
    const uint64_t in_head = row % head_dim;
    const uint64_t from = row - in_head + in_head / 2 + in_head % 2 * (head_dim / 2);
    ordered.data.replace(row * row_bytes, row_bytes, tensor.data, from * row_bytes, row_bytes);
  }
  return ordered;
}

// The random model of a shape, as a converter writes it: what its Hugging Face folder computes.
inline void WriteGguf(const std::string& path, const RandomModelShape& shape,
                      const std::string& architecture, const GgufMetadata& more = {},
                      const std::vector<StoredTensor>& more_tensors = {}) {
  std::vector<StoredTensor> tensors = more_tensors;
  for (StoredTensor& tensor : RandomTensors(shape).All()) {
    const bool rotated =
        tensor.name.ends_with("q_proj.weight") || tensor.name.ends_with("k_proj.weight");
    if (architecture == "llama" && rotated) tensor = PairsSideBySide(tensor, shape.head_dim);
    tensor.name = GgufNameOf(tensor.name);
    tensors.push_back(std::move(tensor));
  }
  GgufMetadata metadata = GgufMetadataOf(shape, architecture);
  metadata.insert(metadata.end(), more.begin(), more.end());
  WriteBytes(path, GgufBytes(metadata, tensors));
}

// F32 norms and biases; matrices are Q8_0, but for those whose name ends with `as_f16`.
inline void WriteQuantisedGguf(const std::string& path, const RandomModelShape& shape,
                               const std::string& architecture, const std::string& as_f16) {
  std::vector<StoredTensor> tensors;
  for (StoredTensor& tensor : RandomTensors(shape).All()) {
    const bool half = tensor.name.ends_with(as_f16);
    if (tensor.shape.size() == 2 && half) {
      std::vector<float> values(tensor.data.size() / sizeof(float));
      std::memcpy(values.data(), tensor.data.data(), tensor.data.size());
      tensor = Store(tensor.name, DataType::kF16, tensor.shape, values);
    } else if (tensor.shape.size() == 2) {
      tensor = QuantisedToBlocks(tensor);
    }
    tensor.name = GgufNameOf(tensor.name);
    tensors.push_back(std::move(tensor));
  }
  WriteBytes(path, GgufBytes(GgufMetadataOf(shape, architecture), tensors));
}

}  // namespace reenact::local_engine

#endif  // REENACT_TESTS_LOCAL_ENGINE_MODEL_RANDOM_GGUF_H_
