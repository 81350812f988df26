#include "store/reader/verify.h"

#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "tools/reenact/open_store.h"
#include "tools/reenact/progress.h"
#include "tools/reenact/time_text.h"
#include "tools/reenact/verb.h"

namespace reenact::tools {
namespace {

void WriteTombstones(const std::vector<store::VerifyTombstone>& tombstones, JsonWriter* json) {
  json->Key("tombstones");
  json->BeginArray();
  for (const store::VerifyTombstone& tombstone : tombstones) {
    const bool pruned = tombstone.kind == store::VerifyTombstone::Kind::kPruned;
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

void PrintJson(const std::string& path, const store::VerifyReport& report) {
  JsonWriter json = JsonWriter::Document("verify");
  json.TextField("path", path);
  json.IntField("segments", report.segments);
  json.IntField("records", report.records);
  json.IntField("bodies", report.bodies);
  WriteTombstones(report.tombstones, &json);
  json.TextsField("open_ends", report.open_ends);
  json.Key("findings");
  json.BeginArray();
  for (const store::VerifyFinding& finding : report.findings) {
    json.BeginObject();
    json.TextField("segment", finding.segment);
    json.TextField("record", finding.record);
    json.TextField("problem", finding.problem);
    json.EndObject();
  }
  json.EndArray();
  json.EndObject();
  Print(json.Take());
}

std::string TextOf(const store::VerifyTombstone& tombstone) {
  std::string text = tombstone.segment;
  if (tombstone.kind == store::VerifyTombstone::Kind::kPruned)
    text += " was pruned (" + tombstone.reason + ")";
  else
    text += " was redacted (" + Counted(tombstone.changed_rows, "row") + ")";
  return text + " at " + FormatSeconds(tombstone.at_wall_ns) + ", manifest line " +
         std::to_string(tombstone.line);
}

void PrintText(const store::VerifyReport& report, const Style& style) {
  for (const store::VerifyFinding& finding : report.findings) {
    Print(style(Ink::kRed,
                Printable(finding.segment + ": " + finding.record + ": " + finding.problem)) +
          "\n");
  }
  for (const store::VerifyTombstone& tombstone : report.tombstones)
    Print(style(Ink::kDim, Printable(TextOf(tombstone))) + "\n");
  for (const std::string& sentence : report.open_ends)
    Print(style(Ink::kYellow, Printable(sentence)) + "\n");
  std::string line = Counted(report.segments, "segment") + ", " +
                     Counted(report.records, "record") + " and " +
                     Counted(report.bodies, "body", "bodies") + " checked";
  if (!report.tombstones.empty()) {
    line += ", " + Counted(static_cast<int64_t>(report.tombstones.size()), "tombstone") +
            " accounted for";
  }
  const auto count = static_cast<int64_t>(report.findings.size());
  line += count == 0 ? ": as recorded" : ": " + Counted(count, "finding");
  Print(line + "\n");
}

int Verify(const std::string& path_option, const Context& context) {
  StorePlace place{.path = path_option, .chosen_by = "--store"};
  if (path_option.empty()) {
    absl::StatusOr<StorePlace> found = FindStore(context);
    if (!found.ok()) return Fail(context, found.status());
    place = *std::move(found);
  }
  const std::string& path = place.path;
  absl::StatusOr<store::VerifyReport> report;
  {
    Progress progress(context.progress, "verifying segments");
    report = store::VerifyStore(
        path, [&progress](int64_t done, int64_t total) { progress.Show(done, total); });
  }
  if (!report.ok()) return Fail(context, WithPlace(report.status(), place));
  if (context.json) {
    PrintJson(path, *report);
  } else {
    PrintText(*report, context.style);
  }
  if (!report->findings.empty()) return kExitFinding;
  if (report->segments == 0 && report->tombstones.empty()) {
    Note(context, "there was nothing to verify in " + path);
    return kExitInconclusive;
  }
  return kExitOk;
}

}  // namespace

void AddVerifyVerb(CLI::App* app, Context* context) {
  auto path = std::make_shared<std::string>();
  CLI::App* verb = AddVerb(
      app, context,
      {.name = "verify",
       .summary = "Is what was recorded what is there? Names the first record that does not fit",
       .example =
           "  reenact verify\n  reenact verify refund.reenact\n"
           "\n"
           "Files are read as they lie, and nothing is written, on purpose: evidence is not\n"
           "changed by looking at it. What a dead process left in memory is not yet in a file,\n"
           "so not verified; `reenact doctor --recover`, or whoever opens the store next,\n"
           "writes it down."},
      [path, context] { return Verify(*path, *context); });
  verb->add_option("PATH", *path, "a store, a bundle or a segment; else the store");
}

}  // namespace reenact::tools
