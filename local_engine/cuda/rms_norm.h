// RMSNorm of many rows.

#ifndef REENACT_LOCAL_ENGINE_CUDA_RMS_NORM_H_
#define REENACT_LOCAL_ENGINE_CUDA_RMS_NORM_H_

#include <span>

#include "local_engine/cuda/device.h"

namespace reenact::local_engine {

// The RmsNorm of reference/rms_norm.h for each row of weight.size() values. As in every operation
// of this folder, spans are of device memory, and errors are those of CudaDevice::Wait.
// Shapes: x, y [rows][dim]; y may be x.
void RmsNormRows(std::span<const float> x, std::span<const float> weight, float epsilon,
                 CudaDevice& device, std::span<float> y);

}  // namespace reenact::local_engine

#endif  // REENACT_LOCAL_ENGINE_CUDA_RMS_NORM_H_
