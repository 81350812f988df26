// A request of OpenAI's API as what the engine is asked for.
//
// Understood are the fields of chat completions and completions that mean something to a text
// model, and those of vLLM that have no other name: top_k, min_p, repetition_penalty, ignore_eos,
// stop_token_ids, chat_template_kwargs, return_token_ids. What would change an answer and is not
// supported is refused by name, and so is a field that nobody knows.
//
// Messages reach the template as they were sent, but for this: text parts are joined by line feeds,
// a content that is missing or null is empty, arguments of tool calls are objects where they are
// JSON, and the role `developer` is `system`.

#ifndef REENACT_TOOLS_ENGINE_SERVER_API_REQUEST_H_
#define REENACT_TOOLS_ENGINE_SERVER_API_REQUEST_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "local_engine/engine.h"
#include "tools/engine_server/api_error.h"
#include "tools/engine_server/output_form.h"

namespace reenact::engine_server {

enum class Endpoint { kChat, kCompletions };

struct ApiRequest {
  Endpoint endpoint = Endpoint::kChat;
  std::string model;
  // The prompt of a chat, for its template; those empty that were not given.
  std::string messages_json;
  std::string tools_json;
  std::string template_variables_json;
  // The prompt of a completion: text, or ids in engine_request.prompt.
  std::optional<std::string> prompt_text;
  // All but the prompt and the grammar of `form`.
  local_engine::Request engine_request;
  bool all_that_fits = false;  // No max_tokens was given.
  OutputForm form;
  bool echo = false;  // The prompt goes before the text of a completion.
  bool stream = false;
  bool include_usage = false;
  bool return_token_ids = false;
  // Of the tools that the model may call; empty: its text is not looked at for calls.
  std::vector<std::string> tool_names;
  bool parallel_tool_calls = true;
};

// Reads the body of a request. Returns the error, or nothing.
std::optional<ApiError> ReadRequest(Endpoint endpoint, std::string_view body, ApiRequest* request);

}  // namespace reenact::engine_server

#endif  // REENACT_TOOLS_ENGINE_SERVER_API_REQUEST_H_
