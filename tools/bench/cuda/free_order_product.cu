#include <cstddef>

#include "local_engine/cuda/tile_product.cuh"
#include "tools/bench/cuda/free_order_product.h"

namespace reenact::bench {

using namespace local_engine;

size_t ArrangedFloats(size_t rows, size_t dim) {
  return static_cast<size_t>(CountOf(static_cast<int>(rows), kTileRows)) *
         ArrangedTileFloats(static_cast<int>(dim));
}

void MultiplyArranged(const Product& product, size_t rows, const float* arranged, bool free_order,
                      CudaDevice& device) {
  ProductArguments work = {
      .rows = {.row_count = static_cast<int>(rows), .dim = product.weights->input_dim()},
      .matrix_count = 1};
  work.matrices[0] = product.weights->view();
  work.y[0] = product.y.data();
  const auto outputs = static_cast<unsigned>(CountOf(product.weights->output_dim(), kTileOutputs));
  device.Launch(
      {.blocks = dim3(outputs, static_cast<unsigned>(CountOf(static_cast<int>(rows), kTileRows))),
       .threads = kTileThreads,
       .shared_bytes = sizeof(TileShared)},
      free_order ? TileProductKernel<F32Weights, TileOrder::kFree>
                 : TileProductKernel<F32Weights, TileOrder::kWritten>,
      work, arranged);
}

}  // namespace reenact::bench
