#include "local_engine/engine/make_backend.h"

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "local_engine/engine/choose_device.h"
#include "local_engine/engine/cpu_backend.h"
#include "local_engine/engine/cpu_weights.h"
#include "local_engine/engine/cuda_backend.h"

namespace reenact::local_engine {

absl::Status CheckOptions(const EngineOptions& options) {
  const std::pair<const char*, int32_t> positive[] = {{"max_positions", options.max_positions},
                                                      {"max_sequences", options.max_sequences},
                                                      {"max_step_rows", options.max_step_rows},
                                                      {"max_chunk_rows", options.max_chunk_rows}};
  for (const auto& [name, value] : positive) {
    if (value < 1) return absl::InvalidArgumentError(std::string(name) + " is less than 1");
  }
  const bool stock_computes =
      options.backend == BackendKind::kCpu || options.backend == BackendKind::kAuto;
  if (options.profile == Profile::kStock && !stock_computes) {
    return absl::InvalidArgumentError("profile \"stock\" computes on the CPU only");
  }
  if (options.threads < 0) return absl::InvalidArgumentError("threads is negative");
  if (options.page_count < 0) return absl::InvalidArgumentError("page_count is negative");
  if (options.prefix_hash_bits < 0 || options.prefix_hash_bits > 64) {
    return absl::InvalidArgumentError("prefix_hash_bits is not within 0 ... 64");
  }
  return absl::OkStatus();
}

absl::StatusOr<EngineDevice> ChooseEngineDevice(const EngineOptions& options, const Model& model) {
  if (options.backend == BackendKind::kReference)
    return EngineDevice{options.backend, "reference", ""};
  // Of a build without CUDA nobody expects a device, and there is nothing to explain.
  const bool plain_auto =
      options.backend == BackendKind::kAuto && (options.profile == Profile::kStock || !HasCuda());
  if (options.backend == BackendKind::kCpu || plain_auto) {
    return EngineDevice{BackendKind::kCpu, "CPU", ""};
  }
  const DeviceWish wish =
      options.backend == BackendKind::kCuda ? DeviceWish::kCuda : DeviceWish::kAuto;
  const CudaStepLimits limits = {.max_positions = options.max_positions,
                                 .page_count = options.page_count,
                                 .max_rows = options.max_step_rows};
  absl::StatusOr<DeviceChoice> choice =
      ChooseDevice(wish, CudaNeeds(model, limits), [&] { return FindCudaDeviceFor(model); });
  if (!choice.ok()) return choice.status();
  if (!choice->cuda) return EngineDevice{BackendKind::kCpu, "CPU", std::move(choice->message)};
  return EngineDevice{BackendKind::kCuda, std::move(choice->name), ""};
}

LoadProgress::LoadProgress(const Model& model, const EngineOptions& options)
    : report_(options.on_load_progress) {
  for (const auto& [name, tensor] : model.tensors.tensors()) {
    total_bytes_ += static_cast<int64_t>(tensor.size_bytes);
  }
  const bool packs = options.backend == BackendKind::kCpu && !options.mmap;
  const bool copies = options.backend == BackendKind::kCuda;
  if (packs || copies) total_bytes_ += PackedSourceBytes(model);
  if (copies && model.weights.embedding != model.weights.head.weight) {
    total_bytes_ += static_cast<int64_t>(model.weights.embedding->size_bytes);
  }
}

void LoadProgress::Add(int64_t bytes) {
  done_bytes_ += bytes;
  if (report_) report_(done_bytes_, total_bytes_);
}

absl::StatusOr<std::unique_ptr<Backend>> MakeBackend(const EngineOptions& options,
                                                     const Model& model, LoadProgress* progress) {
  if (options.backend == BackendKind::kReference) {
    return MakeReferenceBackend(model, options.max_positions);
  }
  if (options.backend == BackendKind::kCuda) {
    return MakeCudaBackend(model, {.max_positions = options.max_positions},
                           [&](int64_t bytes) { progress->Add(bytes); });
  }
  return MakeCpuBackend(model,
                        {.profile = options.profile,
                         .max_positions = options.max_positions,
                         .thread_count = options.threads,
                         .isa = options.isa,
                         .weights_in_place = options.mmap},
                        [&](int64_t bytes) { progress->Add(bytes); });
}

}  // namespace reenact::local_engine
