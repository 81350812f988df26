#include "local_engine/engine/cuda_backend.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "local_engine/cuda/attention.h"
#include "local_engine/cuda/elementwise.h"
#include "local_engine/cuda/finite_check.h"
#include "local_engine/cuda/kv_cache.h"
#include "local_engine/cuda/matrix_product.h"
#include "local_engine/cuda/rotate.h"
#include "local_engine/engine/cuda_needs.h"
#include "local_engine/engine/cuda_picks.h"
#include "local_engine/engine/cuda_step.h"
#include "local_engine/engine/cuda_weights.h"
#include "local_engine/engine/step_rows.h"
#include "local_engine/numerics/narrow_floats.h"
#include "local_engine/numerics/operations.h"
#include "local_engine/reference/rope.h"

namespace reenact::local_engine {
namespace {

static_assert(kKvPagePositions == kPagePositions);

size_t Size(int32_t count) {
  return static_cast<size_t>(count);
}

// A matrix of activations in device memory, [rows][dim].
class CudaRows {
 public:
  explicit CudaRows(size_t dim) : dim_(dim) {}

  // Empty after an error.
  std::span<float> Rows(size_t count, CudaDevice& device) {
    if (!device.Reserve(count * dim_ * sizeof(float), &memory_)) return {};
    return {memory_.As<float>(), count * dim_};
  }

 private:
  size_t dim_;
  DeviceMemory memory_;
};

float Widened(DataType type, const std::byte* from) {
  if (type == DataType::kF32) {
    float value;
    std::memcpy(&value, from, sizeof(value));
    return value;
  }
  uint16_t narrow;
  std::memcpy(&narrow, from, sizeof(narrow));
  return type == DataType::kF16 ? widen_fp16(narrow) : widen_bf16(narrow);
}

class CudaBackend final : public Backend {
 public:
  CudaBackend(const Model& model, int32_t max_positions, std::unique_ptr<CudaDevice> device,
              CudaWeights weights)
      : model_(model),
        max_positions_(max_positions),
        device_(std::move(device)),
        weights_(std::move(weights)),
        cache_(EmptyKvCache(model)),
        residual_(Size(config().hidden_dim)),
        queries_(Size(config().head_count) * Size(config().head_dim)),
        keys_(Size(config().kv_head_count) * Size(config().head_dim)),
        values_(Size(config().kv_head_count) * Size(config().head_dim)),
        attended_(Size(config().head_count) * Size(config().head_dim)),
        gated_(Size(config().feed_forward_dim)),
        wanted_(Size(config().hidden_dim)),
        logits_(Size(config().vocabulary_size)) {}

  // Once, before anything else.
  absl::Status CopyTables() {
    const RopeTable table = MakeRopeTable(config().rope, max_positions_);
    cos_ = CudaVector::Make(table.cos, *device_);
    sin_ = CudaVector::Make(table.sin, *device_);
    return StatusOfCuda(device_->Wait(), "copying the rotary tables");
  }

  absl::Status ReservePages(int32_t page_count) override {
    const size_t size_bytes = Size(page_count) * KvPageBytes(cache_);
    if (!device_->Reserve(size_bytes, &pages_)) {
      return StatusOfCuda(device_->Wait(),
                          "memory for " + std::to_string(page_count) + " pages of keys and values");
    }
    cache_.pages = pages_.As<unsigned char>();
    return absl::OkStatus();
  }

  absl::Status Forward(std::span<const StepSequence> sequences,
                       std::vector<SequenceOutput>* outputs) override;

  void ReadPage(int32_t page, int32_t layer, std::span<float> keys,
                std::span<float> values) const override;

  void PoisonPage(int32_t page) override {
    // All ones is a NaN in every cache type.
    device_->Fill(cache_.pages + Size(page) * KvPageBytes(cache_), 0xff, KvPageBytes(cache_));
  }

 private:
  // Rows that AttendRows takes together.
  struct AttentionRange {
    size_t first = 0;
    size_t count = 0;
    AttentionPlan plan;
  };

  const ModelConfig& config() const { return model_.config; }

  void PlanAttention();
  void AttentionBlock(int32_t layer);
  void Attend(int32_t layer, std::span<const float> queries, std::span<float> attended);
  void FeedForwardBlock(int32_t layer);
  void Logits();

  ProductRows Normalised(std::span<const float> x, size_t rows, const CudaVector& norm) const {
    return {x, rows, norm.values(), config().rms_norm_epsilon};
  }

  FiniteCheck Check(int32_t layer, LayerFault fault) const {
    return {step_.faults(), layer * kFaultsOfLayer + fault};
  }

  std::span<float> Rows(CudaRows& rows) { return rows.Rows(step_.row_count(), *device_); }

  const Model& model_;
  int32_t max_positions_;
  std::unique_ptr<CudaDevice> device_;
  CudaWeights weights_;
  CudaVector cos_;
  CudaVector sin_;
  KvCache cache_;
  DeviceMemory pages_;
  CudaStep step_;
  CudaPicks picks_;
  std::vector<AttentionRange> attention_ranges_;
  CudaRows residual_;
  CudaRows queries_;
  CudaRows keys_;
  CudaRows values_;
  CudaRows attended_;
  CudaRows gated_;
  CudaRows wanted_;  // The residuals whose logits are asked for.
  CudaRows logits_;
};

absl::Status CudaBackend::Forward(std::span<const StepSequence> sequences,
                                  std::vector<SequenceOutput>* outputs) {
  BeginOutputs(sequences, config(), max_positions_, outputs);
  step_.Make(sequences, *outputs, *device_);
  if (step_.row_count() == 0) return absl::OkStatus();
  picks_.Make(sequences, step_, *device_);
  PlanAttention();
  EmbedTokens(weights_.EmbeddingMatrix(), step_.tokens(), *device_, Rows(residual_));
  for (int32_t layer = 0; layer < config().layer_count; ++layer) {
    AttentionBlock(layer);
    FeedForwardBlock(layer);
  }
  Logits();
  const size_t vocabulary = Size(config().vocabulary_size);
  for (const CudaStep::Part& part : step_.parts()) {
    if (sequences[part.index].pick.has_value()) continue;
    std::vector<float>& logits = (*outputs)[part.index].logits;
    logits.resize(part.logits_count * vocabulary);
    if (logits.empty()) continue;
    const std::span<float> all = logits_.Rows(step_.logits_count(), *device_);
    device_->Copy(logits.data(), all.data() + part.first_logits * vocabulary,
                  logits.size() * sizeof(float));
  }
  absl::Status status = step_.TakeFaults(config().layer_count, *device_, outputs);
  for (SequenceOutput& output : *outputs) {
    if (!output.status.ok()) output.logits.clear();
  }
  if (status.ok()) picks_.Take(sequences, step_, outputs);
  return status;
}

void CudaBackend::PlanAttention() {
  const std::span<const int32_t> positions = step_.positions();
  const int32_t last = *std::max_element(positions.begin(), positions.end());
  const size_t at_once = std::max<size_t>(1, kCudaSplitBytes / CudaSplitRowBytes(config(), last));
  const size_t ranges = (positions.size() + at_once - 1) / at_once;
  if (attention_ranges_.size() < ranges) attention_ranges_.resize(ranges);
  for (size_t i = 0; i < attention_ranges_.size(); ++i) {
    AttentionRange& range = attention_ranges_[i];
    range.first = std::min(positions.size(), i * at_once);
    range.count = std::min(positions.size() - range.first, at_once);
    if (range.count == 0) continue;
    range.plan.Make(positions.subspan(range.first, range.count),
                    step_.first_pages().subspan(range.first, range.count),
                    config().head_count / config().kv_head_count, *device_);
  }
}

void CudaBackend::AttentionBlock(int32_t layer) {
  const CudaLayer& weights = weights_.layers[Size(layer)];
  const size_t rows = step_.row_count();
  const std::span<float> residual = Rows(residual_), queries = Rows(queries_), keys = Rows(keys_),
                         values = Rows(values_), attended = Rows(attended_);
  const Product projections[] = {
      {&weights.query, queries}, {&weights.key, keys}, {&weights.value, values}};
  Multiply(projections, Normalised(residual, rows, weights.attention_norm), *device_);
  RotateAndStore(step_.Positions(0, rows),
                 {.queries = queries.data(),
                  .keys = keys.data(),
                  .values = values.data(),
                  .query_norm = weights.query_norm.data(),
                  .key_norm = weights.key_norm.data(),
                  .epsilon = config().rms_norm_epsilon,
                  .cos = cos_.data(),
                  .sin = sin_.data(),
                  .head_count = config().head_count,
                  .layer = layer,
                  .first_fault = step_.faults()},
                 cache_, *device_);
  Attend(layer, queries, attended);
  MultiplyAndAdd({&weights.attention_output, residual}, {attended, rows},
                 Check(layer, kAttentionFault), *device_);
}

void CudaBackend::Attend(int32_t layer, std::span<const float> queries, std::span<float> attended) {
  const size_t row_dim = Size(config().head_count) * Size(config().head_dim);
  for (const AttentionRange& range : attention_ranges_) {
    if (range.count == 0) continue;
    AttendRows(step_.Positions(range.first, range.count),
               {.queries = queries.data() + range.first * row_dim,
                .out = attended.data() + range.first * row_dim,
                .head_count = config().head_count,
                .layer = layer,
                .window = config().layer_windows[Size(layer)],
                .scale = div_rn(1.0f, sqrt_rn(static_cast<float>(config().head_dim)))},
               range.plan, cache_, *device_);
  }
}

void CudaBackend::FeedForwardBlock(int32_t layer) {
  const CudaLayer& weights = weights_.layers[Size(layer)];
  const size_t rows = step_.row_count();
  const std::span<float> residual = Rows(residual_), gated = Rows(gated_);
  MultiplyAndGate({&weights.gate, gated}, weights.up,
                  Normalised(residual, rows, weights.feed_forward_norm), Check(layer, kGateFault),
                  *device_);
  MultiplyAndAdd({&weights.down, residual}, {gated, rows}, Check(layer, kFeedForwardFault),
                 *device_);
}

// Of the rows that want them, in one product.
void CudaBackend::Logits() {
  const size_t count = step_.logits_count();
  if (count == 0) return;
  const std::span<float> wanted = wanted_.Rows(count, *device_);
  const std::span<float> logits = logits_.Rows(count, *device_);
  TakeRows(Rows(residual_), step_.logits_rows(), Size(config().hidden_dim), *device_, wanted);
  const Product head = {&weights_.head, logits};
  Multiply({&head, 1}, Normalised(wanted, count, weights_.final_norm), *device_);
  CheckRows(logits, Size(config().vocabulary_size),
            {step_.logits_faults(), config().layer_count * kFaultsOfLayer}, *device_);
  picks_.Choose(logits, *device_);
}

void CudaBackend::ReadPage(int32_t page, int32_t layer, std::span<float> keys,
                           std::span<float> values) const {
  const size_t dim = Size(config().head_dim);
  std::vector<std::byte> block(KvBlockBytes(cache_));
  for (int head = 0; head < cache_.kv_head_count; ++head) {
    device_->Copy(block.data(), cache_.pages + KvBlockOffset(cache_, page, layer, head),
                  block.size());
    if (device_->Wait() != cudaSuccess)
      return;  // An error of the device stays: the next step says so.
    for (int slot = 0; slot < kKvPagePositions; ++slot) {
      const size_t at = (Size(slot) * Size(cache_.kv_head_count) + Size(head)) * dim;
      for (int d = 0; d < cache_.head_dim; ++d) {
        keys[at + Size(d)] = Widened(cache_.type, block.data() + KvKeyOffset(cache_, slot, d));
        values[at + Size(d)] = Widened(cache_.type, block.data() + KvValueOffset(cache_, slot, d));
      }
    }
  }
}

}  // namespace

absl::StatusOr<std::unique_ptr<Backend>> MakeCudaBackend(
    const Model& model, const CudaBackendOptions& options,
    absl::FunctionRef<void(int64_t bytes)> on_copied) {
  if (absl::Status status = CheckCudaSupports(model.config); !status.ok()) return status;
  auto device = std::make_unique<CudaDevice>(nullptr);
  absl::StatusOr<CudaWeights> weights = MakeCudaWeights(model, *device, on_copied);
  if (!weights.ok()) return weights.status();
  auto backend = std::make_unique<CudaBackend>(
      model, std::min(options.max_positions, model.config.max_positions), std::move(device),
      *std::move(weights));
  if (absl::Status status = backend->CopyTables(); !status.ok()) return status;
  return backend;
}

}  // namespace reenact::local_engine
