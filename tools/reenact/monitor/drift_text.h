// How a check for drift reads on a terminal, and as JSON.

#ifndef REENACT_TOOLS_REENACT_MONITOR_DRIFT_TEXT_H_
#define REENACT_TOOLS_REENACT_MONITOR_DRIFT_TEXT_H_

#include <string>
#include <vector>

#include "replayer/drift/drift_check.h"
#include "tools/reenact/io/json_output.h"
#include "tools/reenact/io/terminal_text.h"

namespace reenact::tools {

// Columns of the statistic, window by window: the baseline's, and behind a bar those of the check;
// the gate is a dotted line. Many windows share a column, which shows the largest of them.
std::string DriftChart(const std::vector<double>& null, const std::vector<double>& checked,
                       double gate);

// What a window must reach to stand out; 0 where the baseline never moves, so that everything does.
double DriftGate(const drift::DriftReport& report, const analysis::DriftGates& gates);

// "changed: …"
std::string DriftSentence(const drift::DriftReport& report);

// The verdict's sentence first.
std::string RenderDrift(const drift::Baseline& baseline, const drift::DriftReport& report,
                        const analysis::DriftGates& gates, const Style& style);
void WriteDrift(const drift::DriftReport& report, JsonWriter* json);

}  // namespace reenact::tools

#endif  // REENACT_TOOLS_REENACT_MONITOR_DRIFT_TEXT_H_
