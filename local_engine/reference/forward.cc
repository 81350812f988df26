#include "local_engine/reference/forward.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "local_engine/model/load_model.h"
#include "local_engine/numerics/fp_environment.h"
#include "local_engine/numerics/narrow_floats.h"
#include "local_engine/numerics/operations.h"
#include "local_engine/numerics/q8_block.h"
#include "local_engine/reference/attention.h"
#include "local_engine/reference/dot.h"
#include "local_engine/reference/quantised_dot.h"
#include "local_engine/reference/rms_norm.h"
#include "local_engine/reference/rope.h"
#include "local_engine/reference/silu_mul.h"
#include "local_engine/weights/tensor.h"

namespace reenact::local_engine {
namespace {

using Floats = std::vector<float>;

// Where in the pass something went wrong, for the message.
absl::Status CheckFinite(std::span<const float> values, int32_t layer, const char* what) {
  for (float value : values) {
    if (!is_finite(value)) {
      return absl::InternalError("layer " + std::to_string(layer) + ": the " + what +
                                 " holds a value that is not finite");
    }
  }
  return absl::OkStatus();
}

float DotWithRow(std::span<const float> x, const QuantisedRow& quantised,
                 const Projection& projection, uint64_t row) {
  const Tensor& weight = *projection.weight;
  const std::byte* data = weight.data + weight.size_bytes / weight.RowCount() * row;
  if (weight.type == DataType::kQ8_0) {
    const auto* blocks = reinterpret_cast<const Q8Block*>(data);
    return DotQ8(quantised, {blocks, x.size() / kQ8GroupSize});
  }
  if (weight.type == DataType::kI8) {
    const auto* values = reinterpret_cast<const int8_t*>(data);
    return DotW8A8(quantised, {values, x.size()}, projection.row_scales[row]);
  }
  Floats widened(x.size());
  WidenRow(weight, row, widened);
  return Dot(x, widened);
}

// W x + bias.
Floats Project(std::span<const float> x, const Projection& projection) {
  QuantisedRow quantised;
  if (projection.weight->type == DataType::kQ8_0) quantised = QuantiseRow(x, kQ8GroupSize);
  if (projection.weight->type == DataType::kI8) quantised = QuantiseRow(x, x.size());
  Floats y(projection.weight->shape[0]);
  for (size_t output = 0; output < y.size(); ++output) {
    y[output] = DotWithRow(x, quantised, projection, projection.RowOf(output));
    if (!projection.bias.empty()) y[output] = add_rn(y[output], projection.bias[output]);
  }
  return y;
}

Floats Normalised(std::span<const float> x, std::span<const float> weight, float epsilon) {
  Floats y(x.size());
  RmsNorm(x, weight, epsilon, y);
  return y;
}

void AddTo(std::span<const float> delta, Floats* x) {
  for (size_t k = 0; k < x->size(); ++k) (*x)[k] = add_rn((*x)[k], delta[k]);
}

// Norm (where the architecture has one) and rotation of every head of a query or key row.
void RotateHeads(const ModelConfig& config, std::span<const float> norm, const RopeTable& table,
                 int32_t position, std::span<float> row) {
  const auto head_dim = static_cast<size_t>(config.head_dim);
  for (size_t begin = 0; begin < row.size(); begin += head_dim) {
    const std::span<float> head = row.subspan(begin, head_dim);
    if (!norm.empty()) RmsNorm(head, norm, config.rms_norm_epsilon, head);
    Rotate(table, position, head);
  }
}

float RoundToCache(float value, DataType type) {
  if (type == DataType::kF16) return widen_fp16(narrow_to_fp16(value));
  if (type == DataType::kBF16) return widen_bf16(narrow_to_bf16(value));
  return value;
}

void RoundToCache(DataType type, Floats* row) {
  for (float& value : *row) value = RoundToCache(value, type);
}

// Every query head against the KV head that its group shares.
Floats AttendAllHeads(const ModelConfig& config, int32_t window, const Floats& queries,
                      const KvRows& cached, int32_t position) {
  const auto head_dim = static_cast<size_t>(config.head_dim);
  const int32_t group = config.head_count / config.kv_head_count;
  const float scale = div_rn(1.0f, sqrt_rn(static_cast<float>(config.head_dim)));
  const LiveKeys live = {.first = window > 0 ? std::max(0, position + 1 - window) : 0,
                         .end = position + 1};
  Floats out(queries.size());
  for (int32_t head = 0; head < config.head_count; ++head) {
    const size_t at = static_cast<size_t>(head) * head_dim;
    const size_t kv_at = static_cast<size_t>(head / group) * head_dim;
    const KvRows rows = {cached.keys + kv_at, cached.values + kv_at, cached.stride};
    Attend(std::span(queries).subspan(at, head_dim), rows, live, scale,
           std::span(out).subspan(at, head_dim));
  }
  return out;
}

// The token that a pass is about, and where it stands.
struct Place {
  int32_t layer = 0;
  int32_t position = 0;
};

absl::Status AttentionBlock(const Model& model, Place place, const RopeTable& table, KvStore* kv,
                            Floats* x) {
  const ModelConfig& config = model.config;
  const LayerWeights& layer = model.weights.layers[place.layer];
  const Floats normalised = Normalised(*x, layer.attention_norm, config.rms_norm_epsilon);
  Floats queries = Project(normalised, layer.query);
  Floats keys = Project(normalised, layer.key);
  Floats values = Project(normalised, layer.value);
  RotateHeads(config, layer.query_norm, table, place.position, queries);
  RotateHeads(config, layer.key_norm, table, place.position, keys);

  RoundToCache(model.weights.cache_type, &keys);
  RoundToCache(model.weights.cache_type, &values);
  absl::Status status = CheckFinite(keys, place.layer, "key cache");
  status.Update(CheckFinite(values, place.layer, "value cache"));
  status.Update(CheckFinite(queries, place.layer, "query"));
  if (!status.ok()) return status;
  kv->Append(place.layer, place.position, keys, values);

  const Floats attended = AttendAllHeads(config, config.layer_windows[place.layer], queries,
                                         kv->Rows(place.layer, place.position + 1), place.position);
  AddTo(Project(attended, layer.attention_output), x);
  return CheckFinite(*x, place.layer, "residual after attention");
}

absl::Status FeedForwardBlock(const Model& model, int32_t layer_index, Floats* x) {
  const LayerWeights& layer = model.weights.layers[layer_index];
  const Floats normalised = Normalised(*x, layer.feed_forward_norm, model.config.rms_norm_epsilon);
  Floats gated = Project(normalised, layer.gate);
  SiluMul(gated, Project(normalised, layer.up), gated);
  if (absl::Status status = CheckFinite(gated, layer_index, "gated activation"); !status.ok()) {
    return status;
  }
  AddTo(Project(gated, layer.down), x);
  return CheckFinite(*x, layer_index, "residual after the feed-forward layer");
}

}  // namespace

void ReferenceCache::Append(int32_t layer, int32_t, std::span<const float> keys,
                            std::span<const float> values) {
  layers.resize(std::max(layers.size(), static_cast<size_t>(layer) + 1));
  Layer& rows = layers[layer];
  rows.keys.insert(rows.keys.end(), keys.begin(), keys.end());
  rows.values.insert(rows.values.end(), values.begin(), values.end());
}

KvRows ReferenceCache::Rows(int32_t layer, int32_t end) {
  const Layer& rows = layers[layer];
  return {rows.keys.data(), rows.values.data(), rows.keys.size() / static_cast<size_t>(end)};
}

Sha256Digest ReferenceCache::Digest() const {
  Sha256 hash;
  for (const Layer& layer : layers) {
    hash.UpdateValues(std::span<const float>(layer.keys));
    hash.UpdateValues(std::span<const float>(layer.values));
  }
  return hash.Finish();
}

ReferenceModel::ReferenceModel(const Model& model, int32_t max_positions)
    : model_(model),
      max_positions_(std::min(max_positions, model.config.max_positions)),
      rope_table_(MakeRopeTable(model.config.rope, max_positions_)) {}

absl::StatusOr<std::vector<float>> ReferenceModel::Hidden(int32_t token, int32_t position,
                                                          KvStore* kv) const {
  const ModelConfig& config = model_.config;
  if (absl::Status status = CheckFloatingPointEnvironment(); !status.ok()) return status;
  if (token < 0 || token >= config.vocabulary_size) {
    return absl::OutOfRangeError("token " + std::to_string(token) + " is not in a vocabulary of " +
                                 std::to_string(config.vocabulary_size));
  }
  if (position >= max_positions_) {
    return absl::OutOfRangeError("position " + std::to_string(position) + " is beyond the " +
                                 std::to_string(max_positions_) + " that were made ready");
  }
  Floats x(static_cast<size_t>(config.hidden_dim));
  WidenRow(*model_.weights.embedding, static_cast<uint64_t>(token), x);
  for (int32_t layer = 0; layer < config.layer_count; ++layer) {
    absl::Status status = AttentionBlock(model_, {layer, position}, rope_table_, kv, &x);
    if (status.ok()) status = FeedForwardBlock(model_, layer, &x);
    if (!status.ok()) return status;
  }
  return x;
}

absl::StatusOr<std::vector<float>> ReferenceModel::Logits(std::span<const float> hidden) const {
  const ModelConfig& config = model_.config;
  Floats logits = Project(Normalised(hidden, model_.weights.final_norm, config.rms_norm_epsilon),
                          model_.weights.head);
  absl::Status status = CheckFinite(logits, config.layer_count, "row of logits");
  if (!status.ok()) return status;
  return logits;
}

absl::StatusOr<std::vector<float>> ReferenceModel::Forward(int32_t token,
                                                           ReferenceCache* cache) const {
  const absl::StatusOr<Floats> hidden = Hidden(token, cache->length, cache);
  if (!hidden.ok()) return hidden.status();
  absl::StatusOr<Floats> logits = Logits(*hidden);
  if (logits.ok()) ++cache->length;
  return logits;
}

}  // namespace reenact::local_engine
