// Sixteen binary32 lanes with one meaning and an implementation per instruction set: every lane is
// the rounded operation of numerics/operations.h, so one kernel text gives the same bits
// everywhere. Each implementation defines, in an unnamed namespace:
//
//   Lanes                        16 floats
//   Zero, Broadcast, Load, Store
//   Fma(a, b, c), Add, Mul       lane by lane, rounded once
//   Max(a, b)                    a > b ? a : b
//   Halve16(a)                   the halving tree 8, 4, 2, 1 over the lanes
//   WidenF16(p), WidenBf16(p)    16 narrow floats, exactly
//   WidenPairs(p, even, odd)     32 bf16: those with even and those with odd index
//   Deinterleave(a, b, even, odd)  the same for 32 floats
//   Ints                           16 integers of 32 bits, or 64 bytes
//   DotBytes(sum, w, x)            sum + the four products of a lane's bytes; w is biased by 128
//   StartSum, LoadBytes, BroadcastBytes, ToFloat

#ifndef REENACT_LOCAL_ENGINE_CPU_INTERNAL_LANES_H_
#define REENACT_LOCAL_ENGINE_CPU_INTERNAL_LANES_H_

#if defined(REENACT_KERNELS_avx512)
#include "local_engine/cpu/internal/lanes_avx512.h"
#elif defined(REENACT_KERNELS_avx2)
#include "local_engine/cpu/internal/lanes_avx2.h"
#elif defined(REENACT_KERNELS_neon)
#include "local_engine/cpu/internal/lanes_neon.h"
#else
#include "local_engine/cpu/internal/lanes_plain.h"
#endif

#endif  // REENACT_LOCAL_ENGINE_CPU_INTERNAL_LANES_H_
