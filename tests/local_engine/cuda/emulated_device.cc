// The device that the emulator is, for engines that look for one.

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

#include "absl/status/statusor.h"

#include "local_engine/cuda/find_device.h"

namespace reenact::local_engine {

absl::StatusOr<CudaDeviceInfo> FindCudaDevice() {
  size_t free_bytes = 0;
  size_t total_bytes = 0;
  cudaMemGetInfo(&free_bytes, &total_bytes);
  return CudaDeviceInfo{.name = "emulated device",
                        .capability = 90,
                        .total_bytes = static_cast<int64_t>(total_bytes),
                        .free_bytes = static_cast<int64_t>(free_bytes)};
}

}  // namespace reenact::local_engine
