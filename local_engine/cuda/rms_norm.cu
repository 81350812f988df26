#include <cstddef>
#include <span>

#include "local_engine/cuda/device.h"
#include "local_engine/cuda/inverse_norm.cuh"
#include "local_engine/cuda/rms_norm.h"

namespace reenact::local_engine {
namespace {

// A block a row.
__global__ void __launch_bounds__(kClassCount)
    NormKernel(const float* x, const float* weight, float epsilon, int dim, float* y) {
  auto* sums = SharedMemory<ClassSums>();
  const unsigned row = Planted(DeviceFault::kBlocksShareARow) ? blockIdx.x / 2 : blockIdx.x;
  const size_t at = size_t{row} * static_cast<size_t>(dim);
  const float inverse = InverseNorm(x + at, dim, epsilon, sums);
  const int end = Planted(DeviceFault::kRowsEndLate) ? dim + 1 : dim;
  for (int k = static_cast<int>(threadIdx.x); k < end; k += kClassCount) {
    y[at + k] = mul_rn(mul_rn(x[at + k], inverse), weight[k]);
  }
}

}  // namespace

void RmsNormRows(std::span<const float> x, std::span<const float> weight, float epsilon,
                 CudaDevice& device, std::span<float> y) {
  const size_t dim = weight.size();
  device.Launch({.blocks = dim3(static_cast<unsigned>(x.size() / dim)),
                 .threads = kClassCount,
                 .shared_bytes = sizeof(ClassSums)},
                NormKernel, x.data(), weight.data(), epsilon, static_cast<int>(dim), y.data());
}

}  // namespace reenact::local_engine
