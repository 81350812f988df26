// The product over K that every projection is made of: the order "P32".

#ifndef REENACT_LOCAL_ENGINE_REFERENCE_DOT_H_
#define REENACT_LOCAL_ENGINE_REFERENCE_DOT_H_

#include <span>

namespace reenact::local_engine {

// sum over k of x[k] w[k].
//
// 32 accumulators start at +0. Accumulator l owns the k with (k / 2) mod 32 = l and is one fma
// chain in increasing k; then the halving tree 16, 8, 4, 2, 1. K is padded to a multiple of 64, and
// a padded k executes fma(+0, +0, acc), which only turns an accumulator of -0 into +0.
//
// The order mentions no rows, columns, tiles or threads: one row alone and a row of any batch are
// the same expression. Weights of F16 and BF16 are widened first, which is exact.
//
// Shapes: x [K], w [K], K >= 1.
float Dot(std::span<const float> x, std::span<const float> w);

}  // namespace reenact::local_engine

#endif  // REENACT_LOCAL_ENGINE_REFERENCE_DOT_H_
