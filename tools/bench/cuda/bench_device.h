// What the measurements share: the device, random weights for it, and how a time is taken.

#ifndef REENACT_TOOLS_BENCH_CUDA_BENCH_DEVICE_H_
#define REENACT_TOOLS_BENCH_CUDA_BENCH_DEVICE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "local_engine/cuda/device.h"
#include "local_engine/cuda/matrix.h"
#include "local_engine/model/model_weights.h"
#include "tools/bench/cuda/cublas.h"

namespace reenact::bench {

// All sizes of a run. Small ones are for an emulated device: they show that everything runs.
struct BenchSizes {
  size_t copy_bytes = size_t{1} << 30;
  size_t gemv_outputs = 65536, gemv_dim = 4096;
  size_t gemm_rows = 2048, gemm_outputs = 4096, gemm_dim = 4096;
  size_t multiply_add_blocks = 8192;
  int multiply_add_rounds = 1024;

  struct Attention {
    int batch = 0, context = 0;
  };

  std::vector<Attention> attention = {{32, 4096}, {128, 1024}, {1, 4096}};
  int head_count = 32, kv_head_count = 8, head_dim = 128;
  // The model.
  int32_t layer_count = 32, hidden_dim = 4096, feed_forward_dim = 14336;
  int32_t vocabulary_size = 128256;
  int32_t prefill_tokens = 2048, decode_context = 64, decode_steps = 8;
  std::vector<int32_t> batches = {1, 8, 32, 128};

  static BenchSizes Small();
};

// A matrix with small values in every type: exponents near one, all scales near one. Values do not
// matter to speed, but zeros would.
struct RandomWeights {
  std::vector<std::byte> bytes;
  local_engine::Tensor tensor;
  local_engine::Projection projection;
};

std::unique_ptr<RandomWeights> MakeRandomWeights(local_engine::DataType type, size_t outputs,
                                                 size_t dim);

// "F32", "BF16", "Q8_0", "W8A8".
const char* WeightsName(local_engine::DataType type);

// Milliseconds of one call of `queue`: the best of some rounds, in each of which so many calls
// follow each other that the time to begin one does not count. Nothing when the device failed.
std::optional<double> Milliseconds(local_engine::CudaDevice& device,
                                   const std::function<void()>& queue);

// Of a product of cuBLAS, whose operands are made for it; nothing where the library is not
// installed, or refuses.
std::optional<double> CublasMilliseconds(const Cublas* cublas, CublasKind kind, size_t rows,
                                         size_t outputs, size_t dim,
                                         local_engine::CudaDevice& device);

}  // namespace reenact::bench

#endif  // REENACT_TOOLS_BENCH_CUDA_BENCH_DEVICE_H_
