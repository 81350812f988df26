// The pages of --html of rerun, diagnose and explain: what the terminal shows, and the figures that
// it cannot.

#ifndef REENACT_TOOLS_REENACT_CAUSES_REPORT_PAGES_H_
#define REENACT_TOOLS_REENACT_CAUSES_REPORT_PAGES_H_

#include <string>
#include <string_view>
#include <vector>

#include "replayer/rerun/call_rerun.h"
#include "replayer/rerun/diagnosis.h"
#include "schema/model_view.h"
#include "tools/reenact/causes/explain_text.h"
#include "tools/reenact/io/html_page.h"

namespace reenact::tools {

// `text`: the report for a terminal, without colour.
HtmlPage RerunPage(const std::string& run_id, const std::string& sentence,
                   const std::vector<rerun::CallRerun>& calls, std::string_view text);

HtmlPage DiagnosisPage(const std::string& target, const rerun::Diagnosis& diagnosis,
                       std::string_view text);

// The answers to the two decisive calls; both empty where the runs did the same.
HtmlPage ExplanationPage(const ExplainedRuns& runs, const schema::ModelView& incident,
                         const schema::ModelView& reference, std::string_view text);

}  // namespace reenact::tools

#endif  // REENACT_TOOLS_REENACT_CAUSES_REPORT_PAGES_H_
