#include "tools/reenact/causes/explain_text.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <system_error>
#include <utility>

#include "tools/reenact/io/text_table.h"
#include "tools/reenact/io/time_text.h"

namespace reenact::tools {
namespace {

using explain::Arm;
using explain::Explanation;
using explain::Finding;
using explain::Variable;
using explain::Verdict;

constexpr size_t kExplainTableWidth = 120;
constexpr size_t kShrinkingColumns = 3;  // What differs, and both values.
constexpr size_t kActionWidth = 90;

bool IsCause(Verdict verdict) {
  return verdict == Verdict::kCause || verdict == Verdict::kCauses;
}

// A clock reading as a time: its name tells nothing of nanoseconds.
std::string ValueText(const Variable& variable, const std::string& value) {
  int64_t wall_ns = 0;
  const bool is_time =
      variable.kind == explain::VariableKind::kClock &&
      std::from_chars(value.data(), value.data() + value.size(), wall_ns).ec == std::errc();
  return is_time ? FormatExact(wall_ns) : value;
}

std::string PText(double p) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2g", p);
  return text;
}

// "8 of 8, p 0.0012"; what stands for an arm that was never tried is not a number.
std::string ArmCell(const Finding& finding, const Arm& arm, explain::Outcome outcome, double p) {
  if (!finding.can_set || arm.done() == 0) return "-";
  return std::to_string(arm.Of(outcome)) + " of " + std::to_string(arm.done()) + ", p " + PText(p);
}

std::string ArmLine(std::string_view label, const Arm& arm) {
  if (arm.done() + arm.failed == 0) return "";
  std::string text = "  " + PadRight(label, 12) + Counted(arm.done(), "run") + ": " +
                     std::to_string(arm.incident) + " as the incident, " +
                     std::to_string(arm.reference) + " as the reference, " +
                     std::to_string(arm.other) + " otherwise";
  if (arm.failed > 0) text += "; " + std::to_string(arm.failed) + " failed";
  return text + "\n";
}

std::string RunLine(std::string_view label, const std::string& id, size_t event,
                    const std::string& action) {
  return "  " + PadRight(label, 12) + id + " #" + std::to_string(event) + " " +
         Shortened(action.empty() ? "has no whole answer" : action, kActionWidth) + "\n";
}

std::string TableOf(const ExplainedRuns& runs, const Style& style) {
  const ExperimentTable experiments = ExperimentsOf(runs);
  if (experiments.rows.empty()) return "";
  std::vector<Table::Column> columns;
  for (const std::string& title : experiments.titles) columns.push_back({.title = title});
  for (size_t i = 0; i < kShrinkingColumns; ++i) columns[i].shrinks = true;
  Table table(std::move(columns), kExplainTableWidth);
  for (size_t i = 0; i < experiments.rows.size(); ++i) {
    const bool flips =
        std::find(experiments.flips.begin(), experiments.flips.end(), i) != experiments.flips.end();
    table.AddRow(experiments.rows[i], flips ? Ink::kBold : Ink::kPlain);
  }
  return "\n" + table.Render(style);
}

void WriteArm(std::string_view name, const Arm& arm, JsonWriter* json) {
  json->Key(name);
  json->BeginObject();
  json->IntField("runs", arm.done());
  json->IntField("incident", arm.incident);
  json->IntField("reference", arm.reference);
  json->IntField("other", arm.other);
  json->IntField("failed", arm.failed);
  json->GivenTextField("detail", arm.detail);
  json->EndObject();
}

void WriteFinding(const Variable& variable, const Finding& finding, JsonWriter* json) {
  json->BeginObject();
  json->TextField("kind", explain::ToString(variable.kind));
  json->TextField("name", variable.name);
  json->TextField("incident", variable.incident);
  json->TextField("reference", variable.reference);
  json->TextField("changed", variable.changed == explain::Changed::kProved ? "proved" : "possible");
  json->BoolField("tried", finding.can_set && finding.put_in.done() > 0);
  json->GivenTextField("not_tried_because", finding.why_not);
  json->BoolField("flips", finding.flips);
  WriteArm("put_in", finding.put_in, json);
  json->RealField("put_in_p", finding.put_in_p);
  WriteArm("taken_out", finding.taken_out, json);
  json->RealField("taken_out_p", finding.taken_out_p);
  json->EndObject();
}

void WriteRecord(const explain::RecordEvidence& record, JsonWriter* json) {
  json->Key("record");
  json->BeginObject();
  json->BoolField("same_request", record.same_request);
  json->BoolField("draws", record.draws);
  json->BoolField("near_tie", record.near_tie());
  json->OptionalIntField("token_index", record.token_index);
  json->OptionalRealField("margin_nats", record.margin_nats);
  json->TextField("incident_token", record.incident_token);
  json->TextField("reference_token", record.reference_token);
  json->IntField("incident_in_flight", record.incident_in_flight);
  json->IntField("reference_in_flight", record.reference_in_flight);
  json->EndObject();
}

}  // namespace

ExperimentTable ExperimentsOf(const ExplainedRuns& runs) {
  ExperimentTable table;
  table.titles = {"what differs", "in the incident", "in the reference",
                  "changed",      "put in alone",    "taken out alone",
                  "flips"};
  for (const Finding& finding : runs.explanation.findings) {
    const Variable& variable = runs.variables[finding.variable];
    if (finding.flips) table.flips.push_back(table.rows.size());
    table.rows.push_back(
        {explain::NameOf(variable), ValueText(variable, variable.incident),
         ValueText(variable, variable.reference),
         variable.changed == explain::Changed::kProved ? "yes" : "not proved",
         ArmCell(finding, finding.put_in, explain::Outcome::kReference, finding.put_in_p),
         ArmCell(finding, finding.taken_out, explain::Outcome::kIncident, finding.taken_out_p),
         !finding.can_set             ? "not tried"
         : finding.flips              ? "yes"
         : finding.put_in.done() == 0 ? "not tried"
                                      : "no"});
  }
  return table;
}

std::string RenderExplanation(const ExplainedRuns& runs, const Style& style) {
  const Explanation& explanation = runs.explanation;
  const Ink ink = IsCause(explanation.verdict)                    ? Ink::kRed
                  : explanation.verdict == Verdict::kNoDifference ? Ink::kGreen
                                                                  : Ink::kYellow;
  std::string text =
      style(ink, Printable(Sentence(explanation, runs.variables, runs.record))) + "\n";
  if (!runs.calls) {
    return text + "  incident    " + runs.incident + "\n  reference   " + runs.reference + "\n";
  }
  text += RunLine("incident", runs.incident, runs.calls->incident, runs.incident_action);
  text += RunLine("reference", runs.reference, runs.calls->reference, runs.reference_action);
  text += "  outcome     " + Printable(runs.judged_by) + "\n";
  text += ArmLine("unchanged", explanation.unchanged);
  text += ArmLine("reference", explanation.reference);
  for (const std::string& line : explanation.evidence) {
    text += "  evidence    " + Printable(line) + "\n";
  }
  if (!explanation.settled_by.empty()) {
    text += "  settled by  " + Printable(explanation.settled_by) + "\n";
  }
  if (explanation.trials > 0) {
    text += "  tries       " + WithThousands(explanation.trials) +
            (explanation.budget_spent ? ", and stopped before all were made" : "") + "\n";
  }
  return text + TableOf(runs, style);
}

void WriteExplanation(const ExplainedRuns& runs, JsonWriter* json) {
  const Explanation& explanation = runs.explanation;
  json->TextField("verdict", ToString(explanation.verdict));
  json->TextField("sentence", Sentence(explanation, runs.variables, runs.record));
  json->TextField("incident", runs.incident);
  json->TextField("reference", runs.reference);
  json->TextField("incident_action", runs.incident_action);
  json->TextField("reference_action", runs.reference_action);
  json->TextField("judged_by", runs.judged_by);
  if (runs.calls) {
    json->IntField("incident_event", static_cast<int64_t>(runs.calls->incident));
    json->IntField("reference_event", static_cast<int64_t>(runs.calls->reference));
  }
  std::vector<std::string> causes;
  for (const size_t i : explanation.causes) causes.push_back(NameOf(runs.variables[i]));
  json->TextsField("causes", causes);
  json->BoolField("each_is_enough", explanation.each_is_enough);
  json->GivenTextField("inconclusive_because", explanation.because);
  json->GivenTextField("settled_by", explanation.settled_by);
  json->TextsField("evidence", explanation.evidence);
  WriteArm("unchanged", explanation.unchanged, json);
  WriteArm("reference_again", explanation.reference, json);
  json->Key("differences");
  json->BeginArray();
  for (const Finding& finding : explanation.findings) {
    WriteFinding(runs.variables[finding.variable], finding, json);
  }
  json->EndArray();
  WriteEpochs(runs.epochs, json);
  WriteRecord(runs.record, json);
  json->IntField("tries", explanation.trials);
  json->IntField("failed_tries", explanation.failed_trials);
  json->BoolField("budget_spent", explanation.budget_spent);
}

}  // namespace reenact::tools
