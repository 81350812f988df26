// Tokens a second of a whole model with random weights, of the shape of Llama 3 8B.

#ifndef REENACT_TOOLS_BENCH_CUDA_MODEL_MEASUREMENTS_H_
#define REENACT_TOOLS_BENCH_CUDA_MODEL_MEASUREMENTS_H_

#include "tools/bench/cuda/bench_device.h"
#include "tools/bench/cuda/cublas.h"
#include "tools/bench/cuda/measurements.h"

namespace reenact::bench {

// Prefill of one prompt, and greedy decode at each batch size, of layers whose weights have `type`;
// embedding and head are BF16. Steps of the engine's backend, logits brought to the host and the
// best one found there. Beside each stands the time that cuBLAS takes for the same matrices as BF16
// with the same rows, and nothing else; `cublas` may be null.
void MeasureModel(local_engine::DataType type, const BenchSizes& sizes, const Cublas* cublas,
                  Measurements* measurements);

}  // namespace reenact::bench

#endif  // REENACT_TOOLS_BENCH_CUDA_MODEL_MEASUREMENTS_H_
