#include "local_engine/cuda/find_device.h"

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace reenact::local_engine {
namespace {

absl::Status Missing(cudaError_t error) {
  switch (error) {
    case cudaErrorNoDevice:
      return absl::UnavailableError("the driver shows no NVIDIA device");
    case cudaErrorInsufficientDriver:
      return absl::UnavailableError(
          "there is no NVIDIA driver, or one that is too old for this build");
    default:
      return absl::UnavailableError(std::string("the NVIDIA driver says: ") +
                                    cudaGetErrorString(error));
  }
}

}  // namespace

absl::StatusOr<CudaDeviceInfo> FindCudaDevice() {
  int count = 0;
  cudaError_t error = cudaGetDeviceCount(&count);
  if (error == cudaSuccess && count == 0) error = cudaErrorNoDevice;
  if (error == cudaSuccess) error = cudaSetDevice(0);
  cudaDeviceProp properties = {};
  if (error == cudaSuccess) error = cudaGetDeviceProperties(&properties, 0);
  size_t free_bytes = 0;
  size_t total_bytes = 0;
  if (error == cudaSuccess) error = cudaMemGetInfo(&free_bytes, &total_bytes);
  if (error != cudaSuccess) return Missing(error);
  return CudaDeviceInfo{.name = properties.name,
                        .capability = 10 * properties.major + properties.minor,
                        .total_bytes = static_cast<int64_t>(total_bytes),
                        .free_bytes = static_cast<int64_t>(free_bytes)};
}

}  // namespace reenact::local_engine
