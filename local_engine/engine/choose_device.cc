#include "local_engine/engine/choose_device.h"

#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace reenact::local_engine {
namespace {

std::string Capability(int capability) {
  return std::to_string(capability / 10) + "." + std::to_string(capability % 10);
}

std::string Gigabytes(int64_t bytes) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.1f GB", static_cast<double>(bytes) / 1e9);
  return text;
}

// OK when the device serves.
absl::Status Serves(const CudaDeviceInfo& device, const DeviceNeeds& needs) {
  if (device.capability < needs.least_capability) {
    return absl::FailedPreconditionError(
        device.name + " has compute capability " + Capability(device.capability) +
        ", and this build is for " + Capability(needs.least_capability) +
        " and later: build with REENACT_CUDA_ARCHITECTURES=" + std::to_string(device.capability));
  }
  if (device.total_bytes < needs.memory_bytes) {
    return absl::ResourceExhaustedError(
        "the model needs " + Gigabytes(needs.memory_bytes) + ", and " + device.name + " has " +
        Gigabytes(device.total_bytes) +
        ": a smaller model, a smaller --context or weights of 8 bits fit");
  }
  if (device.free_bytes < needs.memory_bytes) {
    return absl::ResourceExhaustedError(
        "the model needs " + Gigabytes(needs.memory_bytes) + ", and of " + device.name + " only " +
        Gigabytes(device.free_bytes) +
        " are free: end what else uses the device (nvidia-smi lists it)");
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<DeviceWish> DeviceWishNamed(std::string_view name) {
  if (name == "auto") return DeviceWish::kAuto;
  if (name == "cpu") return DeviceWish::kCpu;
  if (name == "cuda") return DeviceWish::kCuda;
  return absl::InvalidArgumentError("there is no device \"" + std::string(name) +
                                    "\"; there are auto, cpu and cuda");
}

absl::StatusOr<DeviceChoice> ChooseDevice(
    DeviceWish wish, const DeviceNeeds& needs,
    absl::FunctionRef<absl::StatusOr<CudaDeviceInfo>()> find) {
  if (wish == DeviceWish::kCpu) return DeviceChoice{};
  const absl::StatusOr<CudaDeviceInfo> device = find();
  const absl::Status status = device.ok() ? Serves(*device, needs) : device.status();
  if (status.ok()) return DeviceChoice{true, device->name, ""};
  const std::string why(status.message());
  if (wish == DeviceWish::kAuto) return DeviceChoice{false, "", "on the CPU: " + why};
  const absl::StatusCode code = status.code() == absl::StatusCode::kResourceExhausted
                                    ? status.code()
                                    : absl::StatusCode::kFailedPrecondition;
  return absl::Status(code,
                      "--device cuda cannot be: " + why + "; --device cpu computes the same bits");
}

}  // namespace reenact::local_engine
