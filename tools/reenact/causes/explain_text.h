// An explanation for a reader, and as JSON.

#ifndef REENACT_TOOLS_REENACT_CAUSES_EXPLAIN_TEXT_H_
#define REENACT_TOOLS_REENACT_CAUSES_EXPLAIN_TEXT_H_

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "replayer/explain/explanation.h"
#include "replayer/explain/variable.h"
#include "schema/record.h"
#include "tools/reenact/causes/explain_epochs.h"
#include "tools/reenact/io/json_output.h"
#include "tools/reenact/io/terminal_text.h"

namespace reenact::tools {

// What was explained, and what came of it.
struct ExplainedRuns {
  std::string incident;  // Ids.
  std::string reference;
  std::optional<explain::DecisiveCalls> calls;  // Nothing: both did the same.
  std::string incident_action;
  std::string reference_action;
  std::string judged_by;  // "next tool and its arguments, or the answer"; or the command.
  std::vector<explain::Variable> variables;
  explain::RecordEvidence record;
  std::optional<EpochDifference> epochs;  // Of the endpoint that both asked.
  explain::Explanation explanation;
};

// Each difference, and what came of trying it.
struct ExperimentTable {
  std::vector<std::string> titles;
  std::vector<std::vector<std::string>> rows;
  std::vector<size_t> flips;  // Rows.
};

ExperimentTable ExperimentsOf(const ExplainedRuns& runs);

// Sentence, runs, arms, table and evidence. What it cost is the caller's.
std::string RenderExplanation(const ExplainedRuns& runs, const Style& style);

// The fields "verdict" to "record" of a document that is open.
void WriteExplanation(const ExplainedRuns& runs, JsonWriter* json);

}  // namespace reenact::tools

#endif  // REENACT_TOOLS_REENACT_CAUSES_EXPLAIN_TEXT_H_
