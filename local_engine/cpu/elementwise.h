// What is done value by value: the gate, the residual, the search for what is not finite.

#ifndef REENACT_LOCAL_ENGINE_CPU_ELEMENTWISE_H_
#define REENACT_LOCAL_ENGINE_CPU_ELEMENTWISE_H_

#include <span>

#include "absl/status/status.h"

#include "local_engine/cpu/device.h"
#include "local_engine/weights/tensor.h"

namespace reenact::local_engine {

// The SiluMul of reference/silu_mul.h. out may be gate or up.
absl::Status SiluMul(std::span<const float> gate, std::span<const float> up, CpuDevice& device,
                     std::span<float> out);

// x[k] = x[k] + delta[k], rounded.
absl::Status AddTo(std::span<const float> delta, CpuDevice& device, std::span<float> x);

// Each value narrowed to F16 or BF16, and widened again, by numerics/narrow_floats.h; F32: nothing.
absl::Status RoundTo(DataType type, CpuDevice& device, std::span<float> x);

// Whether no value is infinite or NaN.
bool AllFinite(std::span<const float> x, const CpuDevice& device);

}  // namespace reenact::local_engine

#endif  // REENACT_LOCAL_ENGINE_CPU_ELEMENTWISE_H_
