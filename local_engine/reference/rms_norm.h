// Root-mean-square normalisation. Source: Zhang and Sennrich, 2019.

#ifndef REENACT_LOCAL_ENGINE_REFERENCE_RMS_NORM_H_
#define REENACT_LOCAL_ENGINE_REFERENCE_RMS_NORM_H_

#include <span>

namespace reenact::local_engine {

// y[k] = (x[k] inv) weight[k], inv = 1 / sqrt(sum(x^2) / K + epsilon).
//
// The sum: 256 classes, class k mod 256, each an fma chain in increasing k from +0; then the
// halving tree 128 ... 1 over the classes that own a k. Every other operation is rounded as
// written.
//
// Shapes: x, weight, y [K], K >= 1. y may be x.
void RmsNorm(std::span<const float> x, std::span<const float> weight, float epsilon,
             std::span<float> y);

}  // namespace reenact::local_engine

#endif  // REENACT_LOCAL_ENGINE_REFERENCE_RMS_NORM_H_
