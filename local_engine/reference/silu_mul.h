// The gate of the feed-forward layer. Source: Shazeer, "GLU variants improve transformer", 2020.

#ifndef REENACT_LOCAL_ENGINE_REFERENCE_SILU_MUL_H_
#define REENACT_LOCAL_ENGINE_REFERENCE_SILU_MUL_H_

#include <span>

namespace reenact::local_engine {

// out[k] = (gate[k] / (1 + Exp(-gate[k]))) up[k], each operation rounded. A gate below -88.7 gives
// a zero. Shapes: all [K]; out may be gate or up.
void SiluMul(std::span<const float> gate, std::span<const float> up, std::span<float> out);

}  // namespace reenact::local_engine

#endif  // REENACT_LOCAL_ENGINE_REFERENCE_SILU_MUL_H_
