#include "tools/reenact/monitor/drift_page.h"

#include <cstddef>
#include <string>
#include <vector>

#include "tools/reenact/io/html_figures.h"
#include "tools/reenact/io/measure_text.h"
#include "tools/reenact/io/time_text.h"
#include "tools/reenact/monitor/drift_text.h"

namespace reenact::tools {
namespace {

ShownWindow Shown(const drift::WindowJudgement& window) {
  if (!window.statistic.ok())
    return {.title = FormatSeconds(window.at_wall_ns) + ": no probe to compare"};
  return {window.statistic.value(), window.stands_out,
          FormatSeconds(window.at_wall_ns) + ": " + MeasureText(window.statistic) + " nats, p " +
              MeasureText(window.floor.p)};
}

std::string DriftPromptsHtml(const drift::DriftReport& report) {
  std::vector<std::vector<std::string>> rows;
  for (const drift::PromptShift& prompt : report.prompts) {
    rows.push_back({prompt.prompt, MeasureText(prompt.statistic),
                    prompt.top.top1_same ? "same" : "another",
                    MeasureText(prompt.top.tv_lower_bound), MeasureText(prompt.top.js),
                    MeasureText(prompt.top.max_abs_dlogp)});
  }
  return HtmlTable({"prompt", "nats", "best token", "TV, at least", "JS", "max |dlogp|"}, rows);
}

}  // namespace

HtmlPage DriftPage(const drift::Baseline& baseline, const drift::DriftReport& report,
                   const analysis::DriftGates& gates, std::string_view text) {
  HtmlPage page("Drift of " + baseline.model + " at " + baseline.target, DriftSentence(report));
  if (!report.null.empty()) {
    std::vector<ShownWindow> null;
    for (size_t i = 0; i < report.null.size(); ++i) {
      null.push_back({.nats = report.null[i],
                      .title = "window " + std::to_string(i + 2) +
                               " of the baseline: " + MeasureText(report.null[i]) + " nats"});
    }
    std::vector<ShownWindow> checked;
    for (const drift::WindowJudgement& window : report.windows) checked.push_back(Shown(window));
    page.Section("Window by window", WindowsHtml(null, checked, DriftGate(report, gates)));
  }
  if (!report.prompts.empty())
    page.Section("By prompt, in the last window", DriftPromptsHtml(report));
  page.Report("Report", text);
  return page;
}

}  // namespace reenact::tools
