// The NVIDIA device of this machine, if there is one. No header of CUDA's is needed to ask.

#ifndef REENACT_LOCAL_ENGINE_CUDA_FIND_DEVICE_H_
#define REENACT_LOCAL_ENGINE_CUDA_FIND_DEVICE_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"

namespace reenact::local_engine {

struct CudaDeviceInfo {
  std::string name;    // "NVIDIA H200"
  int capability = 0;  // 90 of 9.0.
  int64_t total_bytes = 0;
  int64_t free_bytes = 0;
};

// The first device that the driver shows (CUDA_VISIBLE_DEVICES chooses), which becomes the calling
// thread's. Unavailable says what is missing: a driver, one that is new enough, or a device.
absl::StatusOr<CudaDeviceInfo> FindCudaDevice();

}  // namespace reenact::local_engine

#endif  // REENACT_LOCAL_ENGINE_CUDA_FIND_DEVICE_H_
