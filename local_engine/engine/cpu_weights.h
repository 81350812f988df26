// A model's matrices as the CPU's kernels multiply them.

#ifndef REENACT_LOCAL_ENGINE_ENGINE_CPU_WEIGHTS_H_
#define REENACT_LOCAL_ENGINE_ENGINE_CPU_WEIGHTS_H_

#include <cstdint>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"

#include "local_engine/cpu/matrix.h"
#include "local_engine/cpu/worker_pool.h"
#include "local_engine/model/load_model.h"

namespace reenact::local_engine {

struct CpuLayer {
  Matrix query;
  Matrix key;
  Matrix value;
  Matrix attention_output;
  Matrix gate;
  Matrix up;
  Matrix down;
};

struct CpuWeights {
  std::vector<CpuLayer> layers;
  Matrix head;
};

// Bytes of the tensors that MakeCpuWeights packs.
int64_t PackedSourceBytes(const Model& model);

// Each matrix in the type of its own tensor. Packed ones give the pages of their source back as
// they go, so that the process holds the weights about once; `on_packed` is told the bytes of each
// tensor. `model` outlives the result. Errors: FailedPrecondition of WorkerPool::Run;
// ResourceExhausted when there is no memory for the copies.
absl::StatusOr<CpuWeights> MakeCpuWeights(const Model& model, WeightPlacement placement,
                                          WorkerPool& pool,
                                          absl::FunctionRef<void(int64_t bytes)> on_packed);

}  // namespace reenact::local_engine

#endif  // REENACT_LOCAL_ENGINE_ENGINE_CPU_WEIGHTS_H_
