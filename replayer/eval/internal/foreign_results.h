// Results that other tools wrote: promptfoo's JSON, and plain CSV and JSONL.

#ifndef REENACT_REPLAYER_EVAL_INTERNAL_FOREIGN_RESULTS_H_
#define REENACT_REPLAYER_EVAL_INTERNAL_FOREIGN_RESULTS_H_

#include <string_view>

#include "absl/status/statusor.h"

#include "replayer/eval/results.h"

namespace reenact::eval::internal {

// A file with results of several providers or prompts (promptfoo) is refused by name: they are
// different systems. Samples of one case without a repeat are numbered in their order.
// Errors: InvalidArgument.
absl::StatusOr<EvalResults> ReadForeignResults(std::string_view text);

}  // namespace reenact::eval::internal

#endif  // REENACT_REPLAYER_EVAL_INTERNAL_FOREIGN_RESULTS_H_
