// A trainer's logprobs beside those of the sampler: the file that it writes, and what the
// difference comes to.

#ifndef REENACT_TOOLS_REENACT_ENGINE_RL_CHECK_H_
#define REENACT_TOOLS_REENACT_ENGINE_RL_CHECK_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

#include "replayer/analysis/rl_mismatch.h"
#include "tools/reenact/io/json_output.h"

namespace reenact::tools {

// One line of the file.
struct TrainerSequence {
  std::vector<int32_t> prompt;
  std::vector<int32_t> tokens;
  std::vector<double> logprobs;  // Of `tokens`, nats.
  std::vector<bool> mask;        // Empty: all count.
};

// Lines of {"prompt_tokens": [...], "tokens": [...], "logprobs": [...], "mask": [...]}, the mask of
// true and false or 1 and 0, and optional; empty lines count for nothing. -Infinity and NaN are
// read. Errors: InvalidArgument with the line's number.
absl::StatusOr<std::vector<TrainerSequence>> ReadTrainerFile(std::string_view text);

// Both are compared as binary32, in which engines and trainers compute: digits beyond it are none.
analysis::ScoredSequence ToScored(const std::vector<float>& rollout,
                                  const TrainerSequence& trainer);

std::string RenderMismatch(const analysis::Mismatch& mismatch);
void WriteMismatch(const analysis::Mismatch& mismatch, JsonWriter* json);

// 0 up to the level "healthy", 1 beyond, 3 where nothing was compared.
int ExitCodeOf(const analysis::Mismatch& mismatch);

}  // namespace reenact::tools

#endif  // REENACT_TOOLS_REENACT_ENGINE_RL_CHECK_H_
