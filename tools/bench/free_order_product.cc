// Compiled for AVX2 and for AVX-512, as the kernels of the engine are.

#include "tools/bench/free_order_product.h"

#include <cstddef>

#include "local_engine/cpu/internal/lanes.h"
#include "local_engine/cpu/internal/panel_layout.h"

namespace reenact::bench {
namespace {

using namespace reenact::local_engine;  // NOLINT: the lanes.

constexpr int kOutputs = static_cast<int>(kFreeOrderOutputs);
#if defined(REENACT_KERNELS_avx512)
constexpr int kVectors = 2;
constexpr int kMaxRows = 12;
#else
constexpr int kVectors = 1;  // Of two registers each.
constexpr int kMaxRows = 6;
#endif

// Enough chains to hide what a multiply-add takes.
constexpr int ChainsOf(int rows) {
  return rows * kVectors >= 8 ? 1 : rows * kVectors >= 4 ? 2 : 4;
}

template <int kRows>
__attribute__((noinline)) void MultiplyVectors(const FreeOrderTile& tile, int first_output) {
  constexpr int kChains = ChainsOf(kRows);
  for (int m = 0; m < kRows; ++m) {
    for (int v = 0; v < kVectors; ++v) {
      __builtin_prefetch(tile.y + static_cast<size_t>(m) * tile.y_stride + first_output + 16 * v,
                         1);
    }
  }
  Lanes acc[kChains][kRows][kVectors];
  for (auto& chain : acc) {
    for (auto& row : chain) {
      for (Lanes& lanes : row) lanes = Zero();
    }
  }
  const float* x = tile.x;
  const float* w = tile.panel + first_output;
  for (size_t k = 0; k < tile.dim; k += 4) {
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
      Lanes weight[kVectors];
#pragma GCC unroll 2
      for (int v = 0; v < kVectors; ++v) {
        weight[v] = Load(w + 16 * v);
        __builtin_prefetch(reinterpret_cast<const char*>(w + 16 * v) + kPrefetchBytes);
      }
#pragma GCC unroll 12
      for (int m = 0; m < kRows; ++m) {
        const Lanes value = Broadcast(x[m]);
#pragma GCC unroll 2
        for (int v = 0; v < kVectors; ++v) {
          acc[i % kChains][m][v] = Fma(value, weight[v], acc[i % kChains][m][v]);
        }
      }
      w += kOutputs;
      x += kRows;
    }
  }
  for (int m = 0; m < kRows; ++m) {
    for (int v = 0; v < kVectors; ++v) {
      Lanes sum = acc[0][m][v];
      for (int i = 1; i < kChains; ++i) sum = Add(sum, acc[i][m][v]);
      Store(tile.y + static_cast<size_t>(m) * tile.y_stride + first_output + 16 * v, sum);
    }
  }
}

template <int kRows>
void MultiplyRows(const FreeOrderTile& tile) {
  if (tile.rows != kRows) {
    if constexpr (kRows > 1) MultiplyRows<kRows - 1>(tile);
    return;
  }
  for (int n = 0; n < kOutputs; n += 16 * kVectors) MultiplyVectors<kRows>(tile, n);
}

void Pack(const float* x, size_t dim, size_t rows, float* packed) {
  for (size_t k = 0; k < dim; k += 16) {
#if defined(REENACT_KERNELS_avx512)
    Lanes columns[16];
    for (size_t m = 0; m < 16; ++m) columns[m] = m < rows ? Load(x + m * dim + k) : Zero();
    Transpose(columns);
    for (size_t i = 0; i < 16; ++i) StoreFirst(packed + (k + i) * rows, columns[i], rows);
#else
    for (size_t i = 0; i < 16; ++i) {
      for (size_t m = 0; m < rows; ++m) packed[(k + i) * rows + m] = x[m * dim + k + i];
    }
#endif
  }
}

constexpr FreeOrderKernels kKernels = {kMaxRows, Pack, MultiplyRows<kMaxRows>};

}  // namespace

#if defined(REENACT_KERNELS_avx512)
const FreeOrderKernels& FreeOrderAvx512() {
#else
const FreeOrderKernels& FreeOrderAvx2() {
#endif
  return kKernels;
}

}  // namespace reenact::bench
