#include "tools/reenact/causes/report_pages.h"

#include <cstddef>
#include <vector>

#include "tools/reenact/causes/rerun_text.h"
#include "tools/reenact/io/html_figures.h"

namespace reenact::tools {
namespace {

// The answer whose comparison the report tells of; null: none was answered.
const rerun::Sample* ToldSample(const rerun::CallRerun& call) {
  const rerun::TokenComparison* told = call.Telling();
  if (told == nullptr) return nullptr;
  const auto index = static_cast<size_t>(told - call.comparisons.data());
  return rerun::Answered(call.samples)[index];
}

std::string CallHeading(const rerun::CallRerun& call) {
  return "Call #" + std::to_string(call.event_index) + ": " + std::to_string(call.agreed) + " of " +
         Counted(call.answered(), "answer") + " as recorded";
}

}  // namespace

HtmlPage RerunPage(const std::string& run_id, const std::string& sentence,
                   const std::vector<rerun::CallRerun>& calls, std::string_view text) {
  HtmlPage page("Rerun of " + run_id, sentence);
  for (const rerun::CallRerun& call : calls) {
    const rerun::Sample* told = ToldSample(call);
    if (told == nullptr) continue;
    page.Section(CallHeading(call),
                 TokenDiffHtml({"recorded", &call.recorded}, {"now", &told->view}));
  }
  page.Report("Report", text);
  return page;
}

HtmlPage DiagnosisPage(const std::string& target, const rerun::Diagnosis& diagnosis,
                       std::string_view text) {
  HtmlPage page("Diagnosis of " + target, rerun::DiagnosisSentence(diagnosis));
  if (diagnosis.enough) {
    page.Section("Answers that agree, alone", SurvivalHtml(diagnosis.alone_survival));
    if (diagnosis.load.loaded > 0) {
      page.Section("Answers that agree, under load", SurvivalHtml(diagnosis.loaded_survival));
    }
  }
  std::vector<std::vector<std::string>> cells;
  std::vector<size_t> unlike;
  for (const rerun::DiagnosisCell& cell : diagnosis.cells) {
    if (cell.unlike_alone > 0) unlike.push_back(cells.size());
    cells.push_back({cell.prompt, std::to_string(cell.max_tokens), std::to_string(cell.at_once),
                     std::to_string(cell.answered) + "/" + std::to_string(cell.samples.size()),
                     std::to_string(cell.agreement.unique), std::to_string(cell.unlike_alone)});
  }
  page.Section("Experiments", HtmlTable({"prompt", "max tokens", "at once", "answered", "different",
                                         "unlike alone"},
                                        cells, unlike));
  page.Report("Report", text);
  return page;
}

HtmlPage ExplanationPage(const ExplainedRuns& runs, const schema::ModelView& incident,
                         const schema::ModelView& reference, std::string_view text) {
  HtmlPage page("Explanation of " + runs.incident,
                Sentence(runs.explanation, runs.variables, runs.record));
  if (runs.calls) {
    page.Section("The two answers",
                 TokenDiffHtml({"incident", &incident}, {"reference", &reference}));
  }
  const ExperimentTable experiments = ExperimentsOf(runs);
  if (!experiments.rows.empty()) {
    page.Section("Experiments", HtmlTable(experiments.titles, experiments.rows, experiments.flips));
  }
  page.Report("Report", text);
  return page;
}

}  // namespace reenact::tools
