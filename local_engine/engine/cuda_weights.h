// A model's weights in device memory, as the kernels of cuda/ read them.

#ifndef REENACT_LOCAL_ENGINE_ENGINE_CUDA_WEIGHTS_H_
#define REENACT_LOCAL_ENGINE_ENGINE_CUDA_WEIGHTS_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "local_engine/cuda/device.h"
#include "local_engine/cuda/device_memory.h"
#include "local_engine/cuda/matrix.h"
#include "local_engine/model/load_model.h"

namespace reenact::local_engine {

// A vector of the model; empty where the architecture has none.
class CudaVector {
 public:
  // Errors are those of CudaDevice::Wait. `values` are needed until then.
  static CudaVector Make(std::span<const float> values, CudaDevice& device);

  std::span<const float> values() const { return {memory_.As<float>(), count_}; }

  const float* data() const { return count_ == 0 ? nullptr : memory_.As<float>(); }

 private:
  DeviceMemory memory_;
  size_t count_ = 0;
};

struct CudaLayer {
  CudaMatrix query, key, value, attention_output, gate, up, down;
  CudaVector attention_norm, query_norm, key_norm, feed_forward_norm;
};

struct CudaWeights {
  std::vector<CudaLayer> layers;
  CudaVector final_norm;
  CudaMatrix head;
  CudaMatrix embedding;  // Without memory where it is the head.
  bool embedding_is_head = false;

  const CudaMatrix& EmbeddingMatrix() const { return embedding_is_head ? head : embedding; }
};

// Internal, or ResourceExhausted for want of device memory; `what` failed.
absl::Status StatusOfCuda(cudaError_t error, const std::string& what);

// Bytes of device memory that the weights take.
int64_t CudaWeightBytes(const Model& model);

// Copies all weights; `on_copied` is told the bytes of each tensor. Errors: ResourceExhausted,
// before anything is copied, when the device has less memory free than the weights take.
absl::StatusOr<CudaWeights> MakeCudaWeights(const Model& model, CudaDevice& device,
                                            absl::FunctionRef<void(int64_t bytes)> on_copied);

}  // namespace reenact::local_engine

#endif  // REENACT_LOCAL_ENGINE_ENGINE_CUDA_WEIGHTS_H_
