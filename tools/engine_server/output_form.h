// What an answer is held to: JSON that response_format asked for, or a call that tool_choice did.

#ifndef REENACT_TOOLS_ENGINE_SERVER_OUTPUT_FORM_H_
#define REENACT_TOOLS_ENGINE_SERVER_OUTPUT_FORM_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "local_engine/grammar/grammar.h"
#include "tools/engine_server/api_error.h"

namespace reenact::engine_server {

// A tool that has to be called, or one of several.
struct ForcedTool {
  std::string name;
  std::string parameters;  // The JSON Schema of a strict tool; empty: any object.
};

struct OutputForm {
  enum class Kind { kFree, kJsonObject, kJsonSchema, kToolCall } kind = Kind::kFree;
  std::string json_schema;
  std::vector<ForcedTool> tools;
};

// The grammar of a form that is not free. A forced call is one call, in the form in which the
// model's `chat_template` writes calls; tool_call_text.h reads it. Returns the error: a schema that
// is not supported, a template without calls.
std::optional<ApiError> MakeGrammar(const OutputForm& form, std::string_view chat_template,
                                    local_engine::Grammar* grammar);

}  // namespace reenact::engine_server

#endif  // REENACT_TOOLS_ENGINE_SERVER_OUTPUT_FORM_H_
