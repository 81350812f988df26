#include "local_engine/engine/cpu_weights.h"

#include <cstdint>
#include <new>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace reenact::local_engine {
namespace {

// In the order of a forward pass: the seven of each layer as CpuLayer has them, then the head.
std::vector<const Projection*> ProjectionsOf(const ModelWeights& weights) {
  std::vector<const Projection*> projections;
  for (const LayerWeights& layer : weights.layers) {
    projections.insert(projections.end(),
                       {&layer.query, &layer.key, &layer.value, &layer.attention_output,
                        &layer.gate, &layer.up, &layer.down});
  }
  projections.push_back(&weights.head);
  return projections;
}

}  // namespace

int64_t PackedSourceBytes(const Model& model) {
  int64_t bytes = 0;
  for (const Projection* projection : ProjectionsOf(model.weights)) {
    bytes += static_cast<int64_t>(projection->weight->size_bytes);
  }
  return bytes;
}

absl::StatusOr<CpuWeights> MakeCpuWeights(const Model& model, WeightPlacement placement,
                                          WorkerPool& pool,
                                          absl::FunctionRef<void(int64_t bytes)> on_packed) {
  std::vector<Matrix> matrices;
  for (const Projection* projection : ProjectionsOf(model.weights)) {
    try {
      absl::StatusOr<Matrix> matrix = Matrix::Make(*projection, placement, pool);
      if (!matrix.ok()) return matrix.status();
      matrices.push_back(*std::move(matrix));
    } catch (const std::bad_alloc&) {
      return absl::ResourceExhaustedError("there is no memory for a copy of tensor \"" +
                                          projection->weight->name +
                                          "\"; left in their file, weights take none");
    }
    if (placement != WeightPlacement::kInPlace) {
      on_packed(static_cast<int64_t>(projection->weight->size_bytes));
    }
  }
  auto next = matrices.begin();
  const auto take = [&] { return std::move(*next++); };
  CpuWeights weights{.layers = {}, .head = std::move(matrices.back())};
  for (size_t layer = 0; layer < model.weights.layers.size(); ++layer) {
    // Braces evaluate from left to right.
    weights.layers.push_back({take(), take(), take(), take(), take(), take(), take()});
  }
  return weights;
}

}  // namespace reenact::local_engine
