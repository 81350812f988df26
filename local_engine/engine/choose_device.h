// Which device computes a model: the one that was asked for, or the best that is there.

#ifndef REENACT_LOCAL_ENGINE_ENGINE_CHOOSE_DEVICE_H_
#define REENACT_LOCAL_ENGINE_ENGINE_CHOOSE_DEVICE_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"

#include "local_engine/cuda/find_device.h"

namespace reenact::local_engine {

enum class DeviceWish {
  kAuto,  // An NVIDIA device that can hold the model; else the CPU, and a word about why.
  kCpu,
  kCuda,  // Nothing else: it is an error where it cannot be.
};

// "auto", "cpu" or "cuda". InvalidArgument for other texts.
absl::StatusOr<DeviceWish> DeviceWishNamed(std::string_view name);

struct DeviceNeeds {
  int least_capability = 0;  // The oldest architecture that was compiled for.
  int64_t memory_bytes = 0;  // Weights, pages of keys and values, and room to compute in.
};

struct DeviceChoice {
  bool cuda = false;
  std::string name;     // Of the device that was chosen; empty for the CPU.
  std::string message;  // Of kAuto, when it is the CPU: why, for whoever asked. Empty otherwise.
};

// `find` gives the device, or an error that says why there is none; it is not called for kCpu. All
// the same with no driver, no device, one that is too old, or too little memory: kAuto is the CPU
// with a message, and kCuda an error, FailedPrecondition or ResourceExhausted, with the reason and
// the way out.
absl::StatusOr<DeviceChoice> ChooseDevice(DeviceWish wish, const DeviceNeeds& needs,
                                          absl::FunctionRef<absl::StatusOr<CudaDeviceInfo>()> find);

}  // namespace reenact::local_engine

#endif  // REENACT_LOCAL_ENGINE_ENGINE_CHOOSE_DEVICE_H_
