// Two runs side by side, aligned by address: within (scope, boundary, name), equal requests first,
// then by position. Pure; recorded text in the result is not yet printable.

#ifndef REENACT_TOOLS_REENACT_RUNS_RUN_DIFF_H_
#define REENACT_TOOLS_REENACT_RUNS_RUN_DIFF_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schema/canonical_json.h"
#include "tools/reenact/runs/run_view.h"

namespace reenact::tools {

enum class DifferenceKind : uint8_t {
  kComponent,  // Another version or content, or only one run has it.
  kInput,
  kOnlyInA,  // An event without a counterpart.
  kOnlyInB,
  kRequest,
  kServedModel,
  kFingerprint,
  kAnswer,    // Text, tool calls or finish reason of a model; the answer of a tool or retrieval.
  kLogprobs,  // The same tokens with other probabilities.
  kEndState,
  kReading,  // Clock, random, env.
  kOutput,
};
std::string_view ToString(DifferenceKind kind);  // "served_model"

// Where the tokens of two answers part. Indexes count from 0.
struct TokenDifference {
  int64_t token_index = 0;
  std::string a;
  std::string b;
  // Nats between the chosen token and the other run's, in each run's own list, where that is known.
  std::optional<double> margin_a;
  std::optional<double> margin_b;
};

struct RunDifference {
  DifferenceKind kind = DifferenceKind::kRequest;
  std::string address;             // "model chat", "prompt_template refund"; empty: the run's own.
  std::optional<int64_t> event_a;  // Index in its run.
  std::optional<int64_t> event_b;
  std::string a;  // The values, where there are no paths.
  std::string b;
  std::vector<schema::JsonDifference> paths;
  std::optional<TokenDifference> token;
};

struct RunDiff {
  // Components and input, then events in the order of A, then the output: first difference first.
  std::vector<RunDifference> differences;
  std::vector<RunDifference> readings;  // Apart: clocks of two runs always differ.
  int64_t pairs = 0;                    // Events compared.
  int64_t equal_pairs = 0;
  bool nothing_to_compare = false;  // Neither run has an event.
};

RunDiff DiffRuns(const RunView& a, const RunView& b);

// The first place where two series part, or nothing where one is a beginning of the other and both
// are as long, or where a series is missing.
std::optional<TokenDifference> FirstTokenDifference(const schema::LogprobSeries& a,
                                                    const schema::LogprobSeries& b);

}  // namespace reenact::tools

#endif  // REENACT_TOOLS_REENACT_RUNS_RUN_DIFF_H_
