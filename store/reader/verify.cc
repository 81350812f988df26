#include "store/reader/verify.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <sstream>

#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"

#include "store/format/chain.h"
#include "store/reader/internal/incident_db.h"
#include "store/reader/internal/record_file.h"
#include "store/reader/internal/segment_check.h"
#include "store/reader/internal/segment_set.h"
#include "store/store_layout.h"

namespace reenact::store {
namespace {

constexpr char kManifestName[] = "manifest.jsonl";
constexpr uintmax_t kMaxManifestBytes = uintmax_t{256} << 20;

std::optional<std::string> ReadFile(const std::string& path) {
  struct stat status {};

  if (stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode) ||
      static_cast<uintmax_t>(status.st_size) > kMaxManifestBytes)
    return std::nullopt;
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  if (in.peek() != std::ifstream::traits_type::eof()) text << in.rdbuf();
  if (!in.good() && !in.eof()) return std::nullopt;
  return text.str();
}

// A member as a string; empty when it is missing or something else.
std::string TextOf(const nlohmann::json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

struct SealedEntry {
  std::string head;
  int64_t rows = 0;
  int64_t line = 0;
};

struct Manifest {
  std::map<std::string, SealedEntry> sealed;
  std::set<std::string> pruned;
  std::vector<VerifyFinding> findings;
};

// Reads lines until one does not fit: what follows it proves nothing.
class ManifestReader {
 public:
  explicit ManifestReader(std::string key) : key_(std::move(key)) {}

  Manifest Read(const std::string& text) {
    size_t begin = 0;
    for (int64_t number = 1; begin < text.size(); ++number) {
      const size_t end = text.find('\n', begin);
      // A line without its end is one whose writer died: it never counted.
      if (end == std::string::npos) break;
      const std::string problem = Add(text.substr(begin, end - begin), number);
      if (!problem.empty()) {
        manifest_.findings.push_back(
            {kManifestName, absl::StrCat("manifest line ", number), problem});
        break;
      }
      begin = end + 1;
    }
    return std::move(manifest_);
  }

 private:
  std::string Add(const std::string& line, int64_t number) {
    std::string unsigned_line;
    std::string mac;
    if (!CheckManifestLine(line, key_, &unsigned_line, &mac)) {
      return mac.empty() ? "is no line of a manifest"
                         : "does not fit the store's key: it was changed or put there";
    }
    const auto fields = nlohmann::json::parse(unsigned_line, nullptr, false);
    if (!fields.is_object()) return "is no line of a manifest";
    if (TextOf(fields, "previous") != previous_)
      return "does not follow the line before it: one was removed or moved";
    previous_ = mac;
    if (const std::string name = TextOf(fields, "segment"); !name.empty()) {
      const auto rows = fields.find("rows");
      const bool counted = rows != fields.end() && rows->is_number_integer();
      manifest_.sealed[name] = {TextOf(fields, "head"), counted ? rows->get<int64_t>() : 0, number};
    } else if (const std::string pruned = TextOf(fields, "pruned"); !pruned.empty()) {
      manifest_.pruned.insert(pruned);
    }
    return {};
  }

  std::string key_;
  std::string previous_;
  Manifest manifest_;
};

Manifest ReadManifest(const StoreLayout& layout) {
  Manifest manifest;
  const auto text = ReadFile(layout.manifest());
  if (!text) {
    if (access(layout.manifest().c_str(), F_OK) == 0)
      manifest.findings.push_back({kManifestName, "manifest", "cannot be read"});
    return manifest;
  }
  const auto key = ReadFile(layout.key_file());
  if (!key) {
    manifest.findings.push_back(
        {kManifestName, "manifest", "cannot be checked: store.key is missing or cannot be read"});
    return manifest;
  }
  return ManifestReader(*key).Read(*text);
}

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
  const Manifest manifest = ReadManifest(layout);
  report.tombstones = static_cast<int64_t>(manifest.pruned.size());
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
