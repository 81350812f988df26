#include "replayer/drift/drift_check.h"

#include <chrono>
#include <memory>
#include <string>
#include <utility>

#include <CLI/CLI.hpp>

#include "absl/strings/str_cat.h"

#include "tools/reenact/io/html_page.h"
#include "tools/reenact/monitor/drift_page.h"
#include "tools/reenact/monitor/drift_source.h"
#include "tools/reenact/monitor/drift_text.h"
#include "tools/reenact/monitor/drift_verbs.h"
#include "tools/reenact/record/interruption.h"

namespace reenact::tools {
namespace {

struct CheckFlags {
  DriftFlags source{.window_count = analysis::DriftGates().persistence};
  std::string baseline;
  bool across_epochs = false;
  std::string html;
};

int ExitCodeOf(drift::Verdict verdict) {
  switch (verdict) {
    case drift::Verdict::kNoChange:
      return kExitOk;
    case drift::Verdict::kChanged:
      return kExitFinding;
    case drift::Verdict::kInconclusive:
      break;
  }
  return kExitInconclusive;
}

int CheckDrift(const CheckFlags& flags, const Context& context) {
  const auto begin = std::chrono::steady_clock::now();
  const auto file = ReadBaseline(flags.baseline);
  if (!file.ok()) return Fail(context, file.status());
  const Interruption interruption;
  rerun::Ledger ledger(BudgetOf(flags.source.target));
  drift::BaselineFile now = *file;
  auto taken = TakeWindows(flags.source, context, &ledger, &now);
  if (!taken.ok()) return Fail(context, taken.status());
  const drift::Baseline& baseline = file->baseline;
  // Kept whatever comes of it: they were paid for, and say what the endpoint was like.
  const auto kept =
      KeepProbes(flags.source, "drift_check", baseline.name, std::move(taken->calls), context);
  if (!kept.ok()) return Fail(context, kept.status());
  if (taken->windows.empty()) {
    return FailWith(context,
                    absl::UnavailableError(taken->stopped ? "stopped before a window was whole"
                                                          : "no recorded call has logprobs"),
                    kExitInconclusive);
  }
  const drift::DriftOptions options{.gates = {}, .across_epochs = flags.across_epochs};
  bool has_probe = false;
  for (const drift::Window& window : taken->windows) has_probe |= !window.probes.empty();
  if (has_probe) {
    if (const absl::Status comparable = Comparable(baseline, taken->windows, options);
        !comparable.ok()) {
      return Fail(context, comparable);
    }
  }
  const drift::DriftReport report = drift::Check(baseline, taken->windows, options);
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  const absl::Status page = WriteHtml(
      flags.html,
      DriftPage(baseline, report, options.gates, RenderDrift(baseline, report, options.gates, {})));
  if (!page.ok()) return Fail(context, page);
  if (context.json) {
    JsonWriter json = JsonWriter::Document(context.verb);
    json.TextField("baseline", baseline.name);
    json.TextField("model", baseline.model);
    json.TextField("target", now.baseline.target);
    WriteDrift(report, &json);
    WriteCost(ledger.total(), seconds, &json);
    json.GivenTextField("run", *kept);
    json.EndObject();
    Print(json.Take());
    return ExitCodeOf(report.verdict);
  }
  Print(RenderDrift(baseline, report, options.gates, context.style));
  if (!file->is_recorded()) Print("  cost " + CostText(ledger.total(), seconds) + "\n");
  if (!taken->failure_example.empty())
    Print("  a probe failed: " + Printable(taken->failure_example) + "\n");
  if (taken->left_out > 0)
    Note(context, absl::StrCat("left out ", taken->left_out, " calls with other settings"));
  if (!kept->empty()) Print("  recorded as " + *kept + "\n");
  return ExitCodeOf(report.verdict);
}

}  // namespace

void AddDriftCheckVerb(CLI::App* drift, Context* context) {
  auto flags = std::make_shared<CheckFlags>();
  CLI::App* verb = AddVerb(
      drift, context,
      {.name = "check",
       .summary = "Has an endpoint moved since its baseline, though its text may look the same?",
       .example =
           "  reenact drift check canary.drift --every 10m\n"
           "  reenact drift check refunds.drift --since 6h --json\n\n"
           "Asks as the baseline was asked, or reads what its service has recorded since. A\n"
           "change is one that stands out of the baseline's own noise in 3 windows running.\n"
           "Exit code 0: no change is detected; 1: changed; 2: not comparable (fingerprints\n"
           "that are all gone, raw against scaled logprobs, other settings); 3: inconclusive."},
      [flags, context] { return CheckDrift(*flags, *context); });
  verb->add_option("BASELINE", flags->baseline, "a file of drift baseline")->required();
  AddDriftFlags(verb, &flags->source);
  verb->add_flag("--across-epochs", flags->across_epochs,
                 "measure what a new fingerprint brought, although the baseline is void");
  AddHtmlFlag(verb, &flags->html);
}

}  // namespace reenact::tools
