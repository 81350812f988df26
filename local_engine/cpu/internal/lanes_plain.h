// Lanes as an array, for any processor.

#ifndef REENACT_LOCAL_ENGINE_CPU_INTERNAL_LANES_PLAIN_H_
#define REENACT_LOCAL_ENGINE_CPU_INTERNAL_LANES_PLAIN_H_

#include <cstdint>
#include <cstring>

#include "local_engine/cpu/internal/planted_kernel_fault.h"
#include "local_engine/numerics/narrow_floats.h"
#include "local_engine/numerics/operations.h"

namespace reenact::local_engine {
namespace {

struct Lanes {
  float lane[16];
};

REENACT_NUMERICS_FN Lanes Broadcast(float a) {
  Lanes r;
  for (float& lane : r.lane) lane = a;
  return r;
}

REENACT_NUMERICS_FN Lanes Zero() {
  return Broadcast(0.0f);
}

REENACT_NUMERICS_FN Lanes Load(const float* p) {
  Lanes r;
  for (int i = 0; i < 16; ++i) r.lane[i] = p[i];
  return r;
}

REENACT_NUMERICS_FN void Store(float* p, const Lanes& a) {
  for (int i = 0; i < 16; ++i) p[i] = a.lane[i];
}

REENACT_NUMERICS_FN Lanes Fma(const Lanes& a, const Lanes& b, const Lanes& c) {
  Lanes r;
  for (int i = 0; i < 16; ++i) r.lane[i] = fma_rn(a.lane[i], b.lane[i], c.lane[i]);
  return r;
}

REENACT_NUMERICS_FN Lanes Add(const Lanes& a, const Lanes& b) {
  Lanes r;
  for (int i = 0; i < 16; ++i) r.lane[i] = add_rn(a.lane[i], b.lane[i]);
  return r;
}

REENACT_NUMERICS_FN Lanes Mul(const Lanes& a, const Lanes& b) {
  Lanes r;
  for (int i = 0; i < 16; ++i) r.lane[i] = mul_rn(a.lane[i], b.lane[i]);
  return r;
}

REENACT_NUMERICS_FN Lanes Max(const Lanes& a, const Lanes& b) {
  Lanes r;
  for (int i = 0; i < 16; ++i) r.lane[i] = max_select(a.lane[i], b.lane[i]);
  return r;
}

REENACT_NUMERICS_FN float Halve16(Lanes a) {
  for (int off = 8; off >= 1; off /= 2) {
    for (int i = 0; i < off; ++i) a.lane[i] = add_rn(a.lane[i], a.lane[i + off]);
  }
  return a.lane[0];
}

REENACT_NUMERICS_FN Lanes WidenF16(const uint16_t* p) {
  Lanes r;
  for (int i = 0; i < 16; ++i) {
    const bool flushed = Planted(KernelFault::kF16Flushes) && (p[i] & 0x7c00u) == 0;
    r.lane[i] = flushed ? 0.0f : widen_fp16(p[i]);
  }
  return r;
}

REENACT_NUMERICS_FN Lanes WidenBf16(const uint16_t* p) {
  Lanes r;
  for (int i = 0; i < 16; ++i) r.lane[i] = widen_bf16(p[i]);
  return r;
}

REENACT_NUMERICS_FN void WidenPairs(const uint16_t* p, Lanes* even, Lanes* odd) {
  for (int i = 0; i < 16; ++i) {
    even->lane[i] = widen_bf16(p[2 * i]);
    odd->lane[i] = widen_bf16(p[2 * i + 1]);
  }
}

REENACT_NUMERICS_FN void Deinterleave(const Lanes& a, const Lanes& b, Lanes* even, Lanes* odd) {
  for (int i = 0; i < 8; ++i) {
    even->lane[i] = a.lane[2 * i];
    odd->lane[i] = a.lane[2 * i + 1];
    even->lane[i + 8] = b.lane[2 * i];
    odd->lane[i + 8] = b.lane[2 * i + 1];
  }
}

struct Ints {
  uint32_t lane[16];  // Two's complement: the sum of a long row may pass 2^31 on its way.
};

// Where a sum of DotBytes starts: `correction` takes back what the bias of the weights adds.
REENACT_NUMERICS_FN Ints StartSum(int32_t correction) {
  Ints r;
  for (uint32_t& lane : r.lane) lane = static_cast<uint32_t>(correction);
  return r;
}

REENACT_NUMERICS_FN Ints LoadBytes(const uint8_t* p) {
  Ints r;
  std::memcpy(&r, p, sizeof(r));
  return r;
}

REENACT_NUMERICS_FN Ints BroadcastBytes(int32_t four) {
  return StartSum(four);
}

REENACT_NUMERICS_FN Ints DotBytes(const Ints& sum, const Ints& w, const Ints& x) {
  Ints r;
  for (int i = 0; i < 16; ++i) {
    int32_t of_four = 0;
    for (int byte = 0; byte < 4; ++byte) {
      of_four += static_cast<int32_t>((w.lane[i] >> (8 * byte)) & 0xffu) *
                 int32_t{static_cast<int8_t>(x.lane[i] >> (8 * byte))};
      if (byte == 1 && Planted(KernelFault::kQ8PairsSaturate)) {
        of_four = of_four > 32767 ? 32767 : (of_four < -32768 ? -32768 : of_four);
      }
    }
    r.lane[i] = sum.lane[i] + static_cast<uint32_t>(of_four);
  }
  return r;
}

REENACT_NUMERICS_FN Lanes ToFloat(const Ints& a) {
  Lanes r;
  for (int i = 0; i < 16; ++i) r.lane[i] = static_cast<float>(static_cast<int32_t>(a.lane[i]));
  return r;
}

}  // namespace
}  // namespace reenact::local_engine

#endif  // REENACT_LOCAL_ENGINE_CPU_INTERNAL_LANES_PLAIN_H_
