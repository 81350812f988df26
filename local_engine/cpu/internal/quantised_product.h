// The products with Q8_0 and W8A8 weights, in the order of reference/quantised_dot.h. Integer sums
// are exact, so that their order is free; vector lanes are outputs.

#ifndef REENACT_LOCAL_ENGINE_CPU_INTERNAL_QUANTISED_PRODUCT_H_
#define REENACT_LOCAL_ENGINE_CPU_INTERNAL_QUANTISED_PRODUCT_H_

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "local_engine/cpu/internal/float_product.h"
#include "local_engine/cpu/internal/kernel_table.h"
#include "local_engine/cpu/internal/lanes.h"
#include "local_engine/cpu/internal/panel_layout.h"
#include "local_engine/cpu/internal/planted_kernel_fault.h"
#include "local_engine/numerics/operations.h"

namespace reenact::local_engine {
namespace {

#if defined(REENACT_KERNELS_avx512)
constexpr int kByteVectors = 2;
constexpr int kByteRows = 6;  // 6 x 2 integer sums and as many floats.
#elif defined(REENACT_KERNELS_avx2) || defined(REENACT_KERNELS_neon)
constexpr int kByteVectors = 1;
constexpr int kByteRows = 4;
#else
constexpr int kByteVectors = 1;
constexpr int kByteRows = 2;
#endif
static_assert(kByteRows <= kMaxTileRows);

// Adds to the sums of each row its products of the next four inputs; `x` has the rows' own.
template <int kRows>
REENACT_NUMERICS_FN void AddQuad(const uint8_t* bytes, const int32_t* x,
                                 Ints (*sums)[kByteVectors]) {
  Ints w[kByteVectors];
#pragma GCC unroll 2
  for (int v = 0; v < kByteVectors; ++v) {
    w[v] = LoadBytes(bytes + 64 * v);
    __builtin_prefetch(bytes + 64 * v + kPrefetchBytes);
  }
#pragma GCC unroll 12
  for (int m = 0; m < kRows; ++m) {
    const Ints value = BroadcastBytes(x[m]);
#pragma GCC unroll 2
    for (int v = 0; v < kByteVectors; ++v) sums[m][v] = DotBytes(sums[m][v], w[v], value);
  }
}

// Adds one class of groups to `acc`; `x` and `panel` are left behind it.
template <int kRows>
REENACT_NUMERICS_FN void AddQ8Groups(size_t groups, int first_vector, const int32_t** x_at,
                                     const uint8_t** panel_at, Lanes (*acc)[kByteVectors]) {
  const int32_t* x = *x_at;
  const uint8_t* panel = *panel_at;
  for (size_t group = 0; group < groups; ++group) {
    Ints sums[kRows][kByteVectors];
#pragma GCC unroll 12
    for (int m = 0; m < kRows; ++m) {
#pragma GCC unroll 2
      for (int v = 0; v < kByteVectors; ++v) {
        sums[m][v] = StartSum(x[static_cast<int>(kQ8Quads) * kRows + m]);
      }
    }
    const uint8_t* bytes = panel + 64 * first_vector;
#pragma GCC unroll 8
    for (int quad = 0; quad < static_cast<int>(kQ8Quads); ++quad) {
      AddQuad<kRows>(bytes, x + quad * kRows, sums);
      bytes += 4 * kPanelOutputs;
    }
    const auto* scales = reinterpret_cast<const uint16_t*>(panel + kQ8Group * kPanelOutputs);
    const int32_t* x_scales = x + static_cast<int>(kQ8Quads + 1) * kRows;
#pragma GCC unroll 2
    for (int v = 0; v < kByteVectors; ++v) {
      const Lanes scale = WidenF16(scales + 16 * (first_vector + v));
#pragma GCC unroll 12
      for (int m = 0; m < kRows; ++m) {
        const Lanes x_scale = Broadcast(float_from_bits(static_cast<uint32_t>(x_scales[m])));
        const Lanes sum = ToFloat(sums[m][v]);
        acc[m][v] = Planted(KernelFault::kQ8ScalesApart) ? Fma(Mul(sum, x_scale), scale, acc[m][v])
                                                         : Fma(sum, Mul(x_scale, scale), acc[m][v]);
      }
    }
    x += kQ8PackedWords * kRows;
    panel += kQ8PanelGroupBytes;
  }
  *x_at = x;
  *panel_at = panel;
}

template <int kRows>
__attribute__((noinline)) void MultiplyQ8Vectors(const ProductTile& tile, int first_vector) {
  constexpr int kWidth = 16 * kByteVectors;
  const auto* x = static_cast<const int32_t*>(tile.x);
  const auto* panel = static_cast<const uint8_t*>(tile.panel);
  alignas(64) float stack[3][kRows * kWidth] = {};
  for (int place = 0; place < kQ8Classes; ++place) {
    Lanes acc[kRows][kByteVectors];
    for (int m = 0; m < kRows; ++m) {
      for (int v = 0; v < kByteVectors; ++v) acc[m][v] = Zero();
    }
    const size_t groups = Q8GroupsOfClass(tile.dim / kQ8Group, Q8ClassAt(place));
    AddQ8Groups<kRows>(groups, first_vector, &x, &panel, acc);
    int depth = __builtin_popcount(static_cast<unsigned>(place));
    for (int ones = place; ones & 1; ones >>= 1) {
      --depth;
      for (int m = 0; m < kRows; ++m) {
        for (int v = 0; v < kByteVectors; ++v) {
          acc[m][v] = Add(Load(stack[depth] + m * kWidth + 16 * v), acc[m][v]);
        }
      }
    }
    for (int m = 0; m < kRows; ++m) {
      for (int v = 0; v < kByteVectors; ++v) {
        Store(stack[depth] + m * kWidth + 16 * v, acc[m][v]);
      }
    }
  }
  WriteTile<kRows>(tile, 16 * first_vector, stack[0], kWidth);
}

template <int kRows>
__attribute__((noinline)) void MultiplyW8A8Vectors(const ProductTile& tile, int first_vector) {
  constexpr int kWidth = 16 * kByteVectors;
  const size_t quads = QuadCount(tile.dim);
  const auto* x = static_cast<const int32_t*>(tile.x);
  const int32_t* corrections = x + quads * kRows;
  const int32_t* x_scales = corrections + kRows;
  const auto* bytes = static_cast<const uint8_t*>(tile.panel) + 64 * first_vector;
  Ints sums[kRows][kByteVectors];
#pragma GCC unroll 12
  for (int m = 0; m < kRows; ++m) {
#pragma GCC unroll 2
    for (int v = 0; v < kByteVectors; ++v) sums[m][v] = StartSum(corrections[m]);
  }
  for (size_t quad = 0; quad < quads; ++quad) {
    AddQuad<kRows>(bytes, x, sums);
    bytes += 4 * kPanelOutputs;
    x += kRows;
  }
  alignas(64) float results[kRows * kWidth] = {};
  for (int m = 0; m < kRows; ++m) {
    for (int v = 0; v < kByteVectors; ++v) {
      Store(results + m * kWidth + 16 * v, ToFloat(sums[m][v]));
    }
    const float x_scale = float_from_bits(static_cast<uint32_t>(x_scales[m]));
    for (int n = 0; n < kWidth && 16 * first_vector + n < tile.outputs; ++n) {
      const float scale = tile.row_scales[16 * first_vector + n];
      float* result = results + m * kWidth + n;
      *result = Planted(KernelFault::kW8A8ScalesApart) ? mul_rn(mul_rn(*result, x_scale), scale)
                                                       : mul_rn(*result, mul_rn(x_scale, scale));
    }
  }
  WriteTile<kRows>(tile, 16 * first_vector, results, kWidth);
}

template <bool kIsQ8, int kRows>
void MultiplyByteRows(const ProductTile& tile) {
  if (tile.rows != kRows) {
    if constexpr (kRows > 1) MultiplyByteRows<kIsQ8, kRows - 1>(tile);
    return;
  }
  for (int v = 0; v < kPanelOutputs / 16 && 16 * v < tile.outputs; v += kByteVectors) {
    if (kIsQ8) {
      MultiplyQ8Vectors<kRows>(tile, v);
    } else {
      MultiplyW8A8Vectors<kRows>(tile, v);
    }
  }
}

void MultiplyQ8(const ProductTile& tile) {
  MultiplyByteRows<true, kByteRows>(tile);
}

void MultiplyW8A8(const ProductTile& tile) {
  MultiplyByteRows<false, kByteRows>(tile);
}

// absmax / 127. Bits of magnitudes are ordered as the magnitudes are, and integers have one
// maximum.
float QuantisationScale(const float* x, size_t count) {
  uint32_t largest = 0;
  for (size_t k = 0; k < count; ++k) {
    const uint32_t magnitude = float_bits(x[k]) & 0x7fffffffu;
    largest = magnitude > largest ? magnitude : largest;
  }
  return div_rn(float_from_bits(largest), 127.0f);
}

// Returns the sum of the values.
int32_t QuantiseValues(const float* x, size_t count, float scale, int8_t* values) {
  int32_t sum = 0;
  for (size_t k = 0; k < count; ++k) {
    const float quotient = Planted(KernelFault::kQ8ByReciprocal) ? mul_rn(x[k], div_rn(1.0f, scale))
                                                                 : div_rn(x[k], scale);
    int32_t value = scale == 0.0f ? 0 : round_to_int(quotient);
    value = value < -127 ? -127 : value;
    value = value > 127 ? 127 : value;
    values[k] = static_cast<int8_t>(value);
    sum += value;
  }
  return sum;
}

void Quantise(const float* x, size_t dim, size_t group_size, int8_t* values, float* scales) {
  for (size_t begin = 0; begin < dim; begin += group_size) {
    scales[begin / group_size] = QuantisationScale(x + begin, group_size);
    QuantiseValues(x + begin, group_size, scales[begin / group_size], values + begin);
  }
}

void PackQ8(const ActivationRows& source, int32_t* packed) {
  const auto rows = static_cast<size_t>(source.rows);
  for (int place = 0; place < kQ8Classes; ++place) {
    for (size_t group = static_cast<size_t>(Q8ClassAt(place)); group < source.dim / kQ8Group;
         group += kQ8Classes) {
      for (size_t m = 0; m < rows; ++m) {
        const float* x = source.x + m * source.stride + group * kQ8Group;
        int8_t values[kQ8Group];
        const bool shared = Planted(KernelFault::kQ8ScaleOfTile);
        const float scale = QuantisationScale(shared ? source.x + group * kQ8Group : x, kQ8Group);
        const int32_t sum = QuantiseValues(x, kQ8Group, scale, values);
        for (size_t quad = 0; quad < kQ8Quads; ++quad) {
          std::memcpy(packed + quad * rows + m, values + 4 * quad, 4);
        }
        packed[kQ8Quads * rows + m] = -128 * sum;
        packed[(kQ8Quads + 1) * rows + m] = static_cast<int32_t>(float_bits(scale));
      }
      packed += kQ8PackedWords * rows;
    }
  }
}

void PackW8A8(const ActivationRows& source, int32_t* packed) {
  const auto rows = static_cast<size_t>(source.rows);
  const size_t quads = QuadCount(source.dim);
  for (size_t m = 0; m < rows; ++m) {
    const float* x = source.x + m * source.stride;
    const float scale = QuantisationScale(x, source.dim);
    uint32_t sum = 0;
    for (size_t begin = 0; begin < source.dim; begin += kQ8Group) {
      const size_t rest = source.dim - begin;
      const size_t count = rest < kQ8Group ? rest : kQ8Group;
      int8_t values[kQ8Group] = {};
      sum += static_cast<uint32_t>(QuantiseValues(x + begin, count, scale, values));
      for (size_t quad = 0; 4 * quad < count; ++quad) {
        std::memcpy(packed + (begin / 4 + quad) * rows + m, values + 4 * quad, 4);
      }
    }
    packed[quads * rows + m] = static_cast<int32_t>(sum * static_cast<uint32_t>(-128));
    packed[(quads + 1) * rows + m] = static_cast<int32_t>(float_bits(scale));
  }
}

}  // namespace
}  // namespace reenact::local_engine

#endif  // REENACT_LOCAL_ENGINE_CPU_INTERNAL_QUANTISED_PRODUCT_H_
