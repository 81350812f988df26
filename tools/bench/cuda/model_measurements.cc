#include "tools/bench/cuda/model_measurements.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

#include "local_engine/engine/backend.h"
#include "local_engine/engine/cuda_backend.h"
#include "local_engine/model/load_model.h"

namespace reenact::bench {
namespace {

using local_engine::Backend;
using local_engine::CudaDevice;
using local_engine::DataType;
using local_engine::kPagePositions;
using local_engine::LayerWeights;
using local_engine::Model;
using local_engine::Projection;
using local_engine::SequenceOutput;
using local_engine::StepSequence;

size_t Size(int32_t count) {
  return static_cast<size_t>(count);
}

// A matrix of the model, and how often a step multiplies by it.
struct MatrixShape {
  size_t outputs = 0, dim = 0;
  int count = 0;
};

std::vector<MatrixShape> MatricesOf(const BenchSizes& sizes) {
  const size_t hidden = Size(sizes.hidden_dim), gated = Size(sizes.feed_forward_dim);
  const size_t heads = Size(sizes.head_count * sizes.head_dim);
  const size_t kv_heads = Size(sizes.kv_head_count * sizes.head_dim);
  return {{heads, hidden, sizes.layer_count},
          {kv_heads, hidden, 2 * sizes.layer_count},
          {hidden, heads, sizes.layer_count},
          {gated, hidden, 2 * sizes.layer_count},
          {hidden, gated, sizes.layer_count}};
}

// All layers share the weights of one on the host; on the device each has its own copy.
class RandomModel {
 public:
  RandomModel(DataType type, const BenchSizes& sizes) {
    model_.config = {.layer_count = sizes.layer_count,
                     .hidden_dim = sizes.hidden_dim,
                     .feed_forward_dim = sizes.feed_forward_dim,
                     .head_count = sizes.head_count,
                     .kv_head_count = sizes.kv_head_count,
                     .head_dim = sizes.head_dim,
                     .vocabulary_size = sizes.vocabulary_size,
                     .max_positions = 8192,
                     .rms_norm_epsilon = 1e-5f,
                     .rope = {.theta = 500000, .head_dim = sizes.head_dim},
                     .layer_windows = std::vector<int32_t>(Size(sizes.layer_count), 0)};
    const size_t hidden = Size(sizes.hidden_dim), gated = Size(sizes.feed_forward_dim);
    const size_t heads = Size(sizes.head_count * sizes.head_dim);
    const size_t kv_heads = Size(sizes.kv_head_count * sizes.head_dim);
    const std::vector<float> ones(hidden, 1.0f);
    const LayerWeights layer = {.attention_norm = ones,
                                .query = Matrix(type, heads, hidden),
                                .key = Matrix(type, kv_heads, hidden),
                                .value = Matrix(type, kv_heads, hidden),
                                .attention_output = Matrix(type, hidden, heads),
                                .feed_forward_norm = ones,
                                .gate = Matrix(type, gated, hidden),
                                .up = Matrix(type, gated, hidden),
                                .down = Matrix(type, hidden, gated)};
    model_.weights.layers.assign(Size(sizes.layer_count), layer);
    model_.weights.final_norm = ones;
    model_.weights.head = Matrix(DataType::kBF16, Size(sizes.vocabulary_size), hidden);
    model_.weights.embedding = model_.weights.head.weight;
    model_.weights.cache_type = DataType::kBF16;
  }

  const Model& model() const { return model_; }

 private:
  Projection Matrix(DataType type, size_t outputs, size_t dim) {
    matrices_.push_back(MakeRandomWeights(type, outputs, dim));
    return matrices_.back()->projection;
  }

  Model model_;
  std::vector<std::unique_ptr<RandomWeights>> matrices_;
};

// Sequences that run on a backend, each with its own pages.
class Sequences {
 public:
  Sequences(Backend* backend, int32_t count, int32_t positions) : backend_(backend) {
    const int32_t pages = (positions + kPagePositions - 1) / kPagePositions;
    for (int32_t i = 0; i < count; ++i) {
      std::vector<int32_t> own;
      for (int32_t page = 0; page < pages; ++page) own.push_back(i * pages + page);
      pages_.push_back(std::move(own));
      tokens_.push_back({i % 7});
    }
  }

  static int32_t PageCount(int32_t count, int32_t positions) {
    return count * ((positions + kPagePositions - 1) / kPagePositions);
  }

  // Token `position` and those after it, of every sequence; then each has the token that follows.
  bool Step(int32_t position, int32_t token_count) {
    std::vector<StepSequence> step;
    for (size_t i = 0; i < pages_.size(); ++i) {
      tokens_[i].resize(Size(token_count), tokens_[i][0]);
      // As the engine asks: the row of logits stays on the device.
      step.push_back({.pages = pages_[i],
                      .first_position = position,
                      .tokens = tokens_[i],
                      .logits_count = 1,
                      .pick = local_engine::TokenPick{}});
    }
    std::vector<SequenceOutput> outputs;
    if (!backend_->Forward(step, &outputs).ok()) return false;
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (!outputs[i].status.ok() || !outputs[i].picked.has_value()) return false;
      tokens_[i] = {outputs[i].picked->token};
    }
    return true;
  }

 private:
  Backend* backend_;
  std::vector<std::vector<int32_t>> pages_;
  std::vector<std::vector<int32_t>> tokens_;
};

// Tokens a second of a prompt in one step, after one that warms up.
std::optional<double> Prefill(Backend* backend, const BenchSizes& sizes) {
  double begin = 0;
  for (int run = 0; run < 2; ++run) {
    begin = SecondsNow();
    if (!Sequences(backend, 1, sizes.prefill_tokens).Step(0, sizes.prefill_tokens)) {
      return std::nullopt;
    }
  }
  return sizes.prefill_tokens / (SecondsNow() - begin);
}

std::optional<double> Decode(Backend* backend, const BenchSizes& sizes, int32_t batch) {
  Sequences sequences(backend, batch, sizes.decode_context + sizes.decode_steps + 1);
  if (!sequences.Step(0, sizes.decode_context) || !sequences.Step(sizes.decode_context, 1)) {
    return std::nullopt;
  }
  const double begin = SecondsNow();
  for (int32_t step = 1; step <= sizes.decode_steps; ++step) {
    if (!sequences.Step(sizes.decode_context + step, 1)) return std::nullopt;
  }
  return batch * sizes.decode_steps / (SecondsNow() - begin);
}

// Tokens a second if a step were only the products of `rows` rows, of which `logits_rows` reach the
// head; 0 where cuBLAS is not there.
double CublasTokens(const BenchSizes& sizes, const Cublas* cublas, int32_t rows,
                    int32_t logits_rows) {
  CudaDevice device(nullptr);
  double milliseconds = 0;
  const auto add = [&](const MatrixShape& shape, int32_t with_rows) {
    const std::optional<double> time = CublasMilliseconds(
        cublas, CublasKind::kBfloat16, Size(with_rows), shape.outputs, shape.dim, device);
    milliseconds = time.has_value() && milliseconds >= 0 ? milliseconds + shape.count * *time : -1;
  };
  for (const MatrixShape& shape : MatricesOf(sizes)) add(shape, rows);
  add({Size(sizes.vocabulary_size), Size(sizes.hidden_dim), 1}, logits_rows);
  return milliseconds > 0 ? rows / milliseconds * 1e3 : 0;
}

std::unique_ptr<Backend> MakeBackend(const Model& model, const BenchSizes& sizes) {
  absl::StatusOr<std::unique_ptr<Backend>> backend =
      MakeCudaBackend(model, {.max_positions = 8192}, [](int64_t) {});
  const int32_t batch = *std::max_element(sizes.batches.begin(), sizes.batches.end());
  const int32_t pages =
      std::max(Sequences::PageCount(1, sizes.prefill_tokens),
               Sequences::PageCount(batch, sizes.decode_context + sizes.decode_steps + 1));
  absl::Status status = backend.status();
  if (status.ok()) status = (*backend)->ReservePages(pages);
  if (status.ok()) return *std::move(backend);
  std::fprintf(stderr, "the model: %s\n", std::string(status.message()).c_str());
  return nullptr;
}

}  // namespace

void MeasureModel(DataType type, const BenchSizes& sizes, const Cublas* cublas,
                  Measurements* measurements) {
  std::unique_ptr<RandomModel> model;
  std::unique_ptr<Backend> backend;
  if (measurements->HasTime()) {
    model = std::make_unique<RandomModel>(type, sizes);
    backend = MakeBackend(model->model(), sizes);
  }
  const std::string name = WeightsName(type);
  const auto measure = [&](const std::string& what, int32_t rows, int32_t logits_rows,
                           const auto& tokens) {
    measurements->Measure(
        {.what = name + ", " + what, .unit = "tokens/s", .beside = "GEMMs of cuBLAS bf16"},
        [&]() -> std::optional<Measured> {
          if (backend == nullptr) return std::nullopt;
          const std::optional<double> rate = tokens();
          if (!rate.has_value()) return std::nullopt;
          return Measured{*rate, CublasTokens(sizes, cublas, rows, logits_rows)};
        });
  };
  for (const int32_t batch : sizes.batches) {
    measure("decode, batch " + std::to_string(batch), batch, batch,
            [&] { return Decode(backend.get(), sizes, batch); });
  }
  measure("prefill of " + std::to_string(sizes.prefill_tokens), sizes.prefill_tokens, 1,
          [&] { return Prefill(backend.get(), sizes); });
}

}  // namespace reenact::bench
