#include "tools/reenact/evidence/verify_text.h"

#include <vector>

#include "tools/reenact/io/time_text.h"

namespace reenact::tools {
namespace {

using store::VerifyFinding;
using store::VerifyTombstone;

std::string TombstoneLine(const VerifyTombstone& tombstone) {
  std::string text = tombstone.segment;
  if (tombstone.kind == VerifyTombstone::Kind::kPruned)
    text += " was pruned (" + tombstone.reason + ")";
  else
    text += " was redacted (" + Counted(tombstone.changed_rows, "row") + ")";
  return text + " at " + FormatSeconds(tombstone.at_wall_ns) + ", manifest line " +
         std::to_string(tombstone.line);
}

std::string SignatureLine(const GoodSignature& signature) {
  std::string text = "signed at " + FormatSeconds(signature.signed_at_wall_ns);
  if (signature.lines == 0) return text;  // A bundle, whole.
  text += ": manifest lines 1 to " + std::to_string(signature.signed_lines);
  if (signature.lines > signature.signed_lines)
    text += "; not signed: " + Counted(signature.lines - signature.signed_lines, "line") + " since";
  return text;
}

void WriteFindings(const std::vector<VerifyFinding>& findings, JsonWriter* json) {
  for (const VerifyFinding& finding : findings) {
    json->BeginObject();
    json->TextField("segment", finding.segment);
    json->TextField("record", finding.record);
    json->TextField("problem", finding.problem);
    json->EndObject();
  }
}

void WriteTombstones(const std::vector<VerifyTombstone>& tombstones, JsonWriter* json) {
  json->Key("tombstones");
  json->BeginArray();
  for (const VerifyTombstone& tombstone : tombstones) {
    const bool pruned = tombstone.kind == VerifyTombstone::Kind::kPruned;
    json->BeginObject();
    json->TextField("kind", pruned ? "pruned" : "redacted");
    json->TextField("segment", tombstone.segment);
    json->GivenTextField("reason", tombstone.reason);
    if (!pruned) json->IntField("changed_rows", tombstone.changed_rows);
    json->TimeField("at", tombstone.at_wall_ns);
    json->IntField("manifest_line", tombstone.line);
    json->EndObject();
  }
  json->EndArray();
}

void WriteSignatures(const std::vector<GoodSignature>& signatures, JsonWriter* json) {
  json->Key("signatures");
  json->BeginArray();
  for (const GoodSignature& signature : signatures) {
    json->BeginObject();
    json->TimeField("signed_at", signature.signed_at_wall_ns);
    if (signature.lines != 0) {
      json->IntField("signed_lines", signature.signed_lines);
      json->IntField("manifest_lines", signature.lines);
    }
    json->EndObject();
  }
  json->EndArray();
}

}  // namespace

std::string TextOf(const VerifyOutcome& outcome, const Style& style) {
  const store::VerifyReport& report = *outcome.report;
  std::vector<VerifyFinding> findings = report.findings;
  if (outcome.signatures != nullptr)
    findings.insert(findings.end(), outcome.signatures->findings.begin(),
                    outcome.signatures->findings.end());
  std::string text;
  const auto add = [&](Ink ink, const std::string& line) {
    text += style(ink, Printable(line)) + "\n";
  };
  for (const VerifyFinding& finding : findings)
    add(Ink::kRed, finding.segment + ": " + finding.record + ": " + finding.problem);
  for (const VerifyTombstone& tombstone : report.tombstones)
    add(Ink::kDim, TombstoneLine(tombstone));
  for (const std::string& sentence : report.open_ends) add(Ink::kYellow, sentence);
  if (outcome.signatures != nullptr) {
    for (const GoodSignature& signature : outcome.signatures->good)
      add(Ink::kGreen, SignatureLine(signature));
  }
  text += Counted(report.segments, "segment") + ", " + Counted(report.records, "record") + " and " +
          Counted(report.bodies, "body", "bodies") + " checked";
  if (!report.tombstones.empty())
    text += ", " + Counted(static_cast<int64_t>(report.tombstones.size()), "tombstone") +
            " accounted for";
  const auto count = static_cast<int64_t>(findings.size());
  return text + (count == 0 ? ": as recorded" : ": " + Counted(count, "finding")) + "\n";
}

void WriteOutcome(const VerifyOutcome& outcome, JsonWriter* json) {
  const store::VerifyReport& report = *outcome.report;
  json->IntField("segments", report.segments);
  json->IntField("records", report.records);
  json->IntField("bodies", report.bodies);
  WriteTombstones(report.tombstones, json);
  json->TextsField("open_ends", report.open_ends);
  if (outcome.signatures != nullptr) WriteSignatures(outcome.signatures->good, json);
  json->Key("findings");
  json->BeginArray();
  WriteFindings(report.findings, json);
  if (outcome.signatures != nullptr) WriteFindings(outcome.signatures->findings, json);
  json->EndArray();
}

}  // namespace reenact::tools
