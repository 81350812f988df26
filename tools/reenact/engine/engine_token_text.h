// A token with its log-probability, for programs and for people.

#ifndef REENACT_TOOLS_REENACT_ENGINE_ENGINE_TOKEN_TEXT_H_
#define REENACT_TOOLS_REENACT_ENGINE_ENGINE_TOKEN_TEXT_H_

#include <string>
#include <vector>

#include "local_engine/engine.h"
#include "tools/reenact/io/json_output.h"
#include "tools/reenact/io/terminal_text.h"

namespace reenact::tools {

// "0xbf317218": the binary32 itself, of which a decimal is a rendering.
std::string BitsText(float value);

// {"token", "text", "logprob", "bits"} of the chosen token, and "top" with the same of the most
// probable ones.
void WriteTokenScore(const local_engine::Engine& engine, const local_engine::TokenScore& score,
                     JsonWriter* json);

// A line for each token: place, id, text, logprob, bits and what else was likely.
std::string RenderTokenScores(const local_engine::Engine& engine,
                              const std::vector<local_engine::TokenScore>& scores,
                              const Style& style);

}  // namespace reenact::tools

#endif  // REENACT_TOOLS_REENACT_ENGINE_ENGINE_TOKEN_TEXT_H_
