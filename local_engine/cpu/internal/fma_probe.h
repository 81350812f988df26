// The machine's peak, for benchmarks: independent chains of fused multiply-adds in registers.

#ifndef REENACT_LOCAL_ENGINE_CPU_INTERNAL_FMA_PROBE_H_
#define REENACT_LOCAL_ENGINE_CPU_INTERNAL_FMA_PROBE_H_

#include <cstddef>

#include "local_engine/cpu/internal/lanes.h"

namespace reenact::local_engine {
namespace {

#if defined(REENACT_KERNELS_avx512)
constexpr int kProbeChains = 16;
#elif defined(REENACT_KERNELS_plain)
constexpr int kProbeChains = 1;
#else
constexpr int kProbeChains = 6;
#endif
constexpr size_t kProbeFlops = size_t{kProbeChains} * 16 * 2;  // Of one iteration.

// The result keeps a compiler from leaving the work out.
float FmaProbe(size_t iterations) {
  Lanes chains[kProbeChains];
  for (int i = 0; i < kProbeChains; ++i) chains[i] = Broadcast(static_cast<float>(i));
  const Lanes factor = Broadcast(0.5f);
  for (size_t n = 0; n < iterations; ++n) {
#pragma GCC unroll 16
    for (int i = 0; i < kProbeChains; ++i) chains[i] = Fma(chains[i], factor, factor);
  }
  for (int i = 1; i < kProbeChains; ++i) chains[0] = Add(chains[0], chains[i]);
  return Halve16(chains[0]);
}

}  // namespace
}  // namespace reenact::local_engine

#endif  // REENACT_LOCAL_ENGINE_CPU_INTERNAL_FMA_PROBE_H_
