// The fast backend: the kernels of cpu/ over all rows of a step at once, with the bits of the
// reference on every instruction set and any number of threads.

#ifndef REENACT_LOCAL_ENGINE_ENGINE_CPU_BACKEND_H_
#define REENACT_LOCAL_ENGINE_ENGINE_CPU_BACKEND_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"

#include "local_engine/engine.h"
#include "local_engine/engine/backend.h"
#include "local_engine/model/load_model.h"

namespace reenact::local_engine {

// None of them but the profile has a say in the bits.
struct CpuBackendOptions {
  Profile profile = Profile::kN1;
  int32_t max_positions = 0;
  int32_t thread_count = 0;  // 0: one for each physical core; one for a model of a few megabytes.
  std::string isa;           // A name of cpu/isa.h; empty: the fastest that is available.
  bool weights_in_place = false;
};

// Packs the weights, unless they stay in place, and gives their pages in the files back; tells
// `on_packed` how many bytes are done, after each tensor. `model` outlives the backend. Errors:
// those of CpuDevice::Create and MakeCpuWeights.
absl::StatusOr<std::unique_ptr<Backend>> MakeCpuBackend(
    const Model& model, const CpuBackendOptions& options,
    absl::FunctionRef<void(int64_t bytes)> on_packed);

}  // namespace reenact::local_engine

#endif  // REENACT_LOCAL_ENGINE_ENGINE_CPU_BACKEND_H_
