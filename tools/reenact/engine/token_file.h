// Tokens to be scored, from a file.

#ifndef REENACT_TOOLS_REENACT_ENGINE_TOKEN_FILE_H_
#define REENACT_TOOLS_REENACT_ENGINE_TOKEN_FILE_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace reenact::tools {

// Tokens behind a prompt, and, where they are known, the bits that their logprobs once had.
struct TokenSample {
  std::vector<int32_t> tokens;
  std::vector<std::string> bits;  // "0xbf317218" of each, or empty.
};

struct TokenFile {
  std::vector<int32_t> prompt;
  std::vector<TokenSample> samples;
  std::string fingerprint;  // Of the engine that the bits come from; empty: there are none.
};

// A list of token ids (the first is the prompt); {"prompt_tokens": [...], "tokens": [...]}; or what
// `engine generate --json` printed. Errors: InvalidArgument.
absl::StatusOr<TokenFile> ReadTokenFile(std::string_view json);

}  // namespace reenact::tools

#endif  // REENACT_TOOLS_REENACT_ENGINE_TOKEN_FILE_H_
