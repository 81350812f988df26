// What a rerun came to: for a reader, and as JSON.

#ifndef REENACT_TOOLS_REENACT_CAUSES_RERUN_TEXT_H_
#define REENACT_TOOLS_REENACT_CAUSES_RERUN_TEXT_H_

#include <string>
#include <vector>

#include "replayer/rerun/rerun_runner.h"
#include "tools/reenact/io/json_output.h"
#include "tools/reenact/io/terminal_text.h"

namespace reenact::tools {

// The verdict in one sentence.
std::string RerunSentence(const rerun::RerunReport& report);

// Sentence, calls and where they part. What follows a report (cost, what was kept) is the caller's.
std::string RenderRerun(const std::string& run_id, const rerun::Target& target,
                        const rerun::RerunReport& report, const Style& style);

// One call: how its answers agree, and where they part.
std::string RenderCall(const rerun::CallRerun& call, const Style& style);

// "token 6 is \".\" where \"5\" was recorded, 0.00993 nats apart (a near-tie)".
std::string PartingText(const rerun::Parting& parting);

void WriteComparison(const rerun::TokenComparison& comparison, JsonWriter* json);

// The field "calls" of a document that is open.
void WriteCalls(const std::vector<rerun::CallRerun>& calls, JsonWriter* json);

// The fields "verdict" to "calls" of a document that is open.
void WriteRerun(const rerun::RerunReport& report, JsonWriter* json);

// "0.031": three significant digits.
std::string NatsText(double nats);

}  // namespace reenact::tools

#endif  // REENACT_TOOLS_REENACT_CAUSES_RERUN_TEXT_H_
