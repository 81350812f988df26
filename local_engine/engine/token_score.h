// The score of one token from a row of raw logits.

#ifndef REENACT_LOCAL_ENGINE_ENGINE_TOKEN_SCORE_H_
#define REENACT_LOCAL_ENGINE_ENGINE_TOKEN_SCORE_H_

#include <cstdint>
#include <span>

#include "local_engine/engine.h"

namespace reenact::local_engine {

// `top_count` of the most probable tokens, equal ones by id, beside `token` itself.
TokenScore ScoreOf(std::span<const float> logits, int32_t token, int32_t top_count);

}  // namespace reenact::local_engine

#endif  // REENACT_LOCAL_ENGINE_ENGINE_TOKEN_SCORE_H_
