// Speed of single kernels.

#ifndef REENACT_TOOLS_BENCH_CUDA_KERNEL_MEASUREMENTS_H_
#define REENACT_TOOLS_BENCH_CUDA_KERNEL_MEASUREMENTS_H_

#include "tools/bench/cuda/bench_device.h"
#include "tools/bench/cuda/cublas.h"
#include "tools/bench/cuda/measurements.h"

namespace reenact::bench {

// A copy within the device, products with one row and attention of a batch: GB/s, beside the copy.
void MeasureReads(const BenchSizes& sizes, Measurements* measurements);

// Products of many rows: TFLOP/s, beside cuBLAS and beside the same kernel in free order. `cublas`
// may be null.
void MeasureProducts(const BenchSizes& sizes, const Cublas* cublas, Measurements* measurements);

}  // namespace reenact::bench

#endif  // REENACT_TOOLS_BENCH_CUDA_KERNEL_MEASUREMENTS_H_
