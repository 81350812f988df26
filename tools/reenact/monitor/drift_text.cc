#include "tools/reenact/monitor/drift_text.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include "tools/reenact/io/measure_text.h"
#include "tools/reenact/io/time_text.h"

namespace reenact::tools {
namespace {

using drift::DriftReport;
using drift::Verdict;

constexpr int kChartRows = 6;
constexpr size_t kChartColumns = 50;  // Of each side.
constexpr int kEighths = 8;
constexpr const char* kBlocks[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};

std::vector<double> Columns(const std::vector<double>& values) {
  const size_t per_column = (values.size() + kChartColumns - 1) / kChartColumns;
  std::vector<double> columns;
  for (size_t i = 0; i < values.size(); ++i) {
    if (i % per_column == 0) columns.push_back(0);
    columns.back() = std::max(columns.back(), values[i]);
  }
  return columns;
}

// What a column shows in a row, counted from the bottom: eighths of a block, rounded up, so that
// whatever is above zero is seen.
std::string Cell(double value, double top, int row) {
  const auto height = static_cast<int>(std::ceil(value / top * kChartRows * kEighths - 1e-9));
  return kBlocks[std::clamp(height - row * kEighths, 0, kEighths)];
}

std::string_view VerdictText(Verdict verdict) {
  switch (verdict) {
    case Verdict::kNoChange:
      return "no change detected";
    case Verdict::kChanged:
      return "changed";
    case Verdict::kInconclusive:
      break;
  }
  return "inconclusive";
}

Ink InkOf(Verdict verdict) {
  if (verdict == Verdict::kNoChange) return Ink::kGreen;
  return verdict == Verdict::kChanged ? Ink::kRed : Ink::kYellow;
}

std::vector<double> StatisticsOf(const DriftReport& report) {
  std::vector<double> values;
  for (const drift::WindowJudgement& window : report.windows)
    values.push_back(window.statistic.ok() ? window.statistic.value() : 0);
  return values;
}

std::string FloorText(const DriftReport& report, double gate) {
  const analysis::NoiseFloor& floor = report.windows.back().floor;
  std::string out =
      absl::StrCat("  last window ", MeasureText(report.windows.back().statistic), " nats");
  if (gate == 0) return out + "; windows of the baseline are equal to the last bit\n";
  absl::StrAppend(&out, "; noise floor: median ", MeasureText(floor.median), ", gate ",
                  MeasureText(gate), "; p ", MeasureText(floor.p), " (", floor.baseline_count,
                  " windows: cannot go below ", MeasureText(floor.smallest_p), ")\n");
  return out;
}

std::string PromptText(const drift::PromptShift& prompt) {
  std::string out = absl::StrCat("    ", prompt.prompt, "  ", MeasureText(prompt.statistic),
                                 " nats  best token ", prompt.top.top1_same ? "same" : "another",
                                 "  TV >= ", MeasureText(prompt.top.tv_lower_bound), "  JS ",
                                 MeasureText(prompt.top.js));
  return out + "  max |dlogp| " + MeasureText(prompt.top.max_abs_dlogp) + "\n";
}

std::string FingerprintsText(const DriftReport& report) {
  std::string out = "  fingerprints: ";
  const analysis::FingerprintMix& mix = report.fingerprints;
  if (mix.novel.empty() && mix.vanished.empty()) out += "as before";
  if (!mix.novel.empty())
    absl::StrAppend(&out, "novel ", Printable(absl::StrJoin(mix.novel, ", ")), ", ",
                    MeasureText(mix.novel_share), " of probes");
  if (!mix.vanished.empty())
    absl::StrAppend(&out, mix.novel.empty() ? "" : "; ", "not seen ",
                    Printable(absl::StrJoin(mix.vanished, ", ")));
  if (!report.stratum.empty())
    absl::StrAppend(&out, "; compared are probes of ",
                    Printable(absl::StrJoin(report.stratum, ", ")));
  return out + "\n";
}

}  // namespace

double DriftGate(const DriftReport& report, const analysis::DriftGates& gates) {
  if (report.windows.empty()) return 0;
  const analysis::NoiseFloor& floor = report.windows.back().floor;
  const bool never_moves =
      std::all_of(report.null.begin(), report.null.end(), [](double value) { return value == 0; });
  if (never_moves || !floor.median.ok()) return 0;
  return std::max(gates.times_median * floor.median.value(), gates.least_nats);
}

std::string DriftSentence(const DriftReport& report) {
  return absl::StrCat(std::string(VerdictText(report.verdict)), ": ", report.sentence);
}

std::string DriftChart(const std::vector<double>& null, const std::vector<double>& checked,
                       double gate) {
  double top = gate;
  for (const std::vector<double>* values : {&null, &checked}) {
    for (const double value : *values) top = std::max(top, value);
  }
  if (top == 0) return "";  // Nothing moved at all.
  const std::vector<double> sides[] = {Columns(null), Columns(checked)};
  const int gate_row = std::min(static_cast<int>(gate / top * kChartRows), kChartRows - 1);
  std::string out;
  for (int row = kChartRows - 1; row >= 0; --row) {
    char label[16];
    std::snprintf(label, sizeof label, "%8.3g", top * (row + 1) / kChartRows);
    std::string cells;
    for (const std::vector<double>& side : sides) {
      if (&side != sides) cells += "│";
      for (const double value : side) {
        const std::string cell = Cell(value, top, row);
        cells += cell == " " && gate > 0 && row == gate_row ? "┄" : cell;
      }
    }
    absl::StrAppend(&out, "  ", label, " ┤", cells, "\n");
  }
  constexpr std::string_view kBaseline = "baseline";
  const bool has_room = sides[0].size() >= kBaseline.size();
  return out + absl::StrCat("      nats  ", PadRight(has_room ? kBaseline : "", sides[0].size()),
                            "│check\n");
}

std::string RenderDrift(const drift::Baseline& baseline, const DriftReport& report,
                        const analysis::DriftGates& gates, const Style& style) {
  std::string out = absl::StrCat(style(InkOf(report.verdict), DriftSentence(report)), "\n  ",
                                 Printable(baseline.model), " at ", Printable(baseline.target),
                                 ", against ", Printable(baseline.name), " of ",
                                 FormatSeconds(baseline.windows.front().at_wall_ns), "\n");
  if (!report.causes.empty())
    absl::StrAppend(&out, "  known: ", absl::StrJoin(report.causes, ", "), "\n");
  const double gate = DriftGate(report, gates);
  out += DriftChart(report.null, StatisticsOf(report), gate);
  if (!report.windows.empty() && report.windows.back().statistic.ok() && !report.null.empty())
    out += FloorText(report, gate);
  absl::StrAppend(&out, "  persistence ", report.persistent, " of ", gates.persistence,
                  " windows\n");
  if (!report.prompts.empty()) out += "  by prompt, in the last window\n";
  for (const drift::PromptShift& prompt : report.prompts) out += PromptText(prompt);
  out += FingerprintsText(report);
  absl::StrAppend(&out, "  probes ", report.probe_count, " in ",
                  Counted(static_cast<int64_t>(report.windows.size()), "window"));
  if (report.failed_probes > 0) absl::StrAppend(&out, ", ", report.failed_probes, " failed");
  if (report.invalid_probes > 0) absl::StrAppend(&out, ", ", report.invalid_probes, " invalid");
  return out + "\n";
}

void WriteDrift(const DriftReport& report, JsonWriter* json) {
  json->TextField("verdict", ToString(report.verdict));
  json->TextField("sentence", report.sentence);
  json->TextsField("causes", report.causes);
  json->Key("null");
  json->BeginArray();
  for (const double value : report.null) json->Real(value);
  json->EndArray();
  json->Key("windows");
  json->BeginArray();
  for (const drift::WindowJudgement& window : report.windows) {
    json->BeginObject();
    json->TimeField("at", window.at_wall_ns);
    MeasureField("statistic", window.statistic, json);
    MeasureField("p", window.floor.p, json);
    MeasureField("smallest_p", window.floor.smallest_p, json);
    MeasureField("median", window.floor.median, json);
    MeasureField("robust_z", window.floor.robust_z, json);
    json->TextField("floor", analysis::StatusName(window.floor.status));
    json->BoolField("stands_out", window.stands_out);
    json->EndObject();
  }
  json->EndArray();
  json->IntField("persistent", report.persistent);
  json->Key("prompts");
  json->BeginArray();
  for (const drift::PromptShift& prompt : report.prompts) {
    json->BeginObject();
    json->TextField("prompt", prompt.prompt);
    MeasureField("statistic", prompt.statistic, json);
    json->BoolField("top1_same", prompt.top.top1_same);
    MeasureField("tv_lower_bound", prompt.top.tv_lower_bound, json);
    MeasureField("js", prompt.top.js, json);
    MeasureField("mean_abs_dlogp", prompt.top.mean_abs_dlogp, json);
    MeasureField("max_abs_dlogp", prompt.top.max_abs_dlogp, json);
    json->EndObject();
  }
  json->EndArray();
  json->TextsField("novel_fingerprints", report.fingerprints.novel);
  json->TextsField("vanished_fingerprints", report.fingerprints.vanished);
  json->TextsField("stratum", {report.stratum.begin(), report.stratum.end()});
  json->IntField("probes", report.probe_count);
  json->IntField("failed_probes", report.failed_probes);
  json->IntField("invalid_probes", report.invalid_probes);
}

}  // namespace reenact::tools
