// A model's tensors, found by name, checked against its configuration, and ready to be multiplied.

#ifndef REENACT_LOCAL_ENGINE_MODEL_MODEL_WEIGHTS_H_
#define REENACT_LOCAL_ENGINE_MODEL_MODEL_WEIGHTS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include "local_engine/model/model_config.h"
#include "local_engine/weights/tensor_set.h"

namespace reenact::local_engine {

// y = W x + bias.
struct Projection {
  const Tensor* weight = nullptr;  // [output_dim, input_dim]
  std::vector<float> bias;         // [output_dim], in the order of the outputs, or empty.
  std::vector<float> row_scales;   // [output_dim] of a W8A8 weight (I8), else empty.
  // Above 0: heads of this many rows whose rotary pairs lie side by side in the file (GGUF files of
  // architecture llama). Output i of a head is in the file's row 2i, output i + half in 2i + 1. The
  // engine computes in the order of Hugging Face checkpoints, so both files give the same bits.
  int32_t interleaved_head_dim = 0;

  // The row of `weight` that makes output `output`.
  uint64_t RowOf(uint64_t output) const;
};

struct LayerWeights {
  std::vector<float> attention_norm;     // [hidden_dim]
  Projection query;                      // to head_count * head_dim
  Projection key;                        // to kv_head_count * head_dim
  Projection value;                      // to kv_head_count * head_dim
  std::vector<float> query_norm;         // [head_dim] or empty
  std::vector<float> key_norm;           // [head_dim] or empty
  Projection attention_output;           // to hidden_dim
  std::vector<float> feed_forward_norm;  // [hidden_dim]
  Projection gate;                       // to feed_forward_dim
  Projection up;                         // to feed_forward_dim
  Projection down;                       // to hidden_dim
};

struct ModelWeights {
  const Tensor* embedding = nullptr;  // [vocabulary_size, hidden_dim]
  std::vector<LayerWeights> layers;
  std::vector<float> final_norm;  // [hidden_dim]
  Projection head;                // to vocabulary_size
  // What keys and values are rounded to: F32 for F32 models, else F16 or BF16, as the embedding;
  // F16 where that is Q8_0.
  DataType cache_type = DataType::kF32;
};

enum class TensorNames { kHuggingFace, kGguf };

// Pointers are into `tensors`. Errors name `file` and the tensor: NotFound when it is missing,
// InvalidArgument when its shape or type does not fit, Unimplemented for a tensor that the
// architecture has no place for: nothing is left out silently.
absl::StatusOr<ModelWeights> BindWeights(const std::string& file, const ModelConfig& config,
                                         const TensorSet& tensors, TensorNames names);

}  // namespace reenact::local_engine

#endif  // REENACT_LOCAL_ENGINE_MODEL_MODEL_WEIGHTS_H_
