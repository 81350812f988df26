#include "local_engine/engine/cuda_weights.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace reenact::local_engine {
namespace {

bool EmbeddingIsHead(const Model& model) {
  return model.weights.head.weight == model.weights.embedding &&
         model.weights.head.interleaved_head_dim == 0;
}

Projection EmbeddingOf(const Model& model) {
  Projection projection;
  projection.weight = model.weights.embedding;
  return projection;
}

absl::Status CheckFits(const Model& model) {
  size_t free_bytes = 0;
  size_t total_bytes = 0;
  const cudaError_t error = cudaMemGetInfo(&free_bytes, &total_bytes);
  if (error != cudaSuccess) return StatusOfCuda(error, "asking for the device's memory");
  const int64_t needed = CudaWeightBytes(model);
  if (needed <= static_cast<int64_t>(free_bytes)) return absl::OkStatus();
  return absl::ResourceExhaustedError("the weights take " + std::to_string(needed >> 20) +
                                      " MiB of device memory, of which " +
                                      std::to_string(free_bytes >> 20) + " MiB are free");
}

// Copies matrices and tells of each one; stops at the first error.
class Copier {
 public:
  Copier(CudaDevice& device, absl::FunctionRef<void(int64_t bytes)> on_copied)
      : device_(device), on_copied_(on_copied) {}

  CudaMatrix Matrix(const Projection& projection) {
    CudaMatrix matrix;
    if (!status_.ok()) return matrix;
    status_ = StatusOfCuda(CudaMatrix::Make(projection, device_, &matrix),
                           "copying tensor \"" + projection.weight->name + "\"");
    if (status_.ok()) on_copied_(static_cast<int64_t>(projection.weight->size_bytes));
    return matrix;
  }

  CudaVector Vector(std::span<const float> values) { return CudaVector::Make(values, device_); }

  CudaLayer Layer(const LayerWeights& layer) {
    return {.query = Matrix(layer.query),
            .key = Matrix(layer.key),
            .value = Matrix(layer.value),
            .attention_output = Matrix(layer.attention_output),
            .gate = Matrix(layer.gate),
            .up = Matrix(layer.up),
            .down = Matrix(layer.down),
            .attention_norm = Vector(layer.attention_norm),
            .query_norm = Vector(layer.query_norm),
            .key_norm = Vector(layer.key_norm),
            .feed_forward_norm = Vector(layer.feed_forward_norm)};
  }

  absl::Status Finish() {
    if (status_.ok()) status_ = StatusOfCuda(device_.Wait(), "copying the norms");
    return status_;
  }

 private:
  CudaDevice& device_;
  absl::FunctionRef<void(int64_t bytes)> on_copied_;
  absl::Status status_;
};

}  // namespace

CudaVector CudaVector::Make(std::span<const float> values, CudaDevice& device) {
  CudaVector vector;
  vector.count_ = values.size();
  if (values.empty() || !device.Reserve(values.size_bytes(), &vector.memory_)) return vector;
  device.Copy(vector.memory_.As<void>(), values.data(), values.size_bytes());
  return vector;
}

absl::Status StatusOfCuda(cudaError_t error, const std::string& what) {
  if (error == cudaSuccess) return absl::OkStatus();
  const std::string message = what + ": the device says \"" + cudaGetErrorString(error) + "\"";
  return error == cudaErrorMemoryAllocation ? absl::ResourceExhaustedError(message)
                                            : absl::InternalError(message);
}

int64_t CudaWeightBytes(const Model& model) {
  const ModelWeights& weights = model.weights;
  size_t bytes = CudaMatrix::SizeBytes(weights.head);
  if (!EmbeddingIsHead(model)) bytes += CudaMatrix::SizeBytes(EmbeddingOf(model));
  for (const LayerWeights& layer : weights.layers) {
    for (const Projection* projection :
         {&layer.query, &layer.key, &layer.value, &layer.attention_output, &layer.gate, &layer.up,
          &layer.down}) {
      bytes += CudaMatrix::SizeBytes(*projection);
    }
  }
  return static_cast<int64_t>(bytes);
}

absl::StatusOr<CudaWeights> MakeCudaWeights(const Model& model, CudaDevice& device,
                                            absl::FunctionRef<void(int64_t bytes)> on_copied) {
  if (absl::Status status = CheckFits(model); !status.ok()) return status;
  Copier copier(device, on_copied);
  CudaWeights weights;
  for (const LayerWeights& layer : model.weights.layers) {
    weights.layers.push_back(copier.Layer(layer));
  }
  weights.final_norm = copier.Vector(model.weights.final_norm);
  weights.head = copier.Matrix(model.weights.head);
  weights.embedding_is_head = EmbeddingIsHead(model);
  if (!weights.embedding_is_head) weights.embedding = copier.Matrix(EmbeddingOf(model));
  if (absl::Status status = copier.Finish(); !status.ok()) return status;
  return weights;
}

}  // namespace reenact::local_engine
