// RMSNorm of many rows.

#ifndef REENACT_LOCAL_ENGINE_CPU_RMS_NORM_H_
#define REENACT_LOCAL_ENGINE_CPU_RMS_NORM_H_

#include <span>

#include "absl/status/status.h"

#include "local_engine/cpu/device.h"

namespace reenact::local_engine {

// The RmsNorm of reference/rms_norm.h for each row of weight.size() values.
// Shapes: x, y [rows][dim]; y may be x.
// Errors, of every operation of this folder: FailedPrecondition for a calling thread whose
// floating-point mode is wrong.
absl::Status RmsNormRows(std::span<const float> x, std::span<const float> weight, float epsilon,
                         CpuDevice& device, std::span<float> y);

}  // namespace reenact::local_engine

#endif  // REENACT_LOCAL_ENGINE_CPU_RMS_NORM_H_
