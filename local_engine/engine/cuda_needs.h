// What a model takes on a device, beside its weights, and what the kernels do not have.

#ifndef REENACT_LOCAL_ENGINE_ENGINE_CUDA_NEEDS_H_
#define REENACT_LOCAL_ENGINE_ENGINE_CUDA_NEEDS_H_

#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"

#include "local_engine/cuda/kv_cache.h"
#include "local_engine/model/load_model.h"

namespace reenact::local_engine {

// Of device memory that the splits of attention take before they are combined; more rows are
// attended in turn.
inline constexpr size_t kCudaSplitBytes = size_t{256} << 20;

// Of them, what a row takes that stands at `position`, and every row with it.
size_t CudaSplitRowBytes(const ModelConfig& config, int32_t position);

// The model's cache, without pages yet.
KvCache EmptyKvCache(const Model& model);

// Unimplemented for a head size that the kernels do not have.
absl::Status CheckCudaSupports(const ModelConfig& config);

}  // namespace reenact::local_engine

#endif  // REENACT_LOCAL_ENGINE_ENGINE_CUDA_NEEDS_H_
