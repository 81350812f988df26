#include "local_engine/engine/cpu_backend.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "local_engine/cpu/attention.h"
#include "local_engine/cpu/device.h"
#include "local_engine/cpu/elementwise.h"
#include "local_engine/cpu/isa.h"
#include "local_engine/cpu/matrix_product.h"
#include "local_engine/cpu/rms_norm.h"
#include "local_engine/cpu/rotate.h"
#include "local_engine/engine/cpu_pages.h"
#include "local_engine/engine/cpu_weights.h"
#include "local_engine/engine/physical_cores.h"
#include "local_engine/engine/planted_fault.h"
#include "local_engine/engine/step_rows.h"
#include "local_engine/numerics/fp_environment.h"
#include "local_engine/numerics/narrow_floats.h"
#include "local_engine/numerics/operations.h"
#include "local_engine/reference/rope.h"
#include "local_engine/weights/tensor.h"

namespace reenact::local_engine {
namespace {

// What a worker is woken for must take longer than the waking: below this many bytes of weights
// one thread is the fastest.
constexpr int64_t kWorthThreadsBytes = int64_t{4} << 20;

size_t Size(int32_t count) {
  return static_cast<size_t>(count);
}

class CpuBackend final : public Backend {
 public:
  CpuBackend(const Model& model, int32_t max_positions, std::unique_ptr<CpuDevice> device,
             CpuWeights weights)
      : model_(model),
        config_(model.config),
        max_positions_(std::min(max_positions, model.config.max_positions)),
        rope_table_(MakeRopeTable(model.config.rope, max_positions_)),
        device_(std::move(device)),
        weights_(std::move(weights)),
        pages_(model),
        residual_(Size(config_.hidden_dim)),
        normalised_(Size(config_.hidden_dim)),
        delta_(Size(config_.hidden_dim)),
        queries_(Size(config_.head_count) * Size(config_.head_dim)),
        attended_(queries_.dim()),
        keys_(Size(config_.kv_head_count) * Size(config_.head_dim)),
        values_(keys_.dim()),
        gated_(Size(config_.feed_forward_dim)),
        up_(gated_.dim()),
        logits_(Size(config_.vocabulary_size)) {}

  absl::Status ReservePages(int32_t page_count) override { return pages_.Reserve(page_count); }

  absl::Status Forward(std::span<const StepSequence> sequences,
                       std::vector<SequenceOutput>* outputs) override;

  void ReadPage(int32_t page, int32_t layer, std::span<float> keys,
                std::span<float> values) const override {
    pages_.Read(page, layer, keys, values);
  }

  void PoisonPage(int32_t page) override { pages_.Poison(page); }

 private:
  absl::Status CheckRange(const StepSequence& sequence) const;
  void Embed(const StepRows& rows);
  absl::Status AttentionBlock(int32_t layer, StepRows* rows);
  absl::Status RotateHeads(const StepRows& rows, std::span<const float> norm, RowBuffer* heads);
  void StoreKeysAndValues(int32_t layer, const StepRows& rows);
  absl::Status AttendAllHeads(int32_t layer, const StepRows& rows);
  absl::Status FeedForwardBlock(int32_t layer, StepRows* rows);
  absl::Status Logits(const StepRows& rows, std::vector<SequenceOutput>* outputs);
  void PlantInLogits(const StepRows& rows, size_t row_count, std::vector<float>* logits) const;

  absl::Status Norm(std::span<const float> x, std::span<const float> weight, std::span<float> y) {
    return RmsNormRows(x, weight, config_.rms_norm_epsilon, *device_, y);
  }

  // to = W from, for `count` rows.
  absl::Status Project(const Matrix& weights, RowBuffer* from, size_t count, RowBuffer* to) {
    return Multiply(weights, from->Rows(count), count, *device_, to->Rows(count));
  }

  const Model& model_;
  const ModelConfig& config_;
  int32_t max_positions_;
  RopeTable rope_table_;
  std::unique_ptr<CpuDevice> device_;
  CpuWeights weights_;
  CpuPages pages_;
  RowBuffer residual_;
  RowBuffer normalised_;
  RowBuffer delta_;
  RowBuffer queries_;
  RowBuffer attended_;
  RowBuffer keys_;
  RowBuffer values_;
  RowBuffer gated_;
  RowBuffer up_;
  RowBuffer logits_;
};

absl::Status CpuBackend::Forward(std::span<const StepSequence> sequences,
                                 std::vector<SequenceOutput>* outputs) {
  if (absl::Status status = CheckFloatingPointEnvironment(); !status.ok()) return status;
  outputs->assign(sequences.size(), {});
  for (size_t i = 0; i < sequences.size(); ++i) {
    (*outputs)[i].status = CheckRange(sequences[i]);
  }
  StepRows rows(sequences, outputs);
  Embed(rows);
  for (int32_t layer = 0; layer < config_.layer_count; ++layer) {
    absl::Status status = AttentionBlock(layer, &rows);
    if (status.ok()) status = FeedForwardBlock(layer, &rows);
    if (!status.ok()) return status;
  }
  return Logits(rows, outputs);
}

absl::Status CpuBackend::CheckRange(const StepSequence& sequence) const {
  for (int32_t token : sequence.tokens) {
    if (token < 0 || token >= config_.vocabulary_size) {
      return absl::OutOfRangeError("token " + std::to_string(token) +
                                   " is not in a vocabulary of " +
                                   std::to_string(config_.vocabulary_size));
    }
  }
  const int64_t end = int64_t{sequence.first_position} + std::ssize(sequence.tokens);
  if (end > max_positions_) {
    return absl::OutOfRangeError("position " + std::to_string(end - 1) + " is beyond the " +
                                 std::to_string(max_positions_) + " that were made ready");
  }
  return absl::OkStatus();
}

void CpuBackend::Embed(const StepRows& rows) {
  residual_.Rows(rows.count());
  for (const StepRows::Part& part : rows.parts()) {
    const std::span<const int32_t> tokens = rows.SequenceOf(part).tokens;
    for (size_t i = 0; i < tokens.size(); ++i) {
      WidenRow(*model_.weights.embedding, static_cast<uint64_t>(tokens[i]),
               residual_.Row(part.first_row + i));
    }
  }
}

absl::Status CpuBackend::AttentionBlock(int32_t layer, StepRows* rows) {
  const LayerWeights& source = model_.weights.layers[Size(layer)];
  const CpuLayer& weights = weights_.layers[Size(layer)];
  const size_t count = rows->count();
  absl::Status status = Norm(residual_.Rows(count), source.attention_norm, normalised_.Rows(count));
  if (status.ok()) status = Project(weights.query, &normalised_, count, &queries_);
  if (status.ok()) status = Project(weights.key, &normalised_, count, &keys_);
  if (status.ok()) status = Project(weights.value, &normalised_, count, &values_);
  if (status.ok()) status = RotateHeads(*rows, source.query_norm, &queries_);
  if (status.ok()) status = RotateHeads(*rows, source.key_norm, &keys_);
  if (status.ok()) status = pages_.RoundToCache(*device_, keys_.Rows(count));
  if (status.ok()) status = pages_.RoundToCache(*device_, values_.Rows(count));

  const std::initializer_list<RowBuffer*> kept = {&residual_, &queries_, &keys_, &values_};
  const std::pair<const char*, RowBuffer*> checks[] = {
      {"key cache", &keys_}, {"value cache", &values_}, {"query", &queries_}};
  for (const auto& [what, buffer] : checks) {
    if (status.ok()) status = rows->EndUnsound(layer, what, buffer, kept, *device_);
  }
  if (!status.ok()) return status;

  StoreKeysAndValues(layer, *rows);
  status = AttendAllHeads(layer, *rows);
  if (status.ok()) status = Project(weights.attention_output, &attended_, rows->count(), &delta_);
  if (status.ok()) {
    status = AddTo(delta_.Rows(rows->count()), *device_, residual_.Rows(rows->count()));
  }
  if (!status.ok()) return status;
  return rows->EndUnsound(layer, "residual after attention", &residual_, {&residual_}, *device_);
}

// Norm (where the architecture has one) and rotation of every head.
absl::Status CpuBackend::RotateHeads(const StepRows& rows, std::span<const float> norm,
                                     RowBuffer* heads) {
  const std::span<float> all = heads->Rows(rows.count());
  if (!norm.empty()) {
    if (absl::Status status = Norm(all, norm, all); !status.ok()) return status;
  }
  const RotationTables tables = {rope_table_.cos.data(), rope_table_.sin.data(),
                                 Size(rope_table_.half_dim)};
  return RotateRows(tables, rows.positions(), *device_, all);
}

void CpuBackend::StoreKeysAndValues(int32_t layer, const StepRows& rows) {
  for (const StepRows::Part& part : rows.parts()) {
    const StepSequence& sequence = rows.SequenceOf(part);
    for (size_t i = 0; i < part.row_count; ++i) {
      const size_t row = part.first_row + i;
      const size_t position = Size(rows.positions()[row]);
      if (Planted(EngineFault::kChunkEdgeLost) && layer == 0 && i > 0 && i + 1 == part.row_count) {
        std::ranges::fill(keys_.Row(row), 0.0f);
        std::ranges::fill(values_.Row(row), 0.0f);
      }
      pages_.Store(sequence.pages[position / kPagePositions], layer, position % kPagePositions,
                   keys_.Row(row).data(), values_.Row(row).data());
    }
  }
}

// Every query head against the KV head that its group shares.
absl::Status CpuBackend::AttendAllHeads(int32_t layer, const StepRows& rows) {
  const int32_t group = config_.head_count / config_.kv_head_count;
  const float scale = div_rn(1.0f, sqrt_rn(static_cast<float>(config_.head_dim)));
  const int32_t window = config_.layer_windows[Size(layer)];
  const size_t group_dim = Size(group) * Size(config_.head_dim);
  attended_.Rows(rows.count());

  // One task for each KV head of each sequence; the vectors below are not moved any more once
  // tasks point into them.
  std::vector<const void*> blocks;
  std::vector<AttentionRow> queries;
  for (const StepRows::Part& part : rows.parts()) {
    for (int32_t head = 0; head < config_.kv_head_count; ++head) {
      pages_.AppendBlocks(rows.SequenceOf(part).pages, layer, head, &blocks);
      for (size_t i = 0; i < part.row_count; ++i) {
        const size_t row = part.first_row + i;
        const int32_t position = rows.positions()[row];
        queries.push_back({.queries = queries_.Row(row).data() + Size(head) * group_dim,
                           .out = attended_.Row(row).data() + Size(head) * group_dim,
                           .first = window > 0 ? std::max(0, position + 1 - window) : 0,
                           .end = position + 1});
      }
    }
  }
  std::vector<AttentionTask> tasks;
  size_t block_at = 0;
  size_t query_at = 0;
  for (const StepRows::Part& part : rows.parts()) {
    const size_t page_count = rows.SequenceOf(part).pages.size();
    for (int32_t head = 0; head < config_.kv_head_count; ++head) {
      tasks.push_back({.blocks = std::span(blocks).subspan(block_at, page_count),
                       .rows = std::span(queries).subspan(query_at, part.row_count)});
      block_at += page_count;
      query_at += part.row_count;
    }
  }
  return AttendTasks(tasks, pages_.shape(), group, scale, *device_);
}

absl::Status CpuBackend::FeedForwardBlock(int32_t layer, StepRows* rows) {
  const LayerWeights& source = model_.weights.layers[Size(layer)];
  const CpuLayer& weights = weights_.layers[Size(layer)];
  const size_t count = rows->count();
  absl::Status status =
      Norm(residual_.Rows(count), source.feed_forward_norm, normalised_.Rows(count));
  if (status.ok()) status = Project(weights.gate, &normalised_, count, &gated_);
  if (status.ok()) status = Project(weights.up, &normalised_, count, &up_);
  if (status.ok()) {
    status = SiluMul(gated_.Rows(count), up_.Rows(count), *device_, gated_.Rows(count));
  }
  if (status.ok()) {
    status = rows->EndUnsound(layer, "gated activation", &gated_, {&residual_, &gated_}, *device_);
  }
  if (status.ok()) status = Project(weights.down, &gated_, rows->count(), &delta_);
  if (status.ok()) {
    status = AddTo(delta_.Rows(rows->count()), *device_, residual_.Rows(rows->count()));
  }
  if (!status.ok()) return status;
  return rows->EndUnsound(layer, "residual after the feed-forward layer", &residual_, {&residual_},
                          *device_);
}

// Of the rows that want them, in one product.
absl::Status CpuBackend::Logits(const StepRows& rows, std::vector<SequenceOutput>* outputs) {
  size_t wanted = 0;
  for (const StepRows::Part& part : rows.parts()) {
    wanted += Size(rows.SequenceOf(part).logits_count);
  }
  delta_.Rows(wanted);  // Free by now: takes the residuals in question.
  size_t to = 0;
  for (const StepRows::Part& part : rows.parts()) {
    const size_t end = part.first_row + part.row_count;
    for (size_t row = end - Size(rows.SequenceOf(part).logits_count); row < end; ++row, ++to) {
      std::ranges::copy(residual_.Row(row), delta_.Row(to).begin());
    }
  }
  absl::Status status =
      Norm(delta_.Rows(wanted), model_.weights.final_norm, normalised_.Rows(wanted));
  if (status.ok()) status = Project(weights_.head, &normalised_, wanted, &logits_);
  if (!status.ok()) return status;
  size_t from = 0;
  for (const StepRows::Part& part : rows.parts()) {
    const size_t count = Size(rows.SequenceOf(part).logits_count);
    const auto of_part = logits_.Rows(wanted).subspan(from * logits_.dim(), count * logits_.dim());
    SequenceOutput& output = (*outputs)[part.index];
    from += count;
    if (!AllFinite(of_part, *device_)) {
      output.status = absl::InternalError("layer " + std::to_string(config_.layer_count) +
                                          ": the row of logits holds a value that is not finite");
      continue;
    }
    output.logits.assign(of_part.begin(), of_part.end());
    PlantInLogits(rows, part.row_count, &output.logits);
  }
  return absl::OkStatus();
}

void CpuBackend::PlantInLogits(const StepRows& rows, size_t row_count,
                               std::vector<float>* logits) const {
  if ((Planted(EngineFault::kBatchPicksKernel) && rows.parts().size() >= 4) ||
      (Planted(EngineFault::kPrefillPicksKernel) && row_count > 1) ||
      (Planted(EngineFault::kThreadsPickKernel) && device_->pool().thread_count() > 1) ||
      (Planted(EngineFault::kIsaPicksKernel) && device_->isa() != AvailableIsas().back())) {
    for (float& logit : *logits) logit = widen_bf16(narrow_to_bf16(logit));
  }
}

}  // namespace

absl::StatusOr<std::unique_ptr<Backend>> MakeCpuBackend(
    const Model& model, const CpuBackendOptions& options,
    absl::FunctionRef<void(int64_t bytes)> on_packed) {
  int threads = options.thread_count;
  if (threads == 0) {
    threads = PackedSourceBytes(model) < kWorthThreadsBytes ? 1 : PhysicalCoreCount();
  }
  absl::StatusOr<std::unique_ptr<CpuDevice>> device =
      CpuDevice::Create({.isa = options.isa, .thread_count = threads});
  if (!device.ok()) return device.status();
  const WeightPlacement placement =
      options.weights_in_place ? WeightPlacement::kInPlace : WeightPlacement::kPackedSourceDropped;
  absl::StatusOr<CpuWeights> weights =
      MakeCpuWeights(model, placement, (*device)->pool(), on_packed);
  if (!weights.ok()) return weights.status();
  return std::make_unique<CpuBackend>(model, options.max_positions, *std::move(device),
                                      *std::move(weights));
}

}  // namespace reenact::local_engine
