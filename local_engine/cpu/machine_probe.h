// What the processor can do at most, to hold kernels against. For benchmarks: each call keeps every
// thread of the device busy for some milliseconds, so that it can be measured in turn with them.

#ifndef REENACT_LOCAL_ENGINE_CPU_MACHINE_PROBE_H_
#define REENACT_LOCAL_ENGINE_CPU_MACHINE_PROBE_H_

#include <cstddef>
#include <span>

#include "absl/status/statusor.h"

#include "local_engine/cpu/device.h"

namespace reenact::local_engine {

// Binary32 operations a second of fused multiply-adds in registers, two for each, with the device's
// instruction set.
// Errors: FailedPrecondition is that of WorkerPool::Run.
absl::StatusOr<double> MeasureFmaRate(CpuDevice& device);

// Bytes a second of reading `memory` once, all threads together: the speed of whatever level of the
// memory holds it.
// Errors: as above.
absl::StatusOr<double> MeasureReadRate(std::span<const float> memory, CpuDevice& device);

}  // namespace reenact::local_engine

#endif  // REENACT_LOCAL_ENGINE_CPU_MACHINE_PROBE_H_
