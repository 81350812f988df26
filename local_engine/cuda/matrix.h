// Weights in the form that the kernels multiply, in device memory.

#ifndef REENACT_LOCAL_ENGINE_CUDA_MATRIX_H_
#define REENACT_LOCAL_ENGINE_CUDA_MATRIX_H_

#include <cstddef>
#include <cstdint>

#include "local_engine/cuda/device.h"
#include "local_engine/cuda/device_memory.h"
#include "local_engine/model/model_weights.h"
#include "local_engine/weights/tensor.h"

namespace reenact::local_engine {

// What a kernel needs to know of a matrix; see panel_layout.cuh.
struct MatrixView {
  const uint4* units = nullptr;
  const uint16_t* scales = nullptr;   // Of Q8_0.
  const float* row_scales = nullptr;  // Of I8, [output_dim].
  const float* bias = nullptr;        // [output_dim], or null.
  int output_dim = 0;
  int input_dim = 0;
};

// y = W x + bias for one projection.
class CudaMatrix {
 public:
  CudaMatrix() = default;

  // Copies the weights and arranges them on the device. Errors are those of CudaDevice::Wait, which
  // this one calls.
  static cudaError_t Make(const Projection& projection, CudaDevice& device, CudaMatrix* matrix);

  DataType type() const { return type_; }

  int output_dim() const { return view_.output_dim; }

  int input_dim() const { return view_.input_dim; }

  const MatrixView& view() const { return view_; }

  // Bytes of device memory that the weights of a tensor take, bias and scales too.
  static size_t SizeBytes(const Projection& projection);

 private:
  DataType type_ = DataType::kF32;
  MatrixView view_;
  DeviceMemory units_;
  DeviceMemory scales_;
  DeviceMemory row_scales_;
  DeviceMemory bias_;
};

}  // namespace reenact::local_engine

#endif  // REENACT_LOCAL_ENGINE_CUDA_MATRIX_H_
