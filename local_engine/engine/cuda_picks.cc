#include "local_engine/engine/cuda_picks.h"

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "local_engine/cuda/logprob.h"

namespace reenact::local_engine {

void CudaPicks::Make(std::span<const StepSequence> sequences, const CudaStep& step,
                     CudaDevice& device) {
  picks_.assign(step.logits_count(), {});
  wants_logprobs_ = false;
  bool any = false;
  for (const CudaStep::Part& part : step.parts()) {
    const std::optional<TokenPick>& pick = sequences[part.index].pick;
    if (!pick.has_value()) continue;
    picks_[part.first_logits] = {pick->key, pick->temperature, 1};
    wants_logprobs_ |= pick->logprob;
    any = true;
  }
  if (!any) picks_.clear();
  const size_t size_bytes = picks_.size() * sizeof(RowPick);
  if (!device.Reserve(size_bytes, &device_picks_)) return;
  device.Copy(device_picks_.As<void>(), picks_.data(), size_bytes);
}

void CudaPicks::Choose(std::span<const float> logits, CudaDevice& device) {
  const size_t rows = picks_.size();
  if (rows == 0 || !device.Reserve(rows * sizeof(PickedRow), &device_picked_)) return;
  PickTokens(logits, {device_picks_.As<RowPick>(), rows}, device,
             {device_picked_.As<PickedRow>(), rows});
  picked_.resize(rows);
  device.Copy(picked_.data(), device_picked_.As<void>(), rows * sizeof(PickedRow));
  if (!wants_logprobs_ || !device.Reserve(2 * rows * sizeof(float), &device_normalisers_)) return;
  NormaliseRows(logits, rows, device, {device_normalisers_.As<float>(), 2 * rows});
  normalisers_.resize(2 * rows);
  device.Copy(normalisers_.data(), device_normalisers_.As<void>(), 2 * rows * sizeof(float));
}

void CudaPicks::Take(std::span<const StepSequence> sequences, const CudaStep& step,
                     std::vector<SequenceOutput>* outputs) const {
  for (const CudaStep::Part& part : step.parts()) {
    const std::optional<TokenPick>& pick = sequences[part.index].pick;
    SequenceOutput& output = (*outputs)[part.index];
    if (!pick.has_value() || !output.status.ok()) continue;
    const PickedRow& picked = picked_[part.first_logits];
    output.picked = {.token = picked.token, .logit = picked.logit};
    if (!pick->logprob) continue;
    output.picked->normaliser = {normalisers_[2 * part.first_logits],
                                 normalisers_[2 * part.first_logits + 1]};
  }
}

}  // namespace reenact::local_engine
