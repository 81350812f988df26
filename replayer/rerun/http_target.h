// A target behind HTTP: hosted APIs, vLLM, SGLang, llama.cpp and Ollama servers, our own
// `engine serve`. OpenAI's chat completions, completions and responses, and Anthropic's messages.
//
// Keys are given by the caller, sent to this target alone, and found in no sample. Redirects are
// not followed: they would carry a key to somewhere else.

#ifndef REENACT_REPLAYER_RERUN_HTTP_TARGET_H_
#define REENACT_REPLAYER_RERUN_HTTP_TARGET_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"

#include "replayer/rerun/target.h"

namespace reenact::rerun {

struct HttpTargetOptions {
  // "http://127.0.0.1:8000/v1", "https://api.openai.com/v1", "https://api.anthropic.com".
  // The path of the dialect goes behind it; "/v1" may be there or not.
  std::string base_url;
  std::string label = "url";     // Before the URL in its name: "api".
  std::string key;               // Empty: none is sent.
  int64_t timeout_ms = 600'000;  // Of one attempt.
  int64_t connect_timeout_ms = 10'000;
  int max_attempts = 4;              // Of one question.
  int64_t longest_wait_ms = 60'000;  // Before a retry; a target that asks for more is given up.
  size_t largest_answer_bytes = size_t{64} << 20;
  // Waits; false: it was interrupted. Empty: the real clock, and `interrupted` is asked meanwhile.
  std::function<bool(int64_t wait_ms)> wait;
  // Asked now and then from the threads that ask: true ends what is under way.
  std::function<bool()> interrupted;
};

// `ledger` outlives it. Retried are 408, 409, 429, 5xx and connections that broke before an answer
// began, with the wait that the target named (Retry-After, retry-after-ms), else 0.5 s doubled each
// time; never an answer that began. Errors: InvalidArgument for a URL that is none, or with
// credentials in it.
absl::StatusOr<std::unique_ptr<Target>> MakeHttpTarget(const HttpTargetOptions& options,
                                                       Ledger* ledger);

}  // namespace reenact::rerun

#endif  // REENACT_REPLAYER_RERUN_HTTP_TARGET_H_
