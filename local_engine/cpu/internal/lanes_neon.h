// Lanes on NEON: four registers.

#ifndef REENACT_LOCAL_ENGINE_CPU_INTERNAL_LANES_NEON_H_
#define REENACT_LOCAL_ENGINE_CPU_INTERNAL_LANES_NEON_H_

#include <arm_neon.h>

#include <cstdint>

#include "local_engine/numerics/operations.h"

namespace reenact::local_engine {
namespace {

struct Lanes {
  float32x4_t quarter[4];
};

REENACT_NUMERICS_FN Lanes Broadcast(float a) {
  const float32x4_t all = vdupq_n_f32(a);
  return {{all, all, all, all}};
}

REENACT_NUMERICS_FN Lanes Zero() {
  return Broadcast(0.0f);
}

REENACT_NUMERICS_FN Lanes Load(const float* p) {
  return {{vld1q_f32(p), vld1q_f32(p + 4), vld1q_f32(p + 8), vld1q_f32(p + 12)}};
}

REENACT_NUMERICS_FN void Store(float* p, Lanes a) {
  for (int i = 0; i < 4; ++i) vst1q_f32(p + 4 * i, a.quarter[i]);
}

REENACT_NUMERICS_FN Lanes Fma(Lanes a, Lanes b, Lanes c) {
  Lanes r;
  for (int i = 0; i < 4; ++i) r.quarter[i] = vfmaq_f32(c.quarter[i], a.quarter[i], b.quarter[i]);
  return r;
}

REENACT_NUMERICS_FN Lanes Add(Lanes a, Lanes b) {
  Lanes r;
  for (int i = 0; i < 4; ++i) r.quarter[i] = vaddq_f32(a.quarter[i], b.quarter[i]);
  return r;
}

REENACT_NUMERICS_FN Lanes Mul(Lanes a, Lanes b) {
  Lanes r;
  for (int i = 0; i < 4; ++i) r.quarter[i] = vmulq_f32(a.quarter[i], b.quarter[i]);
  return r;
}

// Not vmaxq, which has its own opinion on signed zeros and NaN.
REENACT_NUMERICS_FN Lanes Max(Lanes a, Lanes b) {
  Lanes r;
  for (int i = 0; i < 4; ++i) {
    r.quarter[i] = vbslq_f32(vcgtq_f32(a.quarter[i], b.quarter[i]), a.quarter[i], b.quarter[i]);
  }
  return r;
}

REENACT_NUMERICS_FN float Halve16(Lanes a) {
  const float32x4_t of8_low = vaddq_f32(a.quarter[0], a.quarter[2]);
  const float32x4_t of8_high = vaddq_f32(a.quarter[1], a.quarter[3]);
  const float32x4_t of4 = vaddq_f32(of8_low, of8_high);
  const float32x2_t of2 = vadd_f32(vget_low_f32(of4), vget_high_f32(of4));
  return add_rn(vget_lane_f32(of2, 0), vget_lane_f32(of2, 1));
}

REENACT_NUMERICS_FN Lanes WidenF16(const uint16_t* p) {
  Lanes r;
  for (int i = 0; i < 4; ++i) {
    r.quarter[i] = vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(p + 4 * i)));
  }
  return r;
}

REENACT_NUMERICS_FN Lanes WidenBf16(const uint16_t* p) {
  Lanes r;
  for (int i = 0; i < 4; ++i) {
    r.quarter[i] = vreinterpretq_f32_u32(vshll_n_u16(vld1_u16(p + 4 * i), 16));
  }
  return r;
}

REENACT_NUMERICS_FN void WidenPairs(const uint16_t* p, Lanes* even, Lanes* odd) {
  for (int i = 0; i < 4; ++i) {
    const uint32x4_t pairs = vreinterpretq_u32_u16(vld1q_u16(p + 8 * i));
    even->quarter[i] = vreinterpretq_f32_u32(vshlq_n_u32(pairs, 16));
    odd->quarter[i] = vreinterpretq_f32_u32(vandq_u32(pairs, vdupq_n_u32(0xffff0000u)));
  }
}

REENACT_NUMERICS_FN void Deinterleave(Lanes a, Lanes b, Lanes* even, Lanes* odd) {
  for (int i = 0; i < 2; ++i) {
    even->quarter[i] = vuzp1q_f32(a.quarter[2 * i], a.quarter[2 * i + 1]);
    odd->quarter[i] = vuzp2q_f32(a.quarter[2 * i], a.quarter[2 * i + 1]);
    even->quarter[i + 2] = vuzp1q_f32(b.quarter[2 * i], b.quarter[2 * i + 1]);
    odd->quarter[i + 2] = vuzp2q_f32(b.quarter[2 * i], b.quarter[2 * i + 1]);
  }
}

struct Ints {
  int32x4_t quarter[4];
};

// DotBytes takes the bias off the weights itself: no correction is due.
REENACT_NUMERICS_FN Ints StartSum(int32_t) {
  const int32x4_t zero = vdupq_n_s32(0);
  return {{zero, zero, zero, zero}};
}

REENACT_NUMERICS_FN Ints LoadBytes(const uint8_t* p) {
  Ints r;
  for (int i = 0; i < 4; ++i) {
    r.quarter[i] = vreinterpretq_s32_u8(veorq_u8(vld1q_u8(p + 16 * i), vdupq_n_u8(0x80)));
  }
  return r;
}

REENACT_NUMERICS_FN Ints BroadcastBytes(int32_t four) {
  const int32x4_t all = vdupq_n_s32(four);
  return {{all, all, all, all}};
}

REENACT_NUMERICS_FN Ints DotBytes(Ints sum, Ints w, Ints x) {
  for (int i = 0; i < 4; ++i) {
    const int8x16_t a = vreinterpretq_s8_s32(w.quarter[i]);
    const int8x16_t b = vreinterpretq_s8_s32(x.quarter[i]);
    const int32x4_t low = vpaddlq_s16(vmull_s8(vget_low_s8(a), vget_low_s8(b)));
    const int32x4_t high = vpaddlq_s16(vmull_s8(vget_high_s8(a), vget_high_s8(b)));
    sum.quarter[i] = vaddq_s32(sum.quarter[i], vpaddq_s32(low, high));
  }
  return sum;
}

REENACT_NUMERICS_FN Lanes ToFloat(Ints a) {
  Lanes r;
  for (int i = 0; i < 4; ++i) r.quarter[i] = vcvtq_f32_s32(a.quarter[i]);
  return r;
}

}  // namespace
}  // namespace reenact::local_engine

#endif  // REENACT_LOCAL_ENGINE_CPU_INTERNAL_LANES_NEON_H_
