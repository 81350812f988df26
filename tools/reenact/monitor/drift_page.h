// The page of `drift check --html`: what the terminal shows, and the windows as a figure.

#ifndef REENACT_TOOLS_REENACT_MONITOR_DRIFT_PAGE_H_
#define REENACT_TOOLS_REENACT_MONITOR_DRIFT_PAGE_H_

#include <string_view>

#include "replayer/drift/drift_check.h"
#include "tools/reenact/io/html_page.h"

namespace reenact::tools {

// `text`: the report for a terminal, without colour.
HtmlPage DriftPage(const drift::Baseline& baseline, const drift::DriftReport& report,
                   const analysis::DriftGates& gates, std::string_view text);

}  // namespace reenact::tools

#endif  // REENACT_TOOLS_REENACT_MONITOR_DRIFT_PAGE_H_
