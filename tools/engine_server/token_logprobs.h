// Logprobs of tokens in the two shapes that OpenAI's API has for them.

#ifndef REENACT_TOOLS_ENGINE_SERVER_TOKEN_LOGPROBS_H_
#define REENACT_TOOLS_ENGINE_SERVER_TOKEN_LOGPROBS_H_

#include <cstdint>
#include <string>

#include "local_engine/engine.h"
#include "nlohmann/json_fwd.hpp"

namespace reenact::engine_server {

// {"token", "logprob", "bytes", "top_logprobs"}: an entry of a chat's logprobs.content.
nlohmann::ordered_json ChatLogprob(const local_engine::Engine& engine,
                                   const local_engine::TokenScore& score);

// {"tokens", "token_logprobs", "top_logprobs", "text_offset"} of a completion, empty lists.
nlohmann::ordered_json EmptyCompletionLogprobs();

int64_t CharacterCount(const std::string& text);

// Appends to {"tokens", "token_logprobs", "top_logprobs", "text_offset"} of a completion;
// `*offset` counts the characters so far.
void AddCompletionLogprob(const local_engine::Engine& engine, const local_engine::TokenScore& score,
                          int64_t* offset, nlohmann::ordered_json* logprobs);

}  // namespace reenact::engine_server

#endif  // REENACT_TOOLS_ENGINE_SERVER_TOKEN_LOGPROBS_H_
