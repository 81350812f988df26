// Products of quantised weights with activations that are quantised per token: Q8_0 (a scale per
// group of 32) and W8A8 (a scale per token and one per channel). Never a scale per batch: a row's
// result depends on that row alone.

#ifndef REENACT_LOCAL_ENGINE_REFERENCE_QUANTISED_DOT_H_
#define REENACT_LOCAL_ENGINE_REFERENCE_QUANTISED_DOT_H_

#include <cstdint>
#include <span>
#include <vector>

#include "local_engine/numerics/q8_block.h"

namespace reenact::local_engine {

// Integers and the scales of their groups: x[k] is about scale[k / group] values[k].
struct QuantisedRow {
  std::vector<int8_t> values;  // [K], -127 ... 127
  std::vector<float> scales;   // [K / group]
};

// Per group of `group_size`: scale = absmax / 127; value = x / scale to nearest even, clamped to
// +-127 (which only a subnormal scale can need), all 0 where the scale is 0. Both divisions are
// IEEE. x is finite; K is a multiple of group_size. Q8_0: group_size 32; W8A8: K.
QuantisedRow QuantiseRow(std::span<const float> x, size_t group_size);

// Q8_0. Per group: the exact int32 sum of products, then fma(float(sum), s_x s_w, acc) into class
// group mod 4, an fma chain from +0 in increasing group; result (a0 + a2) + (a1 + a3). The order of
// the integer sums is free: VNNI, dp4a and int8 tensor cores give the same.
// Shapes: x K values, w K / 32 blocks.
float DotQ8(const QuantisedRow& x, std::span<const Q8Block> w);

// W8A8: float(exact int32 sum) (s_x s_w). Order-free but for that epilogue. K <= 131072.
// Shapes: x K values and one scale, w [K].
float DotW8A8(const QuantisedRow& x, std::span<const int8_t> w, float weight_scale);

}  // namespace reenact::local_engine

#endif  // REENACT_LOCAL_ENGINE_REFERENCE_QUANTISED_DOT_H_
