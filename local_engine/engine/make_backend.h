// What Engine::Load makes of its options.

#ifndef REENACT_LOCAL_ENGINE_ENGINE_MAKE_BACKEND_H_
#define REENACT_LOCAL_ENGINE_ENGINE_MAKE_BACKEND_H_

#include <cstdint>
#include <functional>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "local_engine/engine.h"
#include "local_engine/engine/backend.h"
#include "local_engine/model/load_model.h"

namespace reenact::local_engine {

// InvalidArgument names the first option that is out of its range or does not fit the others.
absl::Status CheckOptions(const EngineOptions& options);

// What options.backend comes to on this machine for `model`. Errors: those of ChooseDevice.
absl::StatusOr<EngineDevice> ChooseEngineDevice(const EngineOptions& options, const Model& model);

// Bytes of weights that are read for the digest, and read once more where they are packed or copied
// to a device.
class LoadProgress {
 public:
  // `options` outlives it; its backend is the one that was chosen.
  LoadProgress(const Model& model, const EngineOptions& options);

  void Add(int64_t bytes);

 private:
  const std::function<void(int64_t, int64_t)>& report_;
  int64_t done_bytes_ = 0;
  int64_t total_bytes_ = 0;
};

// Of options.backend, which was chosen. `model` outlives the backend. Errors: those of
// MakeCpuBackend and MakeCudaBackend.
absl::StatusOr<std::unique_ptr<Backend>> MakeBackend(const EngineOptions& options,
                                                     const Model& model, LoadProgress* progress);

}  // namespace reenact::local_engine

#endif  // REENACT_LOCAL_ENGINE_ENGINE_MAKE_BACKEND_H_
