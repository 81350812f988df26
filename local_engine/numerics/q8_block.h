// The unit of Q8_0 weights, as GGUF stores them: 32 signed bytes under one binary16 scale.

#ifndef REENACT_LOCAL_ENGINE_NUMERICS_Q8_BLOCK_H_
#define REENACT_LOCAL_ENGINE_NUMERICS_Q8_BLOCK_H_

#include <cstddef>
#include <cstdint>

namespace reenact::local_engine {

inline constexpr int kQ8GroupSize = 32;

struct Q8Block {
  uint16_t scale_fp16;
  int8_t values[kQ8GroupSize];
};

static_assert(sizeof(Q8Block) == 34 && alignof(Q8Block) == 2);

}  // namespace reenact::local_engine

#endif  // REENACT_LOCAL_ENGINE_NUMERICS_Q8_BLOCK_H_
