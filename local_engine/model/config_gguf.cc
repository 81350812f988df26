#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "local_engine/model/model_config.h"
#include "local_engine/weights/gguf.h"
#include "local_engine/weights/tensor.h"

namespace reenact::local_engine {
namespace {

// Reads metadata under "architecture."; the first problem is kept.
class Keys {
 public:
  Keys(std::string file, const GgufFile& gguf) : file_(std::move(file)), gguf_(gguf) {}

  const GgufValue* Find(const std::string& key) const {
    const auto found = gguf_.metadata.find(key);
    return found == gguf_.metadata.end() ? nullptr : &found->second;
  }

  int32_t Integer(const std::string& key, std::optional<int32_t> fallback = std::nullopt) {
    const GgufValue* value = Find(key);
    if (value == nullptr) return Fallback(key, fallback);
    const auto* natural = std::get_if<uint64_t>(value);
    const auto* integer = std::get_if<int64_t>(value);
    const uint64_t magnitude = natural                    ? *natural
                               : integer && *integer >= 0 ? *integer
                                                          : ~uint64_t{0};
    if (magnitude > std::numeric_limits<int32_t>::max()) {
      Fail(absl::StatusCode::kInvalidArgument, key, "is no integer below 2^31");
      return 0;
    }
    return static_cast<int32_t>(magnitude);
  }

  double Real(const std::string& key, std::optional<double> fallback = std::nullopt) {
    const GgufValue* value = Find(key);
    if (value == nullptr) return Fallback(key, fallback);
    const auto* real = std::get_if<double>(value);
    if (real == nullptr || !std::isfinite(*real)) {
      Fail(absl::StatusCode::kInvalidArgument, key, "is no number");
      return 0;
    }
    return *real;
  }

  std::string Text(const std::string& key, const std::string& fallback) {
    const GgufValue* value = Find(key);
    const auto* text = value == nullptr ? nullptr : std::get_if<std::string>(value);
    return text == nullptr ? fallback : *text;
  }

  void Fail(absl::StatusCode code, const std::string& key, const std::string& what) {
    if (status_.ok()) status_ = absl::Status(code, file_ + ": key \"" + key + "\" " + what);
  }

  const absl::Status& status() const { return status_; }

 private:
  template <typename T>
  T Fallback(const std::string& key, std::optional<T> fallback) {
    if (!fallback) Fail(absl::StatusCode::kInvalidArgument, key, "is missing");
    return fallback.value_or(T{});
  }

  std::string file_;
  const GgufFile& gguf_;
  absl::Status status_;
};

void ReadRope(const std::string& prefix, const GgufFile& gguf, Keys* keys, ModelConfig* config) {
  RopeConfig& rope = config->rope;
  rope.head_dim = config->head_dim;
  rope.theta = keys->Real(prefix + "rope.freq_base", 10000.0);
  if (keys->Integer(prefix + "rope.dimension_count", config->head_dim) != config->head_dim) {
    keys->Fail(absl::StatusCode::kUnimplemented, prefix + "rope.dimension_count",
               "other than the head size is not supported");
  }
  const std::string type = keys->Text(prefix + "rope.scaling.type", "none");
  if (type == "yarn") {
    rope.scaling = RopeScaling::kYarn;
    rope.factor = keys->Real(prefix + "rope.scaling.factor");
    rope.original_context = keys->Integer(prefix + "rope.scaling.original_context_length");
    rope.beta_fast = keys->Real(prefix + "rope.scaling.yarn_beta_fast", 32.0);
    rope.beta_slow = keys->Real(prefix + "rope.scaling.yarn_beta_slow", 1.0);
    // Writers mean a multiple of the paper's attention factor by the first, where config.json means
    // the factor itself; the others change it as well.
    const std::pair<const char*, double> only[] = {
        {"attn_factor", 1.0}, {"yarn_attn_factor", 1.0}, {"yarn_ext_factor", 1.0}};
    for (const auto& [name, value] : only) {
      const std::string key = prefix + "rope.scaling." + name;
      if (keys->Real(key, value) == value) continue;
      keys->Fail(absl::StatusCode::kUnimplemented, key, "other than 1 is not supported");
    }
    const std::string multiplier = prefix + "rope.scaling.yarn_log_multiplier";
    if (keys->Real(multiplier, 0.0) != 0.0) {
      keys->Fail(absl::StatusCode::kUnimplemented, multiplier, "is not supported");
    }
  } else if (type != "none") {
    keys->Fail(absl::StatusCode::kUnimplemented, prefix + "rope.scaling.type",
               "\"" + type + "\" is not supported (none, yarn)");
  }
  const Tensor* divisors = gguf.tensors.Find("rope_freqs.weight");
  if (divisors == nullptr || config->head_dim < 2) return;
  if (divisors->type != DataType::kF32 ||
      divisors->shape != std::vector<uint64_t>{static_cast<uint64_t>(config->head_dim) / 2}) {
    keys->Fail(absl::StatusCode::kInvalidArgument, "rope_freqs.weight",
               "is no F32 tensor of half the head size");
    return;
  }
  rope.frequency_divisors.resize(divisors->shape[0]);
  WidenRow(*divisors, 0, rope.frequency_divisors);
  for (float divisor : rope.frequency_divisors) {
    if (!(divisor > 0)) {
      keys->Fail(absl::StatusCode::kInvalidArgument, "rope_freqs.weight", "is not positive");
    }
  }
}

absl::StatusOr<Architecture> ArchitectureOf(const std::string& file, const std::string& name) {
  if (name == "llama") return Architecture::kLlama;  // Mistral too.
  if (name == "qwen2") return Architecture::kQwen2;
  if (name == "qwen3") return Architecture::kQwen3;
  return absl::UnimplementedError(file + ": architecture \"" + name +
                                  "\" is not supported (llama, qwen2, qwen3)");
}

int32_t VocabularySize(const std::string& prefix, const GgufFile& gguf, Keys* keys) {
  const Tensor* embedding = gguf.tensors.Find("token_embd.weight");
  const bool fits = embedding != nullptr && embedding->shape.size() == 2 &&
                    embedding->shape[0] <= uint64_t{1} << 30;
  return keys->Integer(prefix + "vocab_size", fits ? static_cast<int32_t>(embedding->shape[0]) : 0);
}

}  // namespace

absl::StatusOr<ModelConfig> ReadGgufConfig(const std::string& file, const GgufFile& gguf) {
  Keys keys(file, gguf);
  const std::string name = keys.Text("general.architecture", "");
  const absl::StatusOr<Architecture> architecture = ArchitectureOf(file, name);
  if (!architecture.ok()) return architecture.status();
  const std::string prefix = name + ".";
  ModelConfig config{.architecture = *architecture};
  config.layer_count = keys.Integer(prefix + "block_count");
  config.hidden_dim = keys.Integer(prefix + "embedding_length");
  config.feed_forward_dim = keys.Integer(prefix + "feed_forward_length");
  config.head_count = keys.Integer(prefix + "attention.head_count");
  config.kv_head_count = keys.Integer(prefix + "attention.head_count_kv", config.head_count);
  const int32_t even_share = config.head_count > 0 ? config.hidden_dim / config.head_count : 0;
  config.head_dim = keys.Integer(prefix + "attention.key_length", even_share);
  if (keys.Integer(prefix + "attention.value_length", config.head_dim) != config.head_dim) {
    keys.Fail(absl::StatusCode::kUnimplemented, prefix + "attention.value_length",
              "other than the key length is not supported");
  }
  if (keys.Integer(prefix + "expert_count", 0) != 0) {
    keys.Fail(absl::StatusCode::kUnimplemented, prefix + "expert_count",
              "above 0 (a mixture of experts) is not supported");
  }
  config.vocabulary_size = VocabularySize(prefix, gguf, &keys);
  config.max_positions = keys.Integer(prefix + "context_length");
  config.rms_norm_epsilon =
      static_cast<float>(keys.Real(prefix + "attention.layer_norm_rms_epsilon"));
  config.tied_embeddings = gguf.tensors.Find("output.weight") == nullptr;
  config.qkv_bias = gguf.tensors.Find("blk.0.attn_q.bias") != nullptr;
  config.output_bias = gguf.tensors.Find("blk.0.attn_output.bias") != nullptr;
  config.qk_norm = *architecture == Architecture::kQwen3;
  if (keys.Find("tokenizer.ggml.eos_token_id") != nullptr) {
    config.end_token_ids = {keys.Integer("tokenizer.ggml.eos_token_id")};
  }
  config.begin_token_id = keys.Integer("tokenizer.ggml.bos_token_id", -1);
  ReadRope(prefix, gguf, &keys, &config);
  const int32_t window = keys.Integer(prefix + "attention.sliding_window", 0);
  if (!keys.status().ok()) return keys.status();
  if (absl::Status status = CheckConfig(file, config); !status.ok()) return status;
  config.layer_windows.assign(static_cast<size_t>(config.layer_count), window);
  return config;
}

}  // namespace reenact::local_engine
