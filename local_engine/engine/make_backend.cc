#include "local_engine/engine/make_backend.h"

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "local_engine/engine/cpu_backend.h"
#include "local_engine/engine/cpu_weights.h"

namespace reenact::local_engine {

absl::Status CheckOptions(const EngineOptions& options) {
  const std::pair<const char*, int32_t> positive[] = {{"max_positions", options.max_positions},
                                                      {"max_sequences", options.max_sequences},
                                                      {"max_step_rows", options.max_step_rows},
                                                      {"max_chunk_rows", options.max_chunk_rows}};
  for (const auto& [name, value] : positive) {
    if (value < 1) return absl::InvalidArgumentError(std::string(name) + " is less than 1");
  }
  if (options.profile == Profile::kStock && options.backend != BackendKind::kCpu) {
    return absl::InvalidArgumentError("profile \"stock\" has no reference backend");
  }
  if (options.threads < 0) return absl::InvalidArgumentError("threads is negative");
  if (options.page_count < 0) return absl::InvalidArgumentError("page_count is negative");
  if (options.prefix_hash_bits < 0 || options.prefix_hash_bits > 64) {
    return absl::InvalidArgumentError("prefix_hash_bits is not within 0 ... 64");
  }
  return absl::OkStatus();
}

LoadProgress::LoadProgress(const Model& model, const EngineOptions& options)
    : report_(options.on_load_progress) {
  for (const auto& [name, tensor] : model.tensors.tensors()) {
    total_bytes_ += static_cast<int64_t>(tensor.size_bytes);
  }
  const bool packs = options.backend == BackendKind::kCpu && !options.mmap;
  if (packs) total_bytes_ += PackedSourceBytes(model);
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
  return MakeCpuBackend(model,
                        {.profile = options.profile,
                         .max_positions = options.max_positions,
                         .thread_count = options.threads,
                         .isa = options.isa,
                         .weights_in_place = options.mmap},
                        [&](int64_t bytes) { progress->Add(bytes); });
}

}  // namespace reenact::local_engine
