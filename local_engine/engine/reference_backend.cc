#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "local_engine/engine/backend.h"
#include "local_engine/engine/planted_fault.h"
#include "local_engine/model/load_model.h"
#include "local_engine/numerics/fp_environment.h"
#include "local_engine/numerics/narrow_floats.h"
#include "local_engine/reference/forward.h"
#include "local_engine/weights/tensor.h"

namespace reenact::local_engine {
namespace {

// Pages as [page][layer][keys, values][position][kv_dim], each value in the cache type.
class PagedKv {
 public:
  explicit PagedKv(const Model& model)
      : type_(model.weights.cache_type),
        value_bytes_(type_ == DataType::kF32 ? 4 : 2),
        layer_count_(static_cast<size_t>(model.config.layer_count)),
        kv_dim_(static_cast<size_t>(model.config.kv_head_count) *
                static_cast<size_t>(model.config.head_dim)) {}

  absl::Status Reserve(int32_t page_count) {
    try {
      bytes_.resize(static_cast<size_t>(page_count) * PageBytes());
    } catch (const std::bad_alloc&) {
      return absl::ResourceExhaustedError("there is no memory for " + std::to_string(page_count) +
                                          " pages of keys and values");
    }
    return absl::OkStatus();
  }

  size_t kv_dim() const { return kv_dim_; }

  enum class Part { kKeys, kValues };

  void Write(int32_t page, int32_t layer, Part part, size_t row, std::span<const float> values) {
    std::byte* to = bytes_.data() + Offset(page, layer, part, row);
    for (float value : values) {
      if (type_ == DataType::kF32) {
        std::memcpy(to, &value, sizeof(value));
      } else {
        const uint16_t half =
            type_ == DataType::kF16 ? narrow_to_fp16(value) : narrow_to_bf16(value);
        std::memcpy(to, &half, sizeof(half));
      }
      to += value_bytes_;
    }
  }

  // As many rows as `values` holds.
  void Read(int32_t page, int32_t layer, Part part, std::span<float> values) const {
    const std::byte* from = bytes_.data() + Offset(page, layer, part, 0);
    if (type_ == DataType::kF32) {
      std::memcpy(values.data(), from, values.size_bytes());
      return;
    }
    for (float& value : values) {
      uint16_t half;
      std::memcpy(&half, from, sizeof(half));
      value = type_ == DataType::kF16 ? widen_fp16(half) : widen_bf16(half);
      from += value_bytes_;
    }
  }

  void Poison(int32_t page) {
    // All ones is a NaN in every cache type.
    std::memset(bytes_.data() + static_cast<size_t>(page) * PageBytes(), 0xff, PageBytes());
  }

 private:
  size_t PartBytes() const { return kPagePositions * kv_dim_ * value_bytes_; }

  size_t PageBytes() const { return layer_count_ * 2 * PartBytes(); }

  size_t Offset(int32_t page, int32_t layer, Part part, size_t row) const {
    const size_t parts = static_cast<size_t>(layer) * 2 + (part == Part::kValues ? 1 : 0);
    return static_cast<size_t>(page) * PageBytes() + parts * PartBytes() +
           row * kv_dim_ * value_bytes_;
  }

  DataType type_;
  size_t value_bytes_;
  size_t layer_count_;
  size_t kv_dim_;
  std::vector<std::byte> bytes_;
};

// The pages of one sequence as a pass sees them.
class SequenceKv final : public KvStore {
 public:
  SequenceKv(std::span<const int32_t> pages, PagedKv* kv) : pages_(pages), kv_(kv) {}

  void Append(int32_t layer, int32_t position, std::span<const float> keys,
              std::span<const float> values) override {
    const int32_t page = pages_[static_cast<size_t>(position / kPagePositions)];
    const auto row = static_cast<size_t>(position % kPagePositions);
    kv_->Write(page, layer, PagedKv::Part::kKeys, row, keys);
    kv_->Write(page, layer, PagedKv::Part::kValues, row, values);
  }

  KvRows Rows(int32_t layer, int32_t end) override {
    const size_t size = static_cast<size_t>(end) * kv_->kv_dim();
    const size_t page_size = kPagePositions * kv_->kv_dim();
    keys_.resize(size);
    values_.resize(size);
    for (size_t at = 0, index = 0; at < size; at += page_size, ++index) {
      const size_t count = std::min(page_size, size - at);
      kv_->Read(pages_[index], layer, PagedKv::Part::kKeys, std::span(keys_).subspan(at, count));
      kv_->Read(pages_[index], layer, PagedKv::Part::kValues,
                std::span(values_).subspan(at, count));
    }
    return {keys_.data(), values_.data(), kv_->kv_dim()};
  }

 private:
  std::span<const int32_t> pages_;
  PagedKv* kv_;
  std::vector<float> keys_;
  std::vector<float> values_;
};

class ReferenceBackend final : public Backend {
 public:
  ReferenceBackend(const Model& model, int32_t max_positions)
      : model_(model, max_positions), kv_(model) {}

  absl::Status ReservePages(int32_t page_count) override { return kv_.Reserve(page_count); }

  absl::Status Forward(std::span<const StepSequence> sequences,
                       std::vector<SequenceOutput>* outputs) override {
    if (absl::Status status = CheckFloatingPointEnvironment(); !status.ok()) return status;
    outputs->assign(sequences.size(), {});
    for (size_t i = 0; i < sequences.size(); ++i) {
      SequenceOutput& output = (*outputs)[i];
      output.status = ForwardSequence(sequences[i], &output.logits);
      const bool of_prefill = sequences[i].tokens.size() > 1;
      if ((Planted(EngineFault::kBatchPicksKernel) && sequences.size() >= 4) ||
          (Planted(EngineFault::kPrefillPicksKernel) && of_prefill)) {
        for (float& logit : output.logits) logit = widen_bf16(narrow_to_bf16(logit));
      }
    }
    return absl::OkStatus();
  }

  void ReadPage(int32_t page, int32_t layer, std::span<float> keys,
                std::span<float> values) const override {
    kv_.Read(page, layer, PagedKv::Part::kKeys, keys);
    kv_.Read(page, layer, PagedKv::Part::kValues, values);
  }

  void PoisonPage(int32_t page) override { kv_.Poison(page); }

 private:
  absl::Status ForwardSequence(const StepSequence& sequence, std::vector<float>* logits) {
    SequenceKv kv(sequence.pages, &kv_);
    const auto token_count = static_cast<int32_t>(sequence.tokens.size());
    for (int32_t row = 0; row < token_count; ++row) {
      const int32_t position = sequence.first_position + row;
      const absl::StatusOr<std::vector<float>> hidden =
          model_.Hidden(sequence.tokens[static_cast<size_t>(row)], position, &kv);
      if (!hidden.ok()) return hidden.status();
      if (Planted(EngineFault::kChunkEdgeLost) && row == token_count - 1 && row > 0) {
        const std::vector<float> lost(kv_.kv_dim());
        kv.Append(0, position, lost, lost);
      }
      if (row < token_count - sequence.logits_count) continue;
      const absl::StatusOr<std::vector<float>> row_logits = model_.Logits(*hidden);
      if (!row_logits.ok()) return row_logits.status();
      logits->insert(logits->end(), row_logits->begin(), row_logits->end());
    }
    return absl::OkStatus();
  }

  ReferenceModel model_;
  PagedKv kv_;
};

}  // namespace

std::unique_ptr<Backend> MakeReferenceBackend(const Model& model, int32_t max_positions) {
  return std::make_unique<ReferenceBackend>(model, max_positions);
}

}  // namespace reenact::local_engine
