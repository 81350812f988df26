// What turns rows of logits into log-probabilities.

#ifndef REENACT_LOCAL_ENGINE_CUDA_LOGPROB_H_
#define REENACT_LOCAL_ENGINE_CUDA_LOGPROB_H_

#include <cstddef>
#include <span>

#include "local_engine/cuda/device.h"

namespace reenact::local_engine {

// The Normalise of reference/logprob.h for each row: its maximum, then maximum + Log(sum).
// Shapes: logits [rows][vocabulary], normalisers [rows][2]; at least one logit of a row is finite,
// none is NaN or +infinity.
void NormaliseRows(std::span<const float> logits, size_t rows, CudaDevice& device,
                   std::span<float> normalisers);

}  // namespace reenact::local_engine

#endif  // REENACT_LOCAL_ENGINE_CUDA_LOGPROB_H_
