// In a build without CUDA: there is no device.

#include <cstdint>
#include <memory>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "local_engine/engine/cuda_backend.h"

namespace reenact::local_engine {
namespace {

absl::Status Absent() {
  return absl::UnavailableError(
      "this build has no CUDA: it was made without nvcc, or with REENACT_CUDA=OFF");
}

}  // namespace

bool HasCuda() {
  return false;
}

absl::StatusOr<CudaDeviceInfo> FindCudaDeviceFor(const Model&) {
  return Absent();
}

DeviceNeeds CudaNeeds(const Model&, const CudaStepLimits&) {
  return {};
}

absl::StatusOr<std::unique_ptr<Backend>> MakeCudaBackend(const Model&, const CudaBackendOptions&,
                                                         absl::FunctionRef<void(int64_t bytes)>) {
  return Absent();
}

}  // namespace reenact::local_engine
