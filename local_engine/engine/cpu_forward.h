// The forward pass on the kernels of cpu/: all rows of a step at once. As it stands it computes
// profile n1, whose bits take no notice of a row's settings.

#ifndef REENACT_LOCAL_ENGINE_ENGINE_CPU_FORWARD_H_
#define REENACT_LOCAL_ENGINE_ENGINE_CPU_FORWARD_H_

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <vector>

#include "absl/status/status.h"

#include "local_engine/cpu/device.h"
#include "local_engine/cpu/matrix.h"
#include "local_engine/engine/backend.h"
#include "local_engine/engine/cpu_pages.h"
#include "local_engine/engine/cpu_weights.h"
#include "local_engine/engine/step_rows.h"
#include "local_engine/engine/stock_schedule.h"
#include "local_engine/model/load_model.h"
#include "local_engine/reference/rope.h"

namespace reenact::local_engine {

class CpuForward : public Backend {
 public:
  // `model` outlives it.
  CpuForward(const Model& model, int32_t max_positions, std::unique_ptr<CpuDevice> device,
             CpuWeights weights);

  absl::Status ReservePages(int32_t page_count) override { return pages_.Reserve(page_count); }

  absl::Status Forward(std::span<const StepSequence> sequences,
                       std::vector<SequenceOutput>* outputs) override;

  void ReadPage(int32_t page, int32_t layer, std::span<float> keys,
                std::span<float> values) const override {
    pages_.Read(page, layer, keys, values);
  }

  void PoisonPage(int32_t page) override { pages_.Poison(page); }

 protected:
  // The operations whose order profile "stock" changes. `settings` has one entry for each row, or
  // for as many equal parts of a row as there are heads.
  using RowSettings = std::span<const StockSettings* const>;

  struct Projected {
    const Matrix* weights = nullptr;
    RowBuffer* to = nullptr;
  };

  virtual absl::Status Norm(RowSettings settings, std::span<const float> x,
                            std::span<const float> weight, std::span<float> y);
  // The rows of `from` by each matrix, which has a buffer of its own.
  virtual absl::Status Project(RowSettings settings, RowBuffer* from,
                               std::initializer_list<Projected> projections);
  virtual absl::Status AttendAllHeads(int32_t layer, const StepRows& rows, RowBuffer* queries,
                                      RowBuffer* attended);
  // Of what an operation gives to the next one.
  virtual absl::Status RoundActivations(std::span<float> values);

  const ModelConfig& config() const { return model_.config; }

  float attention_scale() const;

  // The first key that a position of a layer sees.
  int32_t FirstKey(int32_t layer, int32_t position) const;

  CpuDevice& device() { return *device_; }

  const CpuPages& pages() const { return pages_; }

 private:
  void Embed(const StepRows& rows);
  absl::Status AttentionBlock(int32_t layer, StepRows* rows);
  absl::Status QueriesKeysValues(int32_t layer, const StepRows& rows);
  absl::Status RotateHeads(const StepRows& rows, std::span<const float> norm, RowBuffer* heads);
  absl::Status StoreKeysAndValues(int32_t layer, const StepRows& rows);
  absl::Status FeedForwardBlock(int32_t layer, StepRows* rows);
  absl::Status AddToResidual(const StepRows& rows);
  absl::Status Logits(const StepRows& rows, std::vector<SequenceOutput>* outputs);
  void PlantInLogits(const StepRows& rows, size_t row_count, std::vector<float>* logits) const;

  const Model& model_;
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

}  // namespace reenact::local_engine

#endif  // REENACT_LOCAL_ENGINE_ENGINE_CPU_FORWARD_H_
