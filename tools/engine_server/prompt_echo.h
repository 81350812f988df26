// The prompt of a completion before its text, as `echo` wants it.

#ifndef REENACT_TOOLS_ENGINE_SERVER_PROMPT_ECHO_H_
#define REENACT_TOOLS_ENGINE_SERVER_PROMPT_ECHO_H_

#include "local_engine/engine.h"
#include "nlohmann/json_fwd.hpp"
#include "tools/engine_server/api_request.h"

namespace reenact::engine_server {

// Puts the prompt before `text` and, where there are any, its logprobs before `logprobs`: a prompt
// that was sent as text is that text; one of ids, the bytes of its tokens. The first token has no
// logprob. Tokens that the tokenizer put around a text have a logprob, and no place in the text.
void PutPromptBefore(const ApiRequest& request, const local_engine::Engine& engine,
                     const local_engine::Answer& answer, nlohmann::ordered_json* choice);

}  // namespace reenact::engine_server

#endif  // REENACT_TOOLS_ENGINE_SERVER_PROMPT_ECHO_H_
