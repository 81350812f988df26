// A request of OpenAI's API made ready for an engine: what the server does with a body from the
// wire, and a rerun with one from the record.

#ifndef REENACT_TOOLS_ENGINE_SERVER_PREPARE_PROMPT_H_
#define REENACT_TOOLS_ENGINE_SERVER_PREPARE_PROMPT_H_

#include <optional>

#include "local_engine/engine.h"
#include "tools/engine_server/api_error.h"
#include "tools/engine_server/api_request.h"

namespace reenact::engine_server {

// Fills what depends on the model: the prompt by its chat template or tokenizer, max_tokens where
// all that fits was asked for, the grammar of a form. Returns the error, or nothing.
std::optional<ApiError> PreparePrompt(const local_engine::Engine& engine, ApiRequest* request);

}  // namespace reenact::engine_server

#endif  // REENACT_TOOLS_ENGINE_SERVER_PREPARE_PROMPT_H_
