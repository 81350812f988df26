// The checks of the kernels on a real device: exit code 77, which is "skipped", where there is
// none. A device chooses its own order of threads and blocks: a schedule means nothing here.

#include <cstdint>
#include <cstdio>
#include <span>
#include <string>

#include "absl/status/statusor.h"
#include "gtest/gtest.h"

#include "local_engine/cuda/find_device.h"
#include "tests/local_engine/cuda/emulation/execution.h"

namespace reenact::cuda_emulation {

void SetSchedule(uint64_t /*seed*/) {}

std::span<const uint64_t> SchedulesToTry() {
  static constexpr uint64_t kAny[] = {0};
  return kAny;
}

std::string TakeReport() {
  return "";
}

const Counters& CountersSoFar() {
  static const Counters counters;
  return counters;
}

}  // namespace reenact::cuda_emulation

int main(int argc, char** argv) {
  constexpr int kSkipped = 77;
  testing::InitGoogleTest(&argc, argv);
  const absl::StatusOr<reenact::local_engine::CudaDeviceInfo> device =
      reenact::local_engine::FindCudaDevice();
  if (!device.ok()) {
    std::printf("skipped: no GPU: %s\n", std::string(device.status().message()).c_str());
    return kSkipped;
  }
  std::printf("on %s, compute capability %d.%d\n", device->name.c_str(), device->capability / 10,
              device->capability % 10);
  return RUN_ALL_TESTS();
}
