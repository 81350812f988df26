#include "local_engine/engine/cpu_forward.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"

#include "local_engine/cpu/attention.h"
#include "local_engine/cpu/elementwise.h"
#include "local_engine/cpu/isa.h"
#include "local_engine/cpu/matrix_product.h"
#include "local_engine/cpu/rms_norm.h"
#include "local_engine/cpu/rotate.h"
#include "local_engine/engine/planted_fault.h"
#include "local_engine/numerics/fp_environment.h"
#include "local_engine/numerics/narrow_floats.h"
#include "local_engine/numerics/operations.h"
#include "local_engine/weights/tensor.h"

namespace reenact::local_engine {
namespace {

size_t Size(int32_t count) {
  return static_cast<size_t>(count);
}

}  // namespace

CpuForward::CpuForward(const Model& model, int32_t max_positions, std::unique_ptr<CpuDevice> device,
                       CpuWeights weights)
    : model_(model),
      max_positions_(std::min(max_positions, model.config.max_positions)),
      rope_table_(MakeRopeTable(model.config.rope, max_positions_)),
      device_(std::move(device)),
      weights_(std::move(weights)),
      pages_(model),
      residual_(Size(model.config.hidden_dim)),
      normalised_(Size(model.config.hidden_dim)),
      delta_(Size(model.config.hidden_dim)),
      queries_(Size(model.config.head_count) * Size(model.config.head_dim)),
      attended_(queries_.dim()),
      keys_(Size(model.config.kv_head_count) * Size(model.config.head_dim)),
      values_(keys_.dim()),
      gated_(Size(model.config.feed_forward_dim)),
      up_(gated_.dim()),
      logits_(Size(model.config.vocabulary_size)) {}

absl::Status CpuForward::Forward(std::span<const StepSequence> sequences,
                                 std::vector<SequenceOutput>* outputs) {
  if (absl::Status status = CheckFloatingPointEnvironment(); !status.ok()) return status;
  BeginOutputs(sequences, config(), max_positions_, outputs);
  StepRows rows(sequences, outputs);
  Embed(rows);
  for (int32_t layer = 0; layer < config().layer_count; ++layer) {
    absl::Status status = AttentionBlock(layer, &rows);
    if (status.ok()) status = FeedForwardBlock(layer, &rows);
    if (!status.ok()) return status;
  }
  return Logits(rows, outputs);
}

void CpuForward::Embed(const StepRows& rows) {
  residual_.Rows(rows.count());
  for (const StepRows::Part& part : rows.parts()) {
    const std::span<const int32_t> tokens = rows.SequenceOf(part).tokens;
    for (size_t i = 0; i < tokens.size(); ++i) {
      WidenRow(*model_.weights.embedding, static_cast<uint64_t>(tokens[i]),
               residual_.Row(part.first_row + i));
    }
  }
}

absl::Status CpuForward::AttentionBlock(int32_t layer, StepRows* rows) {
  if (absl::Status status = QueriesKeysValues(layer, *rows); !status.ok()) return status;
  const std::initializer_list<RowBuffer*> kept = {&residual_, &queries_, &keys_, &values_};
  const std::pair<const char*, RowBuffer*> checks[] = {
      {"key cache", &keys_}, {"value cache", &values_}, {"query", &queries_}};
  for (const auto& [what, buffer] : checks) {
    absl::Status status = rows->EndUnsound(layer, what, buffer, kept, *device_);
    if (!status.ok()) return status;
  }
  const std::span<float> attended = attended_.Rows(rows->count());
  absl::Status status = StoreKeysAndValues(layer, *rows);
  if (status.ok()) status = AttendAllHeads(layer, *rows, &queries_, &attended_);
  if (status.ok()) status = RoundActivations(attended);
  if (status.ok()) {
    status = Project(rows->settings(), &attended_,
                     {{&weights_.layers[Size(layer)].attention_output, &delta_}});
  }
  if (status.ok()) status = AddToResidual(*rows);
  if (!status.ok()) return status;
  return rows->EndUnsound(layer, "residual after attention", &residual_, {&residual_}, *device_);
}

// Keys and values rounded to the cache type, but not stored yet.
absl::Status CpuForward::QueriesKeysValues(int32_t layer, const StepRows& rows) {
  const LayerWeights& source = model_.weights.layers[Size(layer)];
  const CpuLayer& weights = weights_.layers[Size(layer)];
  const std::span<float> normalised = normalised_.Rows(rows.count());
  absl::Status status =
      Norm(rows.settings(), residual_.Rows(rows.count()), source.attention_norm, normalised);
  if (status.ok()) status = RoundActivations(normalised);
  if (status.ok()) {
    status =
        Project(rows.settings(), &normalised_,
                {{&weights.query, &queries_}, {&weights.key, &keys_}, {&weights.value, &values_}});
  }
  for (RowBuffer* buffer : {&queries_, &keys_, &values_}) {
    if (status.ok()) status = RoundActivations(buffer->Rows(rows.count()));
  }
  if (status.ok()) status = RotateHeads(rows, source.query_norm, &queries_);
  if (status.ok()) status = RotateHeads(rows, source.key_norm, &keys_);
  for (RowBuffer* buffer : {&keys_, &values_}) {
    if (status.ok()) status = RoundTo(pages_.shape().type, *device_, buffer->Rows(rows.count()));
  }
  return status;
}

// Norm (where the architecture has one) and rotation of every head.
absl::Status CpuForward::RotateHeads(const StepRows& rows, std::span<const float> norm,
                                     RowBuffer* heads) {
  const std::span<float> all = heads->Rows(rows.count());
  if (!norm.empty()) {
    absl::Status status = Norm(rows.settings(), all, norm, all);
    if (status.ok()) status = RoundActivations(all);
    if (!status.ok()) return status;
  }
  const RotationTables tables = {rope_table_.cos.data(), rope_table_.sin.data(),
                                 Size(rope_table_.half_dim)};
  absl::Status status = RotateRows(tables, rows.positions(), *device_, all);
  return status.ok() ? RoundActivations(all) : status;
}

// A piece of work is what one page gets: no two threads write to one cache line.
absl::Status CpuForward::StoreKeysAndValues(int32_t layer, const StepRows& rows) {
  struct Run {
    int32_t page;
    size_t first_row;
    size_t row_count;
  };

  std::vector<Run> runs;
  for (const StepRows::Part& part : rows.parts()) {
    if (Planted(EngineFault::kChunkEdgeLost) && layer == 0 && part.row_count > 1) {
      std::ranges::fill(keys_.Row(part.first_row + part.row_count - 1), 0.0f);
      std::ranges::fill(values_.Row(part.first_row + part.row_count - 1), 0.0f);
    }
    for (size_t i = 0; i < part.row_count;) {
      const size_t row = part.first_row + i;
      const size_t position = Size(rows.positions()[row]);
      const size_t count = std::min(kPagePositions - position % kPagePositions, part.row_count - i);
      runs.push_back({rows.SequenceOf(part).pages[position / kPagePositions], row, count});
      i += count;
    }
  }
  const size_t values_of_run = rows.count() * keys_.dim() / std::max<size_t>(1, runs.size());
  return device_->Run(runs.size(), values_of_run, [&](size_t index, int) {
    const auto& [page, first_row, row_count] = runs[index];
    for (size_t row = first_row; row < first_row + row_count; ++row) {
      pages_.Store(page, layer, Size(rows.positions()[row]) % kPagePositions, keys_.Row(row).data(),
                   values_.Row(row).data());
    }
  });
}

// Every query head against the KV head that its group shares.
absl::Status CpuForward::AttendAllHeads(int32_t layer, const StepRows& rows, RowBuffer* queries,
                                        RowBuffer* attended) {
  const int32_t group = config().head_count / config().kv_head_count;
  const size_t group_dim = Size(group) * Size(config().head_dim);

  // One task for each KV head of each sequence; the vectors below are not moved any more once
  // tasks point into them.
  std::vector<const void*> blocks;
  std::vector<AttentionRow> attention_rows;
  for (const StepRows::Part& part : rows.parts()) {
    for (int32_t head = 0; head < config().kv_head_count; ++head) {
      pages_.AppendBlocks(rows.SequenceOf(part).pages, layer, head, &blocks);
      for (size_t i = 0; i < part.row_count; ++i) {
        const size_t row = part.first_row + i;
        const int32_t position = rows.positions()[row];
        attention_rows.push_back({.queries = queries->Row(row).data() + Size(head) * group_dim,
                                  .out = attended->Row(row).data() + Size(head) * group_dim,
                                  .first = FirstKey(layer, position),
                                  .end = position + 1});
      }
    }
  }
  std::vector<AttentionTask> tasks;
  size_t block_at = 0;
  size_t query_at = 0;
  for (const StepRows::Part& part : rows.parts()) {
    const size_t page_count = rows.SequenceOf(part).pages.size();
    for (int32_t head = 0; head < config().kv_head_count; ++head) {
      tasks.push_back({.blocks = std::span(blocks).subspan(block_at, page_count),
                       .rows = std::span(attention_rows).subspan(query_at, part.row_count)});
      block_at += page_count;
      query_at += part.row_count;
    }
  }
  return AttendTasks(tasks, pages_.shape(), group, attention_scale(), *device_);
}

absl::Status CpuForward::FeedForwardBlock(int32_t layer, StepRows* rows) {
  const CpuLayer& weights = weights_.layers[Size(layer)];
  const size_t count = rows->count();
  const std::span<float> normalised = normalised_.Rows(count);
  const std::span<float> gated = gated_.Rows(count);
  absl::Status status = Norm(rows->settings(), residual_.Rows(count),
                             model_.weights.layers[Size(layer)].feed_forward_norm, normalised);
  if (status.ok()) status = RoundActivations(normalised);
  if (status.ok()) {
    status =
        Project(rows->settings(), &normalised_, {{&weights.gate, &gated_}, {&weights.up, &up_}});
  }
  if (status.ok()) status = RoundActivations(gated);
  if (status.ok()) status = RoundActivations(up_.Rows(count));
  if (status.ok()) status = SiluMul(gated, up_.Rows(count), *device_, gated);
  if (status.ok()) status = RoundActivations(gated);
  if (status.ok()) {
    status = rows->EndUnsound(layer, "gated activation", &gated_, {&residual_, &gated_}, *device_);
  }
  if (status.ok()) status = Project(rows->settings(), &gated_, {{&weights.down, &delta_}});
  if (status.ok()) status = AddToResidual(*rows);
  if (!status.ok()) return status;
  return rows->EndUnsound(layer, "residual after the feed-forward layer", &residual_, {&residual_},
                          *device_);
}

absl::Status CpuForward::AddToResidual(const StepRows& rows) {
  const std::span<float> delta = delta_.Rows(rows.count());
  const std::span<float> residual = residual_.Rows(rows.count());
  absl::Status status = RoundActivations(delta);
  if (status.ok()) status = AddTo(delta, *device_, residual);
  return status.ok() ? RoundActivations(residual) : status;
}

// Of the rows that want them, in one product.
absl::Status CpuForward::Logits(const StepRows& rows, std::vector<SequenceOutput>* outputs) {
  size_t wanted = 0;
  for (const StepRows::Part& part : rows.parts()) {
    wanted += Size(rows.SequenceOf(part).logits_count);
  }
  std::vector<const StockSettings*> settings;
  delta_.Rows(wanted);  // Free by now: takes the residuals in question.
  size_t to = 0;
  for (const StepRows::Part& part : rows.parts()) {
    const size_t end = part.first_row + part.row_count;
    for (size_t row = end - Size(rows.SequenceOf(part).logits_count); row < end; ++row, ++to) {
      std::ranges::copy(residual_.Row(row), delta_.Row(to).begin());
      settings.push_back(rows.settings()[row]);
    }
  }
  const std::span<float> normalised = normalised_.Rows(wanted);
  absl::Status status = Norm(settings, delta_.Rows(wanted), model_.weights.final_norm, normalised);
  if (status.ok()) status = RoundActivations(normalised);
  if (status.ok()) status = Project(settings, &normalised_, {{&weights_.head, &logits_}});
  if (!status.ok()) return status;
  size_t from = 0;
  for (const StepRows::Part& part : rows.parts()) {
    const size_t count = Size(rows.SequenceOf(part).logits_count);
    const auto of_part = logits_.Rows(wanted).subspan(from * logits_.dim(), count * logits_.dim());
    SequenceOutput& output = (*outputs)[part.index];
    from += count;
    if (!AllFinite(of_part, *device_)) {
      output.status = absl::InternalError("layer " + std::to_string(config().layer_count) +
                                          ": the row of logits holds a value that is not finite");
      continue;
    }
    output.logits.assign(of_part.begin(), of_part.end());
    PlantInLogits(rows, part.row_count, &output.logits);
  }
  return absl::OkStatus();
}

absl::Status CpuForward::Norm(RowSettings, std::span<const float> x, std::span<const float> weight,
                              std::span<float> y) {
  return RmsNormRows(x, weight, config().rms_norm_epsilon, *device_, y);
}

absl::Status CpuForward::Project(RowSettings settings, RowBuffer* from,
                                 std::initializer_list<Projected> projections) {
  const size_t count = settings.size();
  std::vector<Product> products;
  for (const auto& [weights, to] : projections) products.push_back({weights, to->Rows(count)});
  return Multiply(products, from->Rows(count), count, *device_);
}

absl::Status CpuForward::RoundActivations(std::span<float>) {
  return absl::OkStatus();
}

float CpuForward::attention_scale() const {
  return div_rn(1.0f, sqrt_rn(static_cast<float>(config().head_dim)));
}

int32_t CpuForward::FirstKey(int32_t layer, int32_t position) const {
  const int32_t window = config().layer_windows[Size(layer)];
  return window > 0 ? std::max(0, position + 1 - window) : 0;
}

void CpuForward::PlantInLogits(const StepRows& rows, size_t row_count,
                               std::vector<float>* logits) const {
  if ((Planted(EngineFault::kBatchPicksKernel) && rows.parts().size() >= 4) ||
      (Planted(EngineFault::kPrefillPicksKernel) && row_count > 1) ||
      (Planted(EngineFault::kThreadsPickKernel) && device_->pool().thread_count() > 1) ||
      (Planted(EngineFault::kIsaPicksKernel) && device_->isa() != AvailableIsas().back())) {
    for (float& logit : *logits) logit = widen_bf16(narrow_to_bf16(logit));
  }
}

}  // namespace reenact::local_engine
