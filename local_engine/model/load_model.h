// Opens a model: a Hugging Face folder or a GGUF file.

#ifndef REENACT_LOCAL_ENGINE_MODEL_LOAD_MODEL_H_
#define REENACT_LOCAL_ENGINE_MODEL_LOAD_MODEL_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"

#include "local_engine/model/model_config.h"
#include "local_engine/model/model_weights.h"
#include "local_engine/weights/tensor_set.h"

namespace reenact::local_engine {

struct Model {
  ModelConfig config;
  TensorSet tensors;  // Keeps the files mapped.
  ModelWeights weights;
};

// A folder with config.json and safetensors, or a path that ends in ".gguf". Weights stay where the
// files have them; nothing is copied but norms and biases. Errors are those of the readers.
absl::StatusOr<std::unique_ptr<const Model>> LoadModel(const std::string& path);

}  // namespace reenact::local_engine

#endif  // REENACT_LOCAL_ENGINE_MODEL_LOAD_MODEL_H_
