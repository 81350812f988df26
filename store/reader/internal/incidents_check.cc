#include "store/reader/internal/incidents_check.h"

#include <unistd.h>

#include <memory>

#include "absl/strings/str_cat.h"

#include "store/format/file_digest.h"
#include "store/reader/internal/incident_db.h"
#include "store/reader/internal/record_file.h"
#include "store/reader/internal/segment_check.h"

namespace reenact::store::internal {
namespace {

constexpr char kName[] = "incidents.db";
// How often somebody may change the file while it is being looked at.
constexpr int kTries = 5;

VerifyFinding OfFile(std::string problem) {
  return {kName, "incidents", std::move(problem)};
}

// Marked runs, each a small file of its own inside incidents.db.
void CheckCopies(IncidentDb* incidents, VerifyReport* report) {
  const auto parts = incidents->PromotedParts();
  if (!parts.ok()) {
    report->findings.push_back(OfFile(std::string(parts.status().message())));
    return;
  }
  for (const auto& [run, part] : *parts) {
    const std::string record = absl::StrCat("copy of run ", ToString(run));
    const auto bytes = incidents->PromotedRun(run);
    if (!bytes.ok() || !bytes->has_value()) {
      report->findings.push_back({kName, record, "cannot be read"});
      continue;
    }
    const auto file = RecordFile::OpenBytes(**bytes, kName);
    if (!file.ok()) {
      report->findings.push_back({kName, record, std::string(file.status().message())});
      continue;
    }
    SegmentCheck check = CheckSegment(file->get());
    report->records += check.rows;
    report->bodies += check.bodies;
    for (VerifyFinding& finding : check.findings)
      report->findings.push_back(
          {kName, absl::StrCat(record, ": ", finding.record), finding.problem});
  }
}

// A file that was made for a change that was then refused.
bool HoldsNothing(IncidentDb* incidents) {
  const auto all = incidents->Incidents();
  const auto pins = incidents->Pins();
  const auto parts = incidents->PromotedParts();
  return all.ok() && all->empty() && pins.ok() && pins->empty() && parts.ok() && parts->empty();
}

// What is wrong with the file as a whole; empty: nothing.
std::string CompareWithEntry(const StoreLayout& layout, const IncidentsEntry& entry) {
  schema::Digest digest{};
  if (DigestOfFile(layout.incidents(), &digest) != 0) return "cannot be read to its end";
  if (schema::ToHex(digest) == entry.sha256) return "";
  // Told all the same: whoever cuts the last line off the manifest leaves this behind.
  if (entry.change_begun_line > entry.line) {
    return absl::StrCat("was being changed when its writer died (manifest line ",
                        entry.change_begun_line, "): the next change of an incident settles it");
  }
  return absl::StrCat("is not what was last written (manifest line ", entry.line, ")");
}

void CheckWhole(const StoreLayout& layout, Manifest manifest, VerifyReport* report) {
  for (int tries = 1;; ++tries) {
    std::string problem = CompareWithEntry(layout, manifest.incidents);
    if (problem.empty()) return;
    Manifest now = ReadManifest(layout);
    if (tries == kTries || now.lines == manifest.lines || !now.findings.empty()) {
      report->findings.push_back(OfFile(std::move(problem)));
      return;
    }
    manifest = std::move(now);
  }
}

}  // namespace

void CheckIncidents(const StoreLayout& layout, const Manifest& manifest, VerifyReport* report) {
  const auto incidents = IncidentDb::OpenForReading(layout.incidents());
  const bool known = manifest.incidents.line != 0 || manifest.incidents.change_begun_line != 0;
  if (absl::IsNotFound(incidents.status())) {
    if (manifest.incidents.line != 0 && manifest.findings.empty())
      report->findings.push_back(OfFile(absl::StrCat(
          "is missing: it was last changed in manifest line ", manifest.incidents.line)));
    return;
  }
  if (!incidents.ok()) {
    report->findings.push_back(OfFile(std::string(incidents.status().message())));
    return;
  }
  const size_t before = report->findings.size();
  CheckCopies(incidents->get(), report);
  // What a damaged manifest does not say proves nothing, and a damaged copy is named already.
  if (report->findings.size() != before || !manifest.findings.empty()) return;
  if (known) {
    CheckWhole(layout, manifest, report);
  } else if (!HoldsNothing(incidents->get())) {
    report->findings.push_back(OfFile("is there, and the manifest does not know it"));
  }
}

}  // namespace reenact::store::internal
