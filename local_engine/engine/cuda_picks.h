// Tokens that a step chooses on the device, whose rows of logits stay there.

#ifndef REENACT_LOCAL_ENGINE_ENGINE_CUDA_PICKS_H_
#define REENACT_LOCAL_ENGINE_ENGINE_CUDA_PICKS_H_

#include <span>
#include <vector>

#include "local_engine/cuda/device.h"
#include "local_engine/cuda/device_memory.h"
#include "local_engine/cuda/pick.h"
#include "local_engine/engine/backend.h"
#include "local_engine/engine/cuda_step.h"

namespace reenact::local_engine {

class CudaPicks {
 public:
  // What the sequences of `step` ask for.
  void Make(std::span<const StepSequence> sequences, const CudaStep& step, CudaDevice& device);

  // Queues the choice. `logits`: of all rows of the step that want any, [logits_count][vocabulary].
  void Choose(std::span<const float> logits, CudaDevice& device);

  // After the device has been waited for: the outputs that have no error get their tokens.
  void Take(std::span<const StepSequence> sequences, const CudaStep& step,
            std::vector<SequenceOutput>* outputs) const;

 private:
  std::vector<RowPick> picks_;  // Of each row of logits; empty where no row asks.
  bool wants_logprobs_ = false;
  std::vector<PickedRow> picked_;
  std::vector<float> normalisers_;
  DeviceMemory device_picks_;
  DeviceMemory device_picked_;
  DeviceMemory device_normalisers_;
};

}  // namespace reenact::local_engine

#endif  // REENACT_LOCAL_ENGINE_ENGINE_CUDA_PICKS_H_
