// From rows of logits to tokens, on the device: 8 bytes of each row leave it, in place of a whole
// row.

#ifndef REENACT_LOCAL_ENGINE_CUDA_PICK_H_
#define REENACT_LOCAL_ENGINE_CUDA_PICK_H_

#include <cstdint>
#include <span>

#include "local_engine/cuda/device.h"
#include "local_engine/numerics/philox.h"

namespace reenact::local_engine {

// What one row asks for.
struct RowPick {
  DrawKey key;
  float temperature = 0;  // 0: the largest logit, and no draw.
  int32_t wanted = 0;     // 0: nothing.
};

struct PickedRow {
  int32_t token = 0;
  float logit = 0;  // The token's, as it is in the row.
};

// Of each row that asks, the ArgMax of reference/sampler.h, or its Draw after Temper: of equal ones
// the lowest id. What becomes of other rows is unspecified.
// Shapes: logits [rows][vocabulary], picks and picked [rows]; all in device memory.
void PickTokens(std::span<const float> logits, std::span<const RowPick> picks, CudaDevice& device,
                std::span<PickedRow> picked);

}  // namespace reenact::local_engine

#endif  // REENACT_LOCAL_ENGINE_CUDA_PICK_H_
