// Small models with seeded random weights, in the form of either kind of file.

#ifndef REENACT_TESTS_LOCAL_ENGINE_MODEL_RANDOM_MODEL_H_
#define REENACT_TESTS_LOCAL_ENGINE_MODEL_RANDOM_MODEL_H_

#include <cmath>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "tests/local_engine/weights/weight_files.h"

namespace reenact::local_engine {

struct RandomModelShape {
  int layer_count = 2;
  uint64_t hidden_dim = 48;
  uint64_t feed_forward_dim = 80;
  uint64_t head_count = 6;
  uint64_t kv_head_count = 2;
  uint64_t head_dim = 16;
  uint64_t vocabulary_size = 97;
  bool tied = false;
  bool qkv_bias = false;
  bool qk_norm = false;
  DataType type = DataType::kF32;
};

class RandomTensors {
 public:
  explicit RandomTensors(const RandomModelShape& shape) : shape_(shape) {}

  // Under the names of a Hugging Face checkpoint.
  std::vector<StoredTensor> All() {
    const uint64_t query_dim = shape_.head_count * shape_.head_dim;
    const uint64_t kv_dim = shape_.kv_head_count * shape_.head_dim;
    Matrix("model.embed_tokens", shape_.vocabulary_size, shape_.hidden_dim);
    for (int layer = 0; layer < shape_.layer_count; ++layer) {
      const std::string prefix = "model.layers." + std::to_string(layer) + ".";
      Norm(prefix + "input_layernorm", shape_.hidden_dim);
      Matrix(prefix + "self_attn.q_proj", query_dim, shape_.hidden_dim);
      Matrix(prefix + "self_attn.k_proj", kv_dim, shape_.hidden_dim);
      Matrix(prefix + "self_attn.v_proj", kv_dim, shape_.hidden_dim);
      Matrix(prefix + "self_attn.o_proj", shape_.hidden_dim, query_dim);
      Norm(prefix + "post_attention_layernorm", shape_.hidden_dim);
      Matrix(prefix + "mlp.gate_proj", shape_.feed_forward_dim, shape_.hidden_dim);
      Matrix(prefix + "mlp.up_proj", shape_.feed_forward_dim, shape_.hidden_dim);
      Matrix(prefix + "mlp.down_proj", shape_.hidden_dim, shape_.feed_forward_dim);
      if (shape_.qkv_bias) {
        Vector(prefix + "self_attn.q_proj.bias", query_dim, 0.0f, 0.5f);
        Vector(prefix + "self_attn.k_proj.bias", kv_dim, 0.0f, 0.5f);
        Vector(prefix + "self_attn.v_proj.bias", kv_dim, 0.0f, 0.5f);
      }
      if (shape_.qk_norm) {
        Norm(prefix + "self_attn.q_norm", shape_.head_dim);
        Norm(prefix + "self_attn.k_norm", shape_.head_dim);
      }
    }
    Norm("model.norm", shape_.hidden_dim);
    if (!shape_.tied) Matrix("lm_head", shape_.vocabulary_size, shape_.hidden_dim);
    return tensors_;
  }

 private:
  void Fill(const std::string& name, std::vector<uint64_t> shape, float mean, float deviation) {
    uint64_t count = 1;
    for (uint64_t dimension : shape) count *= dimension;
    std::vector<float> values(count);
    for (float& value : values) {  // Uniform, of the given deviation.
      value = mean + deviation * 1.7f * (static_cast<float>(random_() >> 8) * 0x1p-22f - 1.0f);
    }
    tensors_.push_back(Store(name, shape_.type, std::move(shape), values));
  }

  void Matrix(const std::string& name, uint64_t rows, uint64_t columns) {
    Fill(name + ".weight", {rows, columns}, 0.0f, 1.5f / std::sqrt(static_cast<float>(columns)));
  }

  void Vector(const std::string& name, uint64_t dim, float mean, float deviation) {
    Fill(name, {dim}, mean, deviation);
  }

  void Norm(const std::string& name, uint64_t dim) { Vector(name + ".weight", dim, 1.0f, 0.2f); }

  RandomModelShape shape_;
  std::minstd_rand random_{20261130};
  std::vector<StoredTensor> tensors_;
};

// The same model with its layers' F32 matrices as W8A8: signed bytes and a scale per row.
inline std::vector<StoredTensor> QuantisedToBytes(const std::vector<StoredTensor>& tensors) {
  std::vector<StoredTensor> quantised;
  for (const StoredTensor& tensor : tensors) {
    if (tensor.shape.size() != 2 || !tensor.name.starts_with("model.layers.")) {
      quantised.push_back(tensor);
      continue;
    }
    const uint64_t columns = tensor.shape[1];
    std::vector<float> values(tensor.data.size() / sizeof(float));
    std::memcpy(values.data(), tensor.data.data(), tensor.data.size());
    StoredTensor bytes{tensor.name, DataType::kI8, tensor.shape, ""};
    std::vector<float> scales;
    for (size_t begin = 0; begin < values.size(); begin += columns) {
      float largest = 0;
      for (size_t k = 0; k < columns; ++k) {
        largest = std::fmax(largest, std::fabs(values[begin + k]));
      }
      scales.push_back(largest / 127.0f);
      for (size_t k = 0; k < columns; ++k) {
        bytes.data += static_cast<char>(std::lround(values[begin + k] / scales.back()));
      }
    }
    quantised.push_back(bytes);
    quantised.push_back(
        Store(tensor.name + "_scale", DataType::kF32, {tensor.shape[0], 1}, scales));
  }
  return quantised;
}

// `more` begins with a comma.
inline std::string ConfigOf(const RandomModelShape& shape, const std::string& architecture,
                            const std::string& more) {
  const auto number = [](const char* key, uint64_t value) {
    return ",\"" + std::string(key) + "\":" + std::to_string(value);
  };
  return "{\"architectures\":[\"" + architecture + "\"]" +
         number("num_hidden_layers", static_cast<uint64_t>(shape.layer_count)) +
         number("hidden_size", shape.hidden_dim) +
         number("intermediate_size", shape.feed_forward_dim) +
         number("num_attention_heads", shape.head_count) +
         number("num_key_value_heads", shape.kv_head_count) + number("head_dim", shape.head_dim) +
         number("vocab_size", shape.vocabulary_size) + ",\"max_position_embeddings\":1024" +
         ",\"rms_norm_eps\":1e-06,\"tie_word_embeddings\":" + (shape.tied ? "true" : "false") +
         more + "}";
}

inline void WriteFolder(const std::string& folder, const std::string& config,
                        const std::vector<StoredTensor>& tensors) {
  WriteBytes(folder + "/config.json", config);
  WriteBytes(folder + "/model.safetensors", SafetensorsBytes(tensors));
}

}  // namespace reenact::local_engine

#endif  // REENACT_TESTS_LOCAL_ENGINE_MODEL_RANDOM_MODEL_H_
