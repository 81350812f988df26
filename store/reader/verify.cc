#include "store/reader/verify.h"

#include <sys/stat.h>
#include <unistd.h>

#include "absl/strings/str_cat.h"

#include "store/reader/internal/incident_db.h"
#include "store/reader/internal/manifest_file.h"
#include "store/reader/internal/record_file.h"
#include "store/reader/internal/segment_check.h"
#include "store/reader/internal/segment_set.h"
#include "store/store_layout.h"

namespace reenact::store {
namespace {

using internal::Manifest;
using internal::SealedEntry;

// A file that cannot be opened, by what it is.
VerifyFinding Unreadable(const std::string& name, const absl::Status& status) {
  return {name, "segment", std::string(status.message())};
}

// A sealed segment is as the manifest says, and the manifest knows every sealed segment.
void CompareWithManifest(const std::string& name, bool read_only, const Manifest& manifest,
                         internal::SegmentCheck* check) {
  if (!check->findings.empty()) return;
  const auto entry = manifest.sealed.find(name);
  if (entry == manifest.sealed.end()) {
    // Between its last row and its line in the manifest a segment is not yet read-only.
    if (check->sealed && read_only && manifest.findings.empty())
      check->findings.push_back({name, "segment", "is sealed, and the manifest does not know it"});
    return;
  }
  const SealedEntry& sealed = entry->second;
  if (check->head_hex == sealed.head && check->rows == sealed.rows) return;
  if (check->head_hex == sealed.was) {
    check->findings.push_back(
        {name, "segment",
         absl::StrCat("its redaction (manifest line ", sealed.line,
                      ") was begun and not finished: run `reenact redact` again")});
    return;
  }
  std::string problem = absl::StrCat("is not what was sealed (manifest line ", sealed.line, ")");
  if (check->rows < sealed.rows)
    absl::StrAppend(&problem, ": rows ", check->rows + 1, " to ", sealed.rows, " are missing");
  check->findings.push_back({name, "segment", problem});
}

void AddMissing(const StoreLayout& layout, const Manifest& manifest, VerifyReport* report) {
  for (const auto& [name, sealed] : manifest.sealed) {
    if (manifest.pruned.contains(name)) continue;
    if (access(absl::StrCat(layout.segments(), "/", name).c_str(), F_OK) == 0) continue;
    report->findings.push_back(
        {name, "segment",
         absl::StrCat("is missing: it was sealed (manifest line ", sealed.line,
                      "), and nothing says that it was pruned")});
  }
}

bool IsReadOnly(const std::string& path) {
  struct stat status {};

  return stat(path.c_str(), &status) == 0 && (status.st_mode & 0222) == 0;
}

void Take(internal::SegmentCheck check, VerifyReport* report) {
  ++report->segments;
  report->records += check.rows;
  report->bodies += check.bodies;
  for (VerifyFinding& finding : check.findings) report->findings.push_back(std::move(finding));
}

// Marked runs, each a small file of its own inside incidents.db.
void VerifyPromoted(const StoreLayout& layout, VerifyReport* report) {
  static constexpr char kName[] = "incidents.db";
  const auto incidents = internal::IncidentDb::OpenForReading(layout.incidents());
  if (absl::IsNotFound(incidents.status())) return;
  const auto parts = incidents.ok() ? (*incidents)->PromotedParts() : incidents.status();
  if (!parts.ok()) {
    report->findings.push_back({kName, "incidents", std::string(parts.status().message())});
    return;
  }
  for (const auto& [run, part] : *parts) {
    const std::string record = absl::StrCat("copy of run ", ToString(run));
    const auto bytes = (*incidents)->PromotedRun(run);
    if (!bytes.ok() || !bytes->has_value()) {
      report->findings.push_back({kName, record, "cannot be read"});
      continue;
    }
    const auto file = internal::RecordFile::OpenBytes(**bytes, kName);
    if (!file.ok()) {
      report->findings.push_back({kName, record, std::string(file.status().message())});
      continue;
    }
    internal::SegmentCheck check = internal::CheckSegment(file->get());
    report->records += check.rows;
    report->bodies += check.bodies;
    for (VerifyFinding& finding : check.findings)
      report->findings.push_back(
          {kName, absl::StrCat(record, ": ", finding.record), finding.problem});
  }
}

VerifyReport VerifyFolder(const StoreLayout& layout,
                          const std::function<void(int64_t, int64_t)>& progress) {
  VerifyReport report;
  const Manifest manifest = internal::ReadManifest(layout);
  report.tombstones = static_cast<int64_t>(manifest.pruned.size());
  report.redactions = manifest.redactions;
  report.findings = manifest.findings;
  AddMissing(layout, manifest, &report);
  const std::vector<std::string> names = ListSegments(layout);
  const auto total = static_cast<int64_t>(names.size());
  int64_t done = 0;
  for (const std::string& name : names) {
    const std::string path = absl::StrCat(layout.segments(), "/", name);
    auto file = internal::RecordFile::Open(path);
    if (file.ok()) {
      internal::SegmentCheck check = internal::CheckSegment(file->get());
      CompareWithManifest(name, IsReadOnly(path), manifest, &check);
      Take(std::move(check), &report);
    } else if (!absl::IsNotFound(file.status()) || manifest.sealed.contains(name)) {
      ++report.segments;
      report.findings.push_back(Unreadable(name, file.status()));
    }
    if (progress) progress(++done, total);
  }
  VerifyPromoted(layout, &report);
  return report;
}

}  // namespace

absl::StatusOr<VerifyReport> VerifyStore(const std::string& path,
                                         const std::function<void(int64_t, int64_t)>& progress) {
  struct stat status {};

  if (stat(path.c_str(), &status) != 0) return internal::CannotRead(path);
  if (S_ISDIR(status.st_mode)) {
    const StoreLayout layout{path};
    if (absl::Status listed = internal::CheckSegmentsFolder(layout); !listed.ok()) return listed;
    return VerifyFolder(layout, progress);
  }
  auto file = internal::RecordFile::Open(path);
  if (!file.ok()) return file.status();
  VerifyReport report;
  internal::SegmentCheck check = internal::CheckSegment(file->get());
  if (!check.sealed && !(*file)->info.owner && check.findings.empty())
    check.findings.push_back({(*file)->info.name, "segment", "was not finished"});
  Take(std::move(check), &report);
  if (progress) progress(1, 1);
  return report;
}

}  // namespace reenact::store
