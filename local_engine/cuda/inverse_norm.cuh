// The factor of RMSNorm, computed by a block: for the operation itself and for products that
// normalise their input on the way.

#ifndef REENACT_LOCAL_ENGINE_CUDA_INVERSE_NORM_CUH_
#define REENACT_LOCAL_ENGINE_CUDA_INVERSE_NORM_CUH_

#include "local_engine/cuda/class_sum.cuh"

namespace reenact::local_engine {

// 1 / sqrt(sum(x^2) / dim + epsilon) of a row, in every thread of a block of 256. As SumOfClasses.
__device__ __forceinline__ float InverseNorm(const float* x, int dim, float epsilon,
                                             ClassSums* sums) {
  float acc = 0.0f;
  for (int k = static_cast<int>(threadIdx.x); k < dim; k += kClassCount) {
    acc = fma_rn(x[k], x[k], acc);
  }
  const float sum = SumOfClasses(acc, dim < kClassCount ? dim : kClassCount, sums);
  const float mean = div_rn(sum, static_cast<float>(dim));
  return div_rn(1.0f, sqrt_rn(add_rn(mean, epsilon)));
}

}  // namespace reenact::local_engine

#endif  // REENACT_LOCAL_ENGINE_CUDA_INVERSE_NORM_CUH_
