// The forward pass in binary64 with the library's exp, sqrt, sin and cos: plain loops, no order, no
// kernel of the engine. Determinism is not correctness; this is what correctness is measured on.

#ifndef REENACT_TESTS_LOCAL_ENGINE_REFERENCE_DOUBLE_FORWARD_H_
#define REENACT_TESTS_LOCAL_ENGINE_REFERENCE_DOUBLE_FORWARD_H_

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "local_engine/model/load_model.h"
#include "tests/local_engine/reference/double_rope.h"

namespace reenact::local_engine {

class DoubleForward {
 public:
  using Row = std::vector<double>;

  // Activations are quantised where the engine does it.
  explicit DoubleForward(const Model& model)
      : model_(model),
        frequencies_(DoubleFrequencies(model.config.rope)),
        attention_factor_(DoubleAttentionFactor(model.config.rope)),
        keys_(model.weights.layers.size()),
        values_(model.weights.layers.size()) {}

  // The logits after `token` at the next position. Keys and values are not rounded.
  Row Step(int32_t token) {
    Row x = RowOf(*model_.weights.embedding, static_cast<uint64_t>(token));
    for (size_t layer = 0; layer < keys_.size(); ++layer) {
      const LayerWeights& weights = model_.weights.layers[layer];
      Add(Attention(layer, Norm(x, weights.attention_norm)), &x);
      const Row normalised = Norm(x, weights.feed_forward_norm);
      Row gate = Multiply(weights.gate, normalised);
      const Row up = Multiply(weights.up, normalised);
      for (size_t k = 0; k < gate.size(); ++k) gate[k] *= up[k] / (1.0 + std::exp(-gate[k]));
      Add(Multiply(weights.down, gate), &x);
    }
    ++position_;
    return Multiply(model_.weights.head, Norm(x, model_.weights.final_norm));
  }

 private:
  static Row RowOf(const Tensor& tensor, uint64_t row) {
    std::vector<float> values(tensor.ValuesPerRow());
    WidenRow(tensor, row, values);
    return Row(values.begin(), values.end());
  }

  static void Add(const Row& delta, Row* x) {
    for (size_t k = 0; k < x->size(); ++k) (*x)[k] += delta[k];
  }

  // To the nearest of 255 steps per group, as Q8_0 and W8A8 want it.
  static Row Quantised(Row x, size_t group_size) {
    for (size_t begin = 0; begin < x.size(); begin += group_size) {
      double largest = 0;
      for (size_t k = begin; k < begin + group_size; ++k) {
        largest = std::fmax(largest, std::fabs(x[k]));
      }
      const double step = largest / 127.0;
      for (size_t k = begin; k < begin + group_size && step > 0; ++k) {
        x[k] = std::nearbyint(x[k] / step) * step;
      }
    }
    return x;
  }

  static Row Multiply(const Projection& projection, const Row& exact) {
    const DataType type = projection.weight->type;
    const Row x = type == DataType::kI8     ? Quantised(exact, exact.size())
                  : type == DataType::kQ8_0 ? Quantised(exact, 32)
                                            : exact;
    Row y(projection.weight->shape[0]);
    for (size_t output = 0; output < y.size(); ++output) {
      const Row w = RowOf(*projection.weight, projection.RowOf(output));
      for (size_t k = 0; k < x.size(); ++k) y[output] += w[k] * x[k];
      if (!projection.row_scales.empty()) y[output] *= projection.row_scales[output];
      if (!projection.bias.empty()) y[output] += projection.bias[output];
    }
    return y;
  }

  Row Norm(const Row& x, const std::vector<float>& weight) const {
    double sum = 0;
    for (double value : x) sum += value * value;
    const double divisor =
        std::sqrt(sum / static_cast<double>(x.size()) + double{model_.config.rms_norm_epsilon});
    Row y(x.size());
    for (size_t k = 0; k < x.size(); ++k) y[k] = x[k] / divisor * weight[k];
    return y;
  }

  // Norm and rotation of each head.
  void PrepareHeads(const std::vector<float>& norm, Row* row) const {
    const auto head_dim = static_cast<size_t>(model_.config.head_dim);
    for (size_t begin = 0; begin < row->size(); begin += head_dim) {
      Row head(row->begin() + begin, row->begin() + begin + head_dim);
      if (!norm.empty()) head = Norm(head, norm);
      for (size_t i = 0; i < head_dim / 2; ++i) {
        const double angle = position_ * static_cast<double>(frequencies_[i]);
        const double cos = std::cos(angle) * attention_factor_;
        const double sin = std::sin(angle) * attention_factor_;
        (*row)[begin + i] = head[i] * cos - head[i + head_dim / 2] * sin;
        (*row)[begin + i + head_dim / 2] = head[i + head_dim / 2] * cos + head[i] * sin;
      }
    }
  }

  Row Attention(size_t layer, const Row& normalised) {
    const LayerWeights& weights = model_.weights.layers[layer];
    Row queries = Multiply(weights.query, normalised);
    Row keys = Multiply(weights.key, normalised);
    PrepareHeads(weights.query_norm, &queries);
    PrepareHeads(weights.key_norm, &keys);
    keys_[layer].push_back(keys);
    values_[layer].push_back(Multiply(weights.value, normalised));
    Row out(queries.size());
    for (int32_t head = 0; head < model_.config.head_count; ++head) {
      AttendHead(layer, static_cast<size_t>(head), queries, &out);
    }
    return Multiply(weights.attention_output, out);
  }

  void AttendHead(size_t layer, size_t head, const Row& queries, Row* out) const {
    const auto head_dim = static_cast<size_t>(model_.config.head_dim);
    const size_t group = model_.config.head_count / model_.config.kv_head_count;
    const size_t kv_begin = head / group * head_dim;
    const int32_t window = model_.config.layer_windows[layer];
    const int32_t first = window > 0 ? std::max(0, position_ + 1 - window) : 0;
    double sum = 0;
    for (int32_t j = first; j <= position_; ++j) {
      double score = 0;
      for (size_t d = 0; d < head_dim; ++d) {
        score += queries[head * head_dim + d] * keys_[layer][j][kv_begin + d];
      }
      const double weight = std::exp(score / std::sqrt(static_cast<double>(head_dim)));
      sum += weight;
      for (size_t d = 0; d < head_dim; ++d) {
        (*out)[head * head_dim + d] += weight * values_[layer][j][kv_begin + d];
      }
    }
    for (size_t d = 0; d < head_dim; ++d) (*out)[head * head_dim + d] /= sum;
  }

  const Model& model_;
  std::vector<float> frequencies_;
  double attention_factor_;
  std::vector<std::vector<Row>> keys_;    // [layer][position]
  std::vector<std::vector<Row>> values_;  // [layer][position]
  int32_t position_ = 0;
};

}  // namespace reenact::local_engine

#endif  // REENACT_TESTS_LOCAL_ENGINE_REFERENCE_DOUBLE_FORWARD_H_
