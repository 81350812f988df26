// The backend for NVIDIA's devices: the kernels of cuda/ over all rows of a step at once, with the
// bits of the reference. A build without CUDA has cuda_backend_absent.cc in its place, in which
// there never is a device.

#ifndef REENACT_LOCAL_ENGINE_ENGINE_CUDA_BACKEND_H_
#define REENACT_LOCAL_ENGINE_ENGINE_CUDA_BACKEND_H_

#include <cstdint>
#include <memory>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"

#include "local_engine/cuda/find_device.h"
#include "local_engine/engine/backend.h"
#include "local_engine/engine/choose_device.h"
#include "local_engine/model/load_model.h"

namespace reenact::local_engine {

// Whether this build has the kernels.
bool HasCuda();

// The most that steps will ask for.
struct CudaStepLimits {
  int32_t max_positions = 0;
  int32_t page_count = 0;
  int32_t max_rows = 0;
};

// The device of this machine, if the kernels can compute the model. Unimplemented for a head size
// that they do not have; errors of FindCudaDevice.
absl::StatusOr<CudaDeviceInfo> FindCudaDeviceFor(const Model& model);

// What a device has to be and have for `model`.
DeviceNeeds CudaNeeds(const Model& model, const CudaStepLimits& limits);

// None of them has a say in the bits.
struct CudaBackendOptions {
  int32_t max_positions = 0;
};

// On the current device of the calling thread, which is the one to use the backend. Copies the
// weights and tells `on_copied` how many bytes of a file are done, after each tensor. `model`
// outlives the backend. Errors: Unimplemented for a head size that the kernels do not have;
// ResourceExhausted for a model that does not fit, before it is copied; Internal is the device's
// own.
absl::StatusOr<std::unique_ptr<Backend>> MakeCudaBackend(
    const Model& model, const CudaBackendOptions& options,
    absl::FunctionRef<void(int64_t bytes)> on_copied);

}  // namespace reenact::local_engine

#endif  // REENACT_LOCAL_ENGINE_ENGINE_CUDA_BACKEND_H_
