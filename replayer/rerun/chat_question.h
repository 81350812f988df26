// Questions of our own, which no run has recorded: the cases of evals, the probes of drift. In the
// dialect that nearly every target speaks, OpenAI's chat completions.

#ifndef REENACT_REPLAYER_RERUN_CHAT_QUESTION_H_
#define REENACT_REPLAYER_RERUN_CHAT_QUESTION_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "replayer/rerun/question.h"

namespace reenact::rerun {

// What is absent is left out of the request.
struct ChatSettings {
  std::string model;
  std::optional<int64_t> max_tokens;
  std::optional<double> temperature;
  std::optional<int64_t> seed;
  int64_t top_logprobs = 0;  // Alternatives beside each token; 0: no logprobs are asked for.
};

// `messages`: a JSON list, as the chat API takes it. Bits: equal arguments give equal bytes.
Question ChatQuestion(std::string_view messages, const ChatSettings& settings);

}  // namespace reenact::rerun

#endif  // REENACT_REPLAYER_RERUN_CHAT_QUESTION_H_
