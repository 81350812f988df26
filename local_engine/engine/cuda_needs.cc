#include "local_engine/engine/cuda_needs.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "local_engine/cuda/attention.h"
#include "local_engine/cuda/find_device.h"
#include "local_engine/engine/choose_device.h"
#include "local_engine/engine/cuda_backend.h"
#include "local_engine/engine/cuda_weights.h"

namespace reenact::local_engine {
namespace {

size_t Size(int32_t count) {
  return static_cast<size_t>(count);
}

// Activations of a row from its token to its logits, as the backend and the products keep them.
size_t RowBytes(const ModelConfig& config) {
  const size_t heads = Size(config.head_count) * Size(config.head_dim);
  const size_t kv_heads = Size(config.kv_head_count) * Size(config.head_dim);
  const size_t widest = std::max({Size(config.hidden_dim), heads, Size(config.feed_forward_dim)});
  return sizeof(float) *
         (2 * Size(config.hidden_dim) + 2 * heads + 2 * kv_heads +
          2 * Size(config.feed_forward_dim) + widest + Size(config.vocabulary_size));
}

}  // namespace

size_t CudaSplitRowBytes(const ModelConfig& config, int32_t position) {
  const size_t splits = Size(position / 256 + 1);
  return Size(config.head_count) * splits * (Size(config.head_dim) + 2) * sizeof(float);
}

KvCache EmptyKvCache(const Model& model) {
  return {.type = model.weights.cache_type,
          .layer_count = model.config.layer_count,
          .kv_head_count = model.config.kv_head_count,
          .head_dim = model.config.head_dim};
}

absl::Status CheckCudaSupports(const ModelConfig& config) {
  if (config.head_dim <= kMostAttentionHeadDim) return absl::OkStatus();
  return absl::UnimplementedError("the model has heads of " + std::to_string(config.head_dim) +
                                  " values, and the device's attention has up to " +
                                  std::to_string(kMostAttentionHeadDim));
}

bool HasCuda() {
  return true;
}

absl::StatusOr<CudaDeviceInfo> FindCudaDeviceFor(const Model& model) {
  if (absl::Status status = CheckCudaSupports(model.config); !status.ok()) return status;
  return FindCudaDevice();
}

DeviceNeeds CudaNeeds(const Model& model, const CudaStepLimits& limits) {
  const ModelConfig& config = model.config;
  const size_t rows = Size(limits.max_rows);
  const size_t splits =
      std::min(kCudaSplitBytes, rows * CudaSplitRowBytes(config, limits.max_positions - 1));
  const size_t tables = Size(limits.max_positions) * Size(config.head_dim) * sizeof(float);
  const size_t pages = Size(limits.page_count) * KvPageBytes(EmptyKvCache(model));
  return {.least_capability = REENACT_CUDA_LEAST_ARCHITECTURE,
          .memory_bytes = CudaWeightBytes(model) +
                          static_cast<int64_t>(pages + tables + splits + rows * RowBytes(config))};
}

}  // namespace reenact::local_engine
