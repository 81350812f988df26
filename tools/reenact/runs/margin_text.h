// How close an answer's decisions were, from its recorded logprobs alone: when no model can be
// asked, this is all the evidence that there is.

#ifndef REENACT_TOOLS_REENACT_RUNS_MARGIN_TEXT_H_
#define REENACT_TOOLS_REENACT_RUNS_MARGIN_TEXT_H_

#include <cstdint>
#include <optional>
#include <string>

#include "replayer/analysis/near_tie.h"
#include "schema/logprob.h"
#include "tools/reenact/io/json_output.h"

namespace reenact::tools {

struct MarginSummary {
  int64_t tokens = 0;
  int64_t known = 0;            // Of them the margin is known.
  analysis::SequenceRisk risk;  // Of the known margins, in the order of tokens.
  int64_t least_token = -1;     // The token with the least known margin.
  // Only the chosen token is known, but it holds more than half of the mass: the margin is at least
  // so much. Of all such tokens the least.
  int64_t bounded = 0;
  std::optional<double> least_bound;
  int64_t censored = 0;  // Chosen tokens outside the top list, or with a sentinel for a logprob.
  // Places whose list leaves more than 1 % of the mass outside: what stands there is not known.
  int64_t heavy_tails = 0;
};

// Nothing: no token's logprob is known, or they do not belong to the tokens.
std::optional<MarginSummary> SummariseMargins(const schema::LogprobSeries& series);

// "margins of 21 of 23 tokens, the least 0.02 nats at token 7; 1 more is at least 2.2"
std::string RenderMargins(const MarginSummary& summary);
void WriteMargins(const MarginSummary& summary, JsonWriter* json);

}  // namespace reenact::tools

#endif  // REENACT_TOOLS_REENACT_RUNS_MARGIN_TEXT_H_
