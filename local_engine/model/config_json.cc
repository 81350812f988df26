#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "local_engine/model/model_config.h"
#include "nlohmann/json.hpp"

namespace reenact::local_engine {
namespace {

using Json = nlohmann::json;

// Reads keys of one JSON object; null counts as absent. The first problem is kept.
class Fields {
 public:
  Fields(std::string file, const Json& object) : file_(std::move(file)), object_(object) {}

  bool Has(const char* key) const { return object_.contains(key) && !object_[key].is_null(); }

  // InvalidArgument when it is absent and there is no fallback.
  int32_t Integer(const char* key, std::optional<int32_t> fallback = std::nullopt) {
    if (!Has(key)) return Fallback(key, fallback);
    const Json& value = object_[key];
    if (!value.is_number_integer() || value.get<double>() < 0 ||
        value.get<double>() > std::numeric_limits<int32_t>::max()) {
      Fail(absl::StatusCode::kInvalidArgument, key, "is no integer below 2^31");
      return 0;
    }
    return value.get<int32_t>();
  }

  double Real(const char* key, std::optional<double> fallback = std::nullopt) {
    if (!Has(key)) return Fallback(key, fallback);
    if (!object_[key].is_number() || !std::isfinite(object_[key].get<double>())) {
      Fail(absl::StatusCode::kInvalidArgument, key, "is no number");
      return 0;
    }
    return object_[key].get<double>();
  }

  bool Flag(const char* key, bool fallback) {
    if (!Has(key)) return fallback;
    if (!object_[key].is_boolean()) Fail(absl::StatusCode::kInvalidArgument, key, "is no boolean");
    return object_[key].is_boolean() && object_[key].get<bool>();
  }

  std::string Text(const char* key, const std::string& fallback) {
    if (!Has(key)) return fallback;
    if (!object_[key].is_string()) Fail(absl::StatusCode::kInvalidArgument, key, "is no text");
    return object_[key].is_string() ? object_[key].get<std::string>() : fallback;
  }

  Json Object(const char* key) {
    if (!Has(key)) return Json::object();
    if (object_[key].is_object()) return object_[key];
    Fail(absl::StatusCode::kInvalidArgument, key, "is no object");
    return Json::object();
  }

  // One integer or a list of them.
  std::vector<int32_t> Integers(const char* key) {
    std::vector<int32_t> values;
    if (!Has(key)) return values;
    const Json list = object_[key].is_array() ? object_[key] : Json::array({object_[key]});
    for (const Json& value : list) {
      if (!value.is_number_integer()) {
        Fail(absl::StatusCode::kInvalidArgument, key, "is no integer or list of them");
        return {};
      }
      values.push_back(value.get<int32_t>());
    }
    return values;
  }

  std::vector<std::string> Texts(const char* key) {
    std::vector<std::string> values;
    if (!Has(key)) return values;
    for (const Json& value : object_[key]) {
      if (!value.is_string()) {
        Fail(absl::StatusCode::kInvalidArgument, key, "is no list of texts");
        return {};
      }
      values.push_back(value.get<std::string>());
    }
    return values;
  }

  void Fail(absl::StatusCode code, const std::string& key, const std::string& what) {
    if (status_.ok()) status_ = absl::Status(code, file_ + ": \"" + key + "\" " + what);
  }

  const std::string& file() const { return file_; }

  const absl::Status& status() const { return status_; }

 private:
  template <typename T>
  T Fallback(const char* key, std::optional<T> fallback) {
    if (!fallback) Fail(absl::StatusCode::kInvalidArgument, key, "is missing");
    return fallback.value_or(T{});
  }

  std::string file_;
  const Json& object_;
  absl::Status status_;
};

void ReadArchitecture(Fields* fields, ModelConfig* config) {
  const std::vector<std::string> names = fields->Texts("architectures");
  const std::string name = names.size() == 1 ? names[0] : fields->Text("model_type", "");
  if (name == "LlamaForCausalLM" || name == "llama") {
    config->architecture = Architecture::kLlama;
  } else if (name == "MistralForCausalLM" || name == "mistral") {
    config->architecture = Architecture::kMistral;
  } else if (name == "Qwen2ForCausalLM" || name == "qwen2") {
    config->architecture = Architecture::kQwen2;
  } else if (name == "Qwen3ForCausalLM" || name == "qwen3") {
    config->architecture = Architecture::kQwen3;
  } else {
    fields->Fail(absl::StatusCode::kUnimplemented, "architectures",
                 "\"" + name + "\" is not supported (Llama, Mistral, Qwen2, Qwen3 for causal LM)");
  }
}

void RefuseOptions(Fields* fields) {
  const auto refuse = [&](const char* key, const std::string& value) {
    fields->Fail(absl::StatusCode::kUnimplemented, key, value + " is not supported");
  };
  if (const std::string act = fields->Text("hidden_act", "silu"); act != "silu") {
    refuse("hidden_act", act);
  }
  if (fields->Flag("mlp_bias", false)) refuse("mlp_bias", "true");
  if (fields->Real("partial_rotary_factor", 1.0) != 1.0) {
    refuse("partial_rotary_factor", "other than 1");
  }
  if (fields->Has("quantization_config")) {
    const Json quantization = fields->Object("quantization_config");
    Fields inner(fields->file(), quantization);
    const std::string method = inner.Text("quant_method", "");
    if (method != "compressed-tensors") refuse("quantization_config", "method \"" + method + "\"");
  }
}

void ReadScaling(Fields* fields, const Json& scaling, ModelConfig* config) {
  Fields inner(fields->file(), scaling);
  RopeConfig& rope = config->rope;
  const std::string type = inner.Text("rope_type", inner.Text("type", "default"));
  if (inner.Has("rope_theta")) rope.theta = inner.Real("rope_theta");
  if (type == "llama3" || type == "yarn") {
    rope.scaling = type == "yarn" ? RopeScaling::kYarn : RopeScaling::kLlama3;
    rope.factor = inner.Real("factor");
    rope.original_context =
        inner.Real("original_max_position_embeddings", static_cast<double>(config->max_positions));
    rope.low_frequency_factor = inner.Real("low_freq_factor", 1.0);
    rope.high_frequency_factor = inner.Real("high_freq_factor", 4.0);
    rope.beta_fast = inner.Real("beta_fast", 32.0);
    rope.beta_slow = inner.Real("beta_slow", 1.0);
    rope.attention_factor = inner.Real("attention_factor", 0.0);
    for (const char* key : {"mscale", "mscale_all_dim"}) {
      if (!inner.Has(key)) continue;
      fields->Fail(absl::StatusCode::kUnimplemented, "rope_scaling",
                   std::string("with ") + key + " is not supported");
    }
    if (!inner.Flag("truncate", true)) {
      fields->Fail(absl::StatusCode::kUnimplemented, "rope_scaling",
                   "with truncate: false is not supported");
    }
  } else if (type != "default") {
    fields->Fail(absl::StatusCode::kUnimplemented, "rope_scaling",
                 "of type \"" + type + "\" is not supported (default, llama3, yarn)");
  }
  if (!inner.status().ok()) {
    fields->Fail(inner.status().code(), "rope_scaling", "is incomplete or malformed");
  }
}

void ReadRope(Fields* fields, ModelConfig* config) {
  config->rope.theta = fields->Real("rope_theta", 10000.0);
  config->rope.head_dim = config->head_dim;
  for (const char* key : {"rope_scaling", "rope_parameters"}) {
    if (fields->Has(key)) ReadScaling(fields, fields->Object(key), config);
  }
  if (config->rope.scaling == RopeScaling::kYarn) {
    const double reach = config->rope.original_context * config->rope.factor;
    if (reach > config->max_positions && reach <= 1 << 20) {
      config->max_positions = static_cast<int32_t>(reach);
    }
  }
}

void ReadWindows(Fields* fields, ModelConfig* config) {
  if (config->layer_count < 1 || config->layer_count > 1024) return;  // Refused by CheckConfig.
  const auto layer_count = static_cast<size_t>(config->layer_count);
  config->layer_windows.assign(layer_count, 0);
  const bool is_qwen =
      config->architecture == Architecture::kQwen2 || config->architecture == Architecture::kQwen3;
  const bool on = is_qwen ? fields->Flag("use_sliding_window", false)
                          : config->architecture == Architecture::kMistral;
  const int32_t window = on ? fields->Integer("sliding_window", 0) : 0;
  const std::vector<std::string> types = fields->Texts("layer_types");
  if (window == 0) return;
  if (!types.empty() && types.size() != layer_count) {
    fields->Fail(absl::StatusCode::kInvalidArgument, "layer_types", "does not list every layer");
    return;
  }
  const int32_t full_layers = is_qwen ? fields->Integer("max_window_layers", 28) : 0;
  for (size_t layer = 0; layer < layer_count; ++layer) {
    const bool slides = types.empty() ? layer >= static_cast<size_t>(full_layers)
                                      : types[layer] == "sliding_attention";
    if (slides) config->layer_windows[layer] = window;
  }
}

}  // namespace

absl::StatusOr<ModelConfig> ReadConfigJson(const std::string& file, std::string_view text) {
  const Json object = Json::parse(text.begin(), text.end(), nullptr, false);
  if (!object.is_object()) return absl::InvalidArgumentError(file + ": is no JSON object");
  Fields fields(file, object);
  ModelConfig config;
  ReadArchitecture(&fields, &config);
  RefuseOptions(&fields);
  if (!fields.status().ok()) return fields.status();
  config.layer_count = fields.Integer("num_hidden_layers");
  config.hidden_dim = fields.Integer("hidden_size");
  config.feed_forward_dim = fields.Integer("intermediate_size");
  config.head_count = fields.Integer("num_attention_heads");
  config.kv_head_count = fields.Integer("num_key_value_heads", config.head_count);
  const int32_t even_share = config.head_count > 0 ? config.hidden_dim / config.head_count : 0;
  config.head_dim = fields.Integer("head_dim", even_share);
  config.vocabulary_size = fields.Integer("vocab_size");
  config.max_positions = fields.Integer("max_position_embeddings");
  config.rms_norm_epsilon = static_cast<float>(fields.Real("rms_norm_eps"));
  config.tied_embeddings = fields.Flag("tie_word_embeddings", false);
  const bool bias = fields.Flag("attention_bias", false);
  config.qkv_bias = config.architecture == Architecture::kQwen2 || bias;
  config.output_bias = config.architecture != Architecture::kQwen2 && bias;
  config.qk_norm = config.architecture == Architecture::kQwen3;
  config.end_token_ids = fields.Integers("eos_token_id");
  const std::vector<int32_t> begin = fields.Integers("bos_token_id");
  if (!begin.empty()) config.begin_token_id = begin[0];
  ReadRope(&fields, &config);
  ReadWindows(&fields, &config);
  if (!fields.status().ok()) return fields.status();
  if (absl::Status status = CheckConfig(file, config); !status.ok()) return status;
  return config;
}

}  // namespace reenact::local_engine
