// The product with F32, F16 and BF16 weights: sums over K in the order of reference/dot.h.
//
// A sum's 32 class accumulators would need a horizontal tree at the end of each output. Here the
// vector lanes are outputs instead, and one class is computed after the other, as a chain of fused
// multiply-adds that stays in registers. The classes come in bit-reversed order (0, 16, 8, 24, 4,
// ...): then the halving tree 16, 8, 4, 2, 1 only ever joins neighbours in that sequence, and
// partial sums wait on a stack just as the ones of a binary counter do. After class number c of the
// sequence, as many pairs are joined as c ends in ones:
//
//   sequence   0     16     8      24     4    ...
//   stack      [0]   [0+16] [0+16] [(0+16)+(8+24)] ...
//                           [8]
//
// A tile has `kRows` activation rows; a weight that was loaded is used for each of them.

#ifndef REENACT_LOCAL_ENGINE_CPU_INTERNAL_FLOAT_PRODUCT_H_
#define REENACT_LOCAL_ENGINE_CPU_INTERNAL_FLOAT_PRODUCT_H_

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "local_engine/cpu/internal/kernel_table.h"
#include "local_engine/cpu/internal/lanes.h"
#include "local_engine/cpu/internal/panel_layout.h"
#include "local_engine/cpu/internal/planted_kernel_fault.h"
#include "local_engine/numerics/operations.h"

namespace reenact::local_engine {
namespace {

constexpr int kMaxDepth = 6;  // Of the stack: 32 classes have 5 levels.

#if defined(REENACT_KERNELS_avx512)
constexpr int kTileVectors = 2;  // 12 x 2 accumulators of the 32 registers.
constexpr int kTileRows = 12;
#elif defined(REENACT_KERNELS_neon)
constexpr int kTileVectors = 1;  // 6 x 4 registers.
constexpr int kTileRows = 6;
#elif defined(REENACT_KERNELS_avx2)
constexpr int kTileVectors = 1;  // 6 x 2 accumulators of the 16 registers.
constexpr int kTileRows = 6;
#else
constexpr int kTileVectors = 1;
constexpr int kTileRows = 2;
#endif
static_assert(kTileRows <= kMaxTileRows);

// The weight types. `Packed`: what one panel holds for an even and an odd k of one class;
// `LoadPair` reads both for vector `v` of its outputs. `LoadClasses` reads 32 weights of one row in
// place.
struct F32Weights {
  using Element = float;
  static constexpr size_t kPairElements = 2 * kPanelOutputs;

  REENACT_NUMERICS_FN void LoadPair(const float* pair, int v, Lanes* even, Lanes* odd) {
    *even = Load(pair + 16 * v);
    *odd = Load(pair + kPanelOutputs + 16 * v);
  }

  REENACT_NUMERICS_FN void LoadClasses(const float* row, Lanes* even, Lanes* odd) {
    Deinterleave(Load(row), Load(row + 16), even, odd);
  }
};

struct F16Weights {
  using Element = uint16_t;
  static constexpr size_t kPairElements = 2 * kPanelOutputs;

  REENACT_NUMERICS_FN void LoadPair(const uint16_t* pair, int v, Lanes* even, Lanes* odd) {
    *even = WidenF16(pair + 16 * v);
    *odd = WidenF16(pair + kPanelOutputs + 16 * v);
  }

  REENACT_NUMERICS_FN void LoadClasses(const uint16_t* row, Lanes* even, Lanes* odd) {
    Deinterleave(WidenF16(row), WidenF16(row + 16), even, odd);
  }
};

// Even and odd k side by side, as in the file: a shift and a mask widen both.
struct Bf16Weights {
  using Element = uint16_t;
  static constexpr size_t kPairElements = 2 * kPanelOutputs;

  REENACT_NUMERICS_FN void LoadPair(const uint16_t* pair, int v, Lanes* even, Lanes* odd) {
    WidenPairs(pair + 32 * v, even, odd);
  }

  REENACT_NUMERICS_FN void LoadClasses(const uint16_t* row, Lanes* even, Lanes* odd) {
    WidenPairs(row, even, odd);
  }
};

// `sums`: [kRows][width], `width` being whole vectors.
template <int kRows>
REENACT_NUMERICS_FN void WriteTile(const ProductTile& tile, int first_output, const float* sums,
                                   int width) {
  const bool whole = first_output + width <= tile.outputs;
  for (int m = 0; m < kRows; ++m) {
    float* y = tile.y + static_cast<size_t>(m) * tile.y_stride;
    for (int n = 0; whole && n < width; n += 16) {
      const Lanes sum = Load(sums + m * width + n);
      const int output = first_output + n;
      Store(y + output, tile.bias != nullptr ? Add(sum, Load(tile.bias + output)) : sum);
    }
    for (int n = 0; !whole && n < width && first_output + n < tile.outputs; ++n) {
      const float sum = sums[m * width + n];
      const int output = first_output + n;
      y[output] = tile.bias != nullptr ? add_rn(sum, tile.bias[output]) : sum;
    }
  }
}

// Asks for the lines of y that a tile writes at its end: they come from further away than the
// stack's, and stores are carried out in order.
template <int kRows>
REENACT_NUMERICS_FN void PrefetchResults(const ProductTile& tile, int first_output, int width) {
  for (int m = 0; m < kRows; ++m) {
    const float* y = tile.y + static_cast<size_t>(m) * tile.y_stride + first_output;
    for (int n = 0; n < width; n += 16) __builtin_prefetch(y + n, 1);
  }
}

REENACT_NUMERICS_FN Lanes Accumulate(Lanes a, Lanes b, Lanes acc) {
  return Planted(KernelFault::kTileUnfused) ? Add(acc, Mul(a, b)) : Fma(a, b, acc);
}

template <typename Weights, int kRows>
__attribute__((noinline)) void MultiplyVectors(const ProductTile& tile, int first_vector) {
  constexpr int kWidth = 16 * kTileVectors;
  alignas(64) float stack[kMaxDepth][kRows * kWidth];
  const auto* x = static_cast<const float*>(tile.x);
  const auto* pair = static_cast<const typename Weights::Element*>(tile.panel);
  const size_t chunks = FloatChunkCount(tile.dim);
  PrefetchResults<kRows>(tile, 16 * first_vector, kWidth);
  for (int sequence = 0; sequence < kDotClasses; ++sequence) {
    Lanes acc[kRows][kTileVectors];
#pragma GCC unroll 12
    for (int m = 0; m < kRows; ++m) {
#pragma GCC unroll 2
      for (int v = 0; v < kTileVectors; ++v) acc[m][v] = Zero();
    }
    for (size_t chunk = 0; chunk < chunks; ++chunk) {
      Lanes even[kTileVectors], odd[kTileVectors];
#pragma GCC unroll 2
      for (int v = 0; v < kTileVectors; ++v) {
        Weights::LoadPair(pair, first_vector + v, &even[v], &odd[v]);
      }
      const char* ahead = reinterpret_cast<const char*>(pair) + kPrefetchBytes;
      for (size_t line = 0; line < sizeof(*pair) * Weights::kPairElements; line += 64) {
        __builtin_prefetch(ahead + line);
      }
      pair += Weights::kPairElements;
#pragma GCC unroll 12
      for (int m = 0; m < kRows; ++m) {
        const Lanes value = Broadcast(x[m]);
#pragma GCC unroll 2
        for (int v = 0; v < kTileVectors; ++v) acc[m][v] = Accumulate(value, even[v], acc[m][v]);
      }
#pragma GCC unroll 12
      for (int m = 0; m < kRows; ++m) {
        const Lanes value = Broadcast(x[kRows + m]);
#pragma GCC unroll 2
        for (int v = 0; v < kTileVectors; ++v) acc[m][v] = Accumulate(value, odd[v], acc[m][v]);
      }
      x += 2 * kRows;
    }
    int depth = __builtin_popcount(static_cast<unsigned>(sequence));
    for (int ones = sequence; ones & 1; ones >>= 1) {
      --depth;
#pragma GCC unroll 12
      for (int m = 0; m < kRows; ++m) {
#pragma GCC unroll 2
        for (int v = 0; v < kTileVectors; ++v) {
          acc[m][v] = Add(Load(stack[depth] + m * kWidth + 16 * v), acc[m][v]);
        }
      }
    }
#pragma GCC unroll 12
    for (int m = 0; m < kRows; ++m) {
#pragma GCC unroll 2
      for (int v = 0; v < kTileVectors; ++v) {
        Store(stack[depth] + m * kWidth + 16 * v, acc[m][v]);
      }
    }
  }
  WriteTile<kRows>(tile, 16 * first_vector, stack[0], kWidth);
}

template <typename Weights, int kRows>
void MultiplyRows(const ProductTile& tile) {
  if (tile.rows != kRows) {
    if constexpr (kRows > 1) MultiplyRows<Weights, kRows - 1>(tile);
    return;
  }
  for (int v = 0; v < kPanelOutputs / 16 && 16 * v < tile.outputs; v += kTileVectors) {
    MultiplyVectors<Weights, kRows>(tile, v);
  }
}

template <typename Weights>
void MultiplyTile(const ProductTile& tile) {
  MultiplyRows<Weights, kTileRows>(tile);
}

// `kOutputs` weight rows in place; vector lanes are classes.
template <typename Weights, int kOutputs>
REENACT_NUMERICS_FN void MultiplyInPlace(const InPlaceRows& rows, int first_output) {
  using Element = typename Weights::Element;
  Lanes low[kOutputs], high[kOutputs];
  for (int r = 0; r < kOutputs; ++r) low[r] = high[r] = Zero();
  const size_t whole = rows.dim / kDotChunk * kDotChunk;
  const size_t rest = rows.dim - whole;
  for (size_t k = 0; k < rows.dim; k += kDotChunk) {
    if (k == whole && Planted(KernelFault::kInPlaceTailDropped)) break;
    const float* x = rows.x + k;
    const Lanes x_even_low = Load(x), x_even_high = Load(x + 16);
    const Lanes x_odd_low = Load(x + 32), x_odd_high = Load(x + 48);
#pragma GCC unroll 4
    for (int r = 0; r < kOutputs; ++r) {
      const auto* w = static_cast<const Element*>(rows.weights[first_output + r]) + k;
      Element tail[kDotChunk] = {};
      if (k == whole) {  // Nothing beyond the row is read.
        std::memcpy(tail, w, rest * sizeof(Element));
        w = tail;
      }
      Lanes even, odd;
      Weights::LoadClasses(w, &even, &odd);
      low[r] = Fma(x_odd_low, odd, Fma(x_even_low, even, low[r]));
      Weights::LoadClasses(w + 32, &even, &odd);
      high[r] = Fma(x_odd_high, odd, Fma(x_even_high, even, high[r]));
    }
  }
  for (int r = 0; r < kOutputs; ++r) {
    const float sum = Halve16(Add(low[r], high[r]));
    const int output = first_output + r;
    rows.y[output] = rows.bias != nullptr ? add_rn(sum, rows.bias[output]) : sum;
  }
}

template <typename Weights>
void MultiplyRowsInPlace(const InPlaceRows& rows) {
  int output = 0;
  for (; output + 4 <= rows.outputs; output += 4) MultiplyInPlace<Weights, 4>(rows, output);
  for (; output < rows.outputs; ++output) MultiplyInPlace<Weights, 1>(rows, output);
}

// One chunk of up to kMaxTileRows rows, [rows] at `stride`, to its places among the classes, which
// are `class_floats` apart.
REENACT_NUMERICS_FN void PackChunk(const float* x, size_t stride, size_t rows, size_t class_floats,
                                   float* packed) {
#if defined(REENACT_KERNELS_avx512)
  for (int first = 0; first < kDotClasses; first += 8) {
    Lanes columns[16];
    for (size_t m = 0; m < 16; ++m) {
      columns[m] = m < rows ? Load(x + m * stride + 2 * first) : Zero();
    }
    Transpose(columns);
    for (int c = 0; c < 8; ++c) {  // Bit reversal undoes itself: this is the place of a class.
      float* to = packed + static_cast<size_t>(BitReversed(first + c)) * class_floats;
      StoreFirst(to, columns[2 * c], rows);
      StoreFirst(to + rows, columns[2 * c + 1], rows);
    }
  }
#else
  // A copy side by side first: rows are often a power of two apart, where they evict each other.
  alignas(64) float values[kMaxTileRows][kDotChunk];
  for (size_t m = 0; m < rows; ++m) std::memcpy(values[m], x + m * stride, sizeof(values[m]));
  for (int sequence = 0; sequence < kDotClasses; ++sequence) {
    const size_t k = 2 * static_cast<size_t>(BitReversed(sequence));
    float* to = packed + static_cast<size_t>(sequence) * class_floats;
    for (size_t m = 0; m < rows; ++m) {
      to[m] = values[m][k];
      to[rows + m] = values[m][k + 1];
    }
  }
#endif
}

void PackX(const ActivationRows& source, float* packed) {
  const size_t chunks = FloatChunkCount(source.dim);
  const auto rows = static_cast<size_t>(source.rows);
  const size_t class_floats = chunks * 2 * rows;
  const size_t whole = source.dim / kDotChunk;
  for (size_t chunk = 0; chunk < whole; ++chunk) {
    PackChunk(source.x + chunk * kDotChunk, source.stride, rows, class_floats,
              packed + chunk * 2 * rows);
  }
  if (whole == chunks) return;
  float padded[16 * kDotChunk] = {};  // As many rows as lanes: what a compiler sees read.
  for (size_t m = 0; m < rows; ++m) {
    std::memcpy(padded + m * kDotChunk, source.x + m * source.stride + whole * kDotChunk,
                source.dim % kDotChunk * sizeof(float));
  }
  PackChunk(padded, kDotChunk, rows, class_floats, packed + whole * 2 * rows);
}

void PackLanes(const float* x, size_t dim, float* packed) {
  for (size_t k = 0; k < FloatChunkCount(dim) * kDotChunk; k += 2) {
    float* to = packed + k / kDotChunk * kDotChunk + k % kDotChunk / 2;
    to[0] = k < dim ? x[k] : 0.0f;
    to[32] = k + 1 < dim ? x[k + 1] : 0.0f;
  }
}

}  // namespace
}  // namespace reenact::local_engine

#endif  // REENACT_LOCAL_ENGINE_CPU_INTERNAL_FLOAT_PRODUCT_H_
