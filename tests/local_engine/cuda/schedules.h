// The same work in several orders of threads and blocks.

#ifndef REENACT_TESTS_LOCAL_ENGINE_CUDA_SCHEDULES_H_
#define REENACT_TESTS_LOCAL_ENGINE_CUDA_SCHEDULES_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "local_engine/cuda/device_queue.h"
#include "local_engine/numerics/operations.h"
#include "tests/local_engine/cuda/emulation/execution.h"

namespace reenact::local_engine {

inline constexpr uint64_t kSchedules[] = {0, 1, 20261130};

inline size_t DifferentBits(std::span<const float> expected, std::span<const float> actual) {
  size_t different = expected.size() == actual.size() ? 0 : 1;
  for (size_t i = 0; different == 0 && i < expected.size(); ++i) {
    different += float_bits(expected[i]) != float_bits(actual[i]);
  }
  return different;
}

// `run` queues the work and gives its results. A kernel that failed counts as a difference.
template <typename Run>
size_t DifferentInAnySchedule(const std::vector<float>& expected, const Run& run) {
  size_t different = 0;
  for (uint64_t schedule : kSchedules) {
    cuda_emulation::SetSchedule(schedule);
    DeviceQueue queue(nullptr);
    const std::vector<float> actual = run(queue);
    different += queue.Wait() != cudaSuccess;
    different += DifferentBits(expected, actual);
  }
  cuda_emulation::SetSchedule(0);
  return different;
}

}  // namespace reenact::local_engine

#endif  // REENACT_TESTS_LOCAL_ENGINE_CUDA_SCHEDULES_H_
