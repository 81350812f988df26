#include "local_engine/model/model_weights.h"

#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "local_engine/numerics/operations.h"
#include "local_engine/weights/tensor.h"
#include "local_engine/weights/tensor_set.h"

namespace reenact::local_engine {
namespace {

// What a file calls the parts of a model; layers are "prefix N . name".
struct NameTable {
  const char *embedding, *final_norm, *head, *layer_prefix;
  const char *attention_norm, *feed_forward_norm;
  const char *query, *key, *value, *attention_output, *gate, *up, *down;
  const char *query_norm, *key_norm;
};

constexpr NameTable kHuggingFaceNames = {
    "model.embed_tokens", "model.norm",       "lm_head",
    "model.layers.",      "input_layernorm",  "post_attention_layernorm",
    "self_attn.q_proj",   "self_attn.k_proj", "self_attn.v_proj",
    "self_attn.o_proj",   "mlp.gate_proj",    "mlp.up_proj",
    "mlp.down_proj",      "self_attn.q_norm", "self_attn.k_norm"};
constexpr NameTable kGgufNames = {"token_embd", "output_norm", "output",     "blk.",
                                  "attn_norm",  "ffn_norm",    "attn_q",     "attn_k",
                                  "attn_v",     "attn_output", "ffn_gate",   "ffn_up",
                                  "ffn_down",   "attn_q_norm", "attn_k_norm"};

// Finds tensors, checks their shapes, and remembers which it gave out. The first problem is kept.
class Binder {
 public:
  Binder(std::string file, const TensorSet& tensors) : file_(std::move(file)), tensors_(tensors) {}

  const Tensor* Find(const std::string& name, const std::vector<uint64_t>& shape) {
    const Tensor* tensor = tensors_.Find(name);
    if (tensor == nullptr) {
      Fail(absl::StatusCode::kNotFound, name, "is missing");
      return nullptr;
    }
    used_.insert(name);
    if (tensor->shape != shape) {
      Fail(absl::StatusCode::kInvalidArgument, name,
           "has shape " + ShapeText(tensor->shape) + "; the configuration makes it " +
               ShapeText(shape));
      return nullptr;
    }
    return tensor;
  }

  // A vector of floats, widened: norms, biases, scales.
  std::vector<float> Vector(const std::string& name, uint64_t dim) {
    return Widened(name, Find(name, {dim}), dim);
  }

  Projection Matrix(const std::string& name, uint64_t output_dim, uint64_t input_dim) {
    Projection projection{.weight = Find(name + ".weight", {output_dim, input_dim})};
    if (projection.weight != nullptr && projection.weight->type == DataType::kI8) {
      projection.row_scales = RowScales(name + ".weight_scale", output_dim);
    }
    return projection;
  }

  // A tensor that is known and not needed.
  void Ignore(const std::string& name) { used_.insert(name); }

  void Fail(absl::StatusCode code, const std::string& name, const std::string& what) {
    if (status_.ok()) status_ = absl::Status(code, file_ + ": tensor \"" + name + "\" " + what);
  }

  // Unimplemented when a tensor of the file was never asked for.
  absl::Status Finish() {
    for (const auto& [name, tensor] : tensors_.tensors()) {
      if (!used_.contains(name)) {
        Fail(absl::StatusCode::kUnimplemented, name, "has no place in this architecture");
      }
    }
    return status_;
  }

  const absl::Status& status() const { return status_; }

 private:
  std::vector<float> Widened(const std::string& name, const Tensor* tensor, uint64_t count) {
    if (tensor == nullptr) return {};
    if (tensor->type == DataType::kQ8_0 || tensor->type == DataType::kI8) {
      Fail(absl::StatusCode::kUnimplemented, name,
           std::string("of type ") + DataTypeName(tensor->type) + " is not supported");
      return {};
    }
    std::vector<float> values(count);
    const uint64_t row_dim = tensor->ValuesPerRow();
    for (uint64_t row = 0; row < tensor->RowCount(); ++row) {
      WidenRow(*tensor, row, std::span(values).subspan(row * row_dim, row_dim));
    }
    for (float value : values) {
      if (!is_finite(value)) {
        Fail(absl::StatusCode::kInvalidArgument, name, "holds a value that is not finite");
        return {};
      }
    }
    return values;
  }

  std::vector<float> RowScales(const std::string& name, uint64_t output_dim) {
    const Tensor* tensor = tensors_.Find(name);
    const bool is_column = tensor != nullptr && tensor->shape.size() == 2;
    const std::vector<uint64_t> column = {output_dim, 1};
    return Widened(name, Find(name, is_column ? column : std::vector<uint64_t>{output_dim}),
                   output_dim);
  }

  std::string file_;
  const TensorSet& tensors_;
  std::set<std::string> used_;
  absl::Status status_;
};

struct Dimensions {
  uint64_t hidden, feed_forward, query, kv, head;
};

Dimensions DimensionsOf(const ModelConfig& config) {
  const auto head = static_cast<uint64_t>(config.head_dim);
  return {static_cast<uint64_t>(config.hidden_dim), static_cast<uint64_t>(config.feed_forward_dim),
          static_cast<uint64_t>(config.head_count) * head,
          static_cast<uint64_t>(config.kv_head_count) * head, head};
}

// The bias of a projection, in the order of its outputs.
void BindBias(const std::string& name, uint64_t output_dim, Binder* binder,
              Projection* projection) {
  const std::vector<float> stored = binder->Vector(name + ".bias", output_dim);
  for (uint64_t output = 0; output < stored.size(); ++output) {
    projection->bias.push_back(stored[projection->RowOf(output)]);
  }
}

LayerWeights BindLayer(const std::string& prefix, const NameTable& names, const ModelConfig& config,
                       Binder* binder) {
  const Dimensions dim = DimensionsOf(config);
  const auto norm = [&](const char* name, uint64_t size) {
    return binder->Vector(prefix + name + ".weight", size);
  };
  const auto matrix = [&](const char* name, uint64_t output_dim, uint64_t input_dim) {
    return binder->Matrix(prefix + name, output_dim, input_dim);
  };
  LayerWeights layer;
  layer.attention_norm = norm(names.attention_norm, dim.hidden);
  layer.query = matrix(names.query, dim.query, dim.hidden);
  layer.key = matrix(names.key, dim.kv, dim.hidden);
  layer.value = matrix(names.value, dim.kv, dim.hidden);
  layer.attention_output = matrix(names.attention_output, dim.hidden, dim.query);
  layer.feed_forward_norm = norm(names.feed_forward_norm, dim.hidden);
  layer.gate = matrix(names.gate, dim.feed_forward, dim.hidden);
  layer.up = matrix(names.up, dim.feed_forward, dim.hidden);
  layer.down = matrix(names.down, dim.hidden, dim.feed_forward);
  if (&names == &kGgufNames && config.architecture == Architecture::kLlama) {
    layer.query.interleaved_head_dim = config.head_dim;
    layer.key.interleaved_head_dim = config.head_dim;
  }
  if (config.qk_norm) {
    layer.query_norm = norm(names.query_norm, dim.head);
    layer.key_norm = norm(names.key_norm, dim.head);
  }
  if (config.qkv_bias) {
    BindBias(prefix + names.query, dim.query, binder, &layer.query);
    BindBias(prefix + names.key, dim.kv, binder, &layer.key);
    BindBias(prefix + names.value, dim.kv, binder, &layer.value);
  }
  if (config.output_bias) {
    BindBias(prefix + names.attention_output, dim.hidden, binder, &layer.attention_output);
  }
  return layer;
}

DataType CacheTypeOf(DataType embedding) {
  return embedding == DataType::kQ8_0 ? DataType::kF16 : embedding;
}

}  // namespace

uint64_t Projection::RowOf(uint64_t output) const {
  if (interleaved_head_dim == 0) return output;
  const auto head_dim = static_cast<uint64_t>(interleaved_head_dim);
  const uint64_t in_head = output % head_dim;
  const uint64_t half = head_dim / 2;
  const uint64_t row = in_head < half ? 2 * in_head : 2 * (in_head - half) + 1;
  return output - in_head + row;
}

absl::StatusOr<ModelWeights> BindWeights(const std::string& file, const ModelConfig& config,
                                         const TensorSet& tensors, TensorNames names) {
  const NameTable& table = names == TensorNames::kGguf ? kGgufNames : kHuggingFaceNames;
  Binder binder(file, tensors);
  const Dimensions dim = DimensionsOf(config);
  const auto vocabulary = static_cast<uint64_t>(config.vocabulary_size);
  ModelWeights weights;
  weights.embedding =
      binder.Find(std::string(table.embedding) + ".weight", {vocabulary, dim.hidden});
  for (int32_t layer = 0; layer < config.layer_count && binder.status().ok(); ++layer) {
    const std::string prefix = table.layer_prefix + std::to_string(layer) + ".";
    weights.layers.push_back(BindLayer(prefix, table, config, &binder));
    binder.Ignore(prefix + "self_attn.rotary_emb.inv_freq");  // Old checkpoints carry this table.
  }
  weights.final_norm = binder.Vector(std::string(table.final_norm) + ".weight", dim.hidden);
  binder.Ignore("rope_freqs.weight");  // Read with the configuration.
  if (config.tied_embeddings) {
    weights.head.weight = weights.embedding;
    binder.Ignore(std::string(table.head) + ".weight");  // A copy of the embedding.
  } else {
    weights.head = binder.Matrix(table.head, vocabulary, dim.hidden);
  }
  if (weights.embedding != nullptr) {
    if (weights.embedding->type == DataType::kI8) {
      binder.Fail(absl::StatusCode::kUnimplemented, weights.embedding->name,
                  "of type I8 is not supported");
    }
    weights.cache_type = CacheTypeOf(weights.embedding->type);
  }
  if (absl::Status status = binder.Finish(); !status.ok()) return status;
  return weights;
}

}  // namespace reenact::local_engine
