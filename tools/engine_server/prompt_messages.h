// Messages and tools of a chat request on their way into the model's template.

#ifndef REENACT_TOOLS_ENGINE_SERVER_PROMPT_MESSAGES_H_
#define REENACT_TOOLS_ENGINE_SERVER_PROMPT_MESSAGES_H_

#include "tools/engine_server/api_request.h"
#include "tools/engine_server/request_fields.h"

namespace reenact::engine_server {

// Reads `messages` into messages_json, and `tools` with `tool_choice` and `parallel_tool_calls`
// into tools_json, tool_names and, where a call is forced, `form`. Errors are kept in `fields`.
void ReadMessages(RequestFields* fields, ApiRequest* request);
void ReadTools(RequestFields* fields, ApiRequest* request);

}  // namespace reenact::engine_server

#endif  // REENACT_TOOLS_ENGINE_SERVER_PROMPT_MESSAGES_H_
