// What turns rows of logits into log-probabilities.

#ifndef REENACT_LOCAL_ENGINE_CPU_LOGPROB_H_
#define REENACT_LOCAL_ENGINE_CPU_LOGPROB_H_

#include <cstddef>
#include <span>

#include "absl/status/status.h"

#include "local_engine/cpu/device.h"

namespace reenact::local_engine {

// A logit's log-probability is logit - log_sum, rounded: the Logprob of reference/logprob.h.
struct RowNormaliser {
  float maximum = 0;
  float log_sum = 0;
};

// The Normalise of reference/logprob.h for each row.
// Shapes: logits [normalisers.size()][vocabulary]; at least one logit of a row is finite, none is
// NaN or +infinity.
absl::Status NormaliseRows(std::span<const float> logits, CpuDevice& device,
                           std::span<RowNormaliser> normalisers);

}  // namespace reenact::local_engine

#endif  // REENACT_LOCAL_ENGINE_CPU_LOGPROB_H_
