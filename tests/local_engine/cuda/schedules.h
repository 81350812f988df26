// The same work in several orders of threads and blocks.

#ifndef REENACT_TESTS_LOCAL_ENGINE_CUDA_SCHEDULES_H_
#define REENACT_TESTS_LOCAL_ENGINE_CUDA_SCHEDULES_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "local_engine/cuda/device.h"
#include "tests/local_engine/cpu/kernel_testing.h"
#include "tests/local_engine/cuda/emulation/execution.h"

namespace reenact::local_engine {

// `run` queues the work and gives its results. A kernel that failed counts as a difference.
template <typename Run>
size_t DifferentInAnySchedule(const std::vector<float>& expected, const Run& run) {
  size_t different = 0;
  for (uint64_t schedule : cuda_emulation::SchedulesToTry()) {
    cuda_emulation::SetSchedule(schedule);
    CudaDevice device(nullptr);
    const std::vector<float> actual = run(device);
    different += device.Wait() != cudaSuccess;
    different += DifferentBits(expected, actual);
  }
  cuda_emulation::SetSchedule(0);
  return different;
}

}  // namespace reenact::local_engine

#endif  // REENACT_TESTS_LOCAL_ENGINE_CUDA_SCHEDULES_H_
