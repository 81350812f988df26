// A product of binary32 matrices whose sums run in whatever order is fastest: what the fixed order
// of profile n1 is compared with. One chain for each output where there are rows enough, several
// where there are few.

#ifndef REENACT_TOOLS_BENCH_FREE_ORDER_PRODUCT_H_
#define REENACT_TOOLS_BENCH_FREE_ORDER_PRODUCT_H_

#include <cstddef>

namespace reenact::bench {

inline constexpr size_t kFreeOrderOutputs = 32;  // Of a panel: [k][outputs].

struct FreeOrderTile {
  const float* x = nullptr;  // [k][rows], as `pack` leaves it.
  const float* panel = nullptr;
  size_t dim = 0;  // A multiple of 64.
  int rows = 0;    // 1 ... max_rows
  float* y = nullptr;
  size_t y_stride = 0;
};

struct FreeOrderKernels {
  size_t max_rows;
  void (*pack)(const float* x, size_t dim, size_t rows, float* packed);
  void (*multiply)(const FreeOrderTile& tile);
};

const FreeOrderKernels& FreeOrderAvx2();
const FreeOrderKernels& FreeOrderAvx512();

}  // namespace reenact::bench

#endif  // REENACT_TOOLS_BENCH_FREE_ORDER_PRODUCT_H_
