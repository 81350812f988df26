// What the order of profile n1 costs a product: the same kernel with one chain over all k.

#ifndef REENACT_TOOLS_BENCH_CUDA_FREE_ORDER_PRODUCT_H_
#define REENACT_TOOLS_BENCH_CUDA_FREE_ORDER_PRODUCT_H_

#include <cstddef>

#include "local_engine/cuda/device.h"
#include "local_engine/cuda/matrix.h"
#include "local_engine/cuda/matrix_product.h"

namespace reenact::bench {

// Of `rows` rows, as ArrangeRowsKernel arranges them.
size_t ArrangedFloats(size_t rows, size_t dim);

// y = x W of an F32 matrix and rows that are arranged already; in the order of n1, or in one chain.
void MultiplyArranged(const local_engine::Product& product, size_t rows, const float* arranged,
                      bool free_order, local_engine::CudaDevice& device);

}  // namespace reenact::bench

#endif  // REENACT_TOOLS_BENCH_CUDA_FREE_ORDER_PRODUCT_H_
