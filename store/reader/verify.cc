#include "store/reader/verify.h"

#include <sys/stat.h>
#include <unistd.h>

#include <map>

#include "absl/strings/str_cat.h"

#include "store/format/file_digest.h"
#include "store/reader/internal/incidents_check.h"
#include "store/reader/internal/manifest_file.h"
#include "store/reader/internal/record_file.h"
#include "store/reader/internal/segment_check.h"
#include "store/reader/internal/segment_set.h"
#include "store/store_layout.h"

namespace reenact::store {
namespace {

using internal::Manifest;
using internal::SealedEntry;
using internal::SegmentCheck;

void Add(const std::string& name, std::string problem, SegmentCheck* check) {
  check->findings.push_back({name, "segment", std::move(problem)});
}

bool IsReadOnly(const std::string& path) {
  struct stat status {};

  return stat(path.c_str(), &status) == 0 && (status.st_mode & 0222) == 0;
}

// A segment that was not sealed, as far as the manifest knows: its recorder is at work, or died, or
// it was put there.
void CheckUnsealed(const SegmentInfo& info, bool was_begun, SegmentCheck* check,
                   std::vector<std::string>* open_ends) {
  const bool is_alive = info.owner && IsAlive(*info.owner);
  // It becomes read-only after its line is written.
  if (is_alive && !(check->sealed && IsReadOnly(info.path))) {
    open_ends->push_back(absl::StrCat(info.name, " is being written"));
  } else if (was_begun) {
    open_ends->push_back(
        absl::StrCat(info.name, " was not sealed: its writer died. Nothing vouches for its end"));
  } else {
    Add(info.name, "is there, and the manifest does not know it", check);
  }
}

// A sealed segment is as the manifest says, to its last byte.
void CompareWithEntry(const SegmentInfo& info, const SealedEntry& sealed, SegmentCheck* check) {
  if (!sealed.was.empty() && check->head_hex == sealed.was) {
    Add(info.name,
        absl::StrCat("its redaction (manifest line ", sealed.line,
                     ") was begun and not finished: run `reenact redact` again"),
        check);
    return;
  }
  if (check->head_hex != sealed.head || check->rows != sealed.rows) {
    std::string problem = absl::StrCat("is not what was sealed (manifest line ", sealed.line, ")");
    if (check->rows < sealed.rows)
      absl::StrAppend(&problem, ": rows ", check->rows + 1, " to ", sealed.rows, " are missing");
    Add(info.name, std::move(problem), check);
    return;
  }
  schema::Digest digest{};
  if (sealed.sha256.empty()) return;
  if (DigestOfFile(info.path, &digest) != 0)
    Add(info.name, "cannot be read to its end", check);
  else if (schema::ToHex(digest) != sealed.sha256)
    Add(info.name,
        absl::StrCat("has other bytes than when it was sealed (manifest line ", sealed.line,
                     "), where no record lies"),
        check);
}

// One pass over a store's folder.
class FolderCheck {
 public:
  explicit FolderCheck(const StoreLayout& layout)
      : layout_(layout), manifest_(internal::ReadManifest(layout)) {}

  VerifyReport Run(const std::function<void(int64_t, int64_t)>& progress) {
    const std::vector<std::string> names = ListSegments(layout_);
    AddMissing();
    const auto total = static_cast<int64_t>(names.size());
    int64_t done = 0;
    for (const std::string& name : names) {
      CheckOne(name);
      if (progress) progress(++done, total);
    }
    internal::CheckIncidents(layout_, manifest_, &report_);
    report_.tombstones = std::move(manifest_.tombstones);
    report_.findings.insert(report_.findings.begin(), manifest_.findings.begin(),
                            manifest_.findings.end());
    return std::move(report_);
  }

 private:
  std::string PathOf(const std::string& name) const {
    return absl::StrCat(layout_.segments(), "/", name);
  }

  void AddMissing() {
    for (auto& [name, problem] : internal::MissingSegments(layout_, manifest_))
      report_.findings.push_back({name, "segment", std::move(problem)});
  }

  void CheckOne(const std::string& name) {
    auto file = internal::RecordFile::Open(PathOf(name));
    if (!file.ok()) {
      // Gone meanwhile, or being begun.
      if (absl::IsNotFound(file.status()) && !manifest_.sealed.contains(name)) return;
      ++report_.segments;
      report_.findings.push_back({name, "segment", std::string(file.status().message())});
      return;
    }
    SegmentCheck check = internal::CheckSegment(file->get());
    // What a damaged manifest does not say proves nothing.
    if (check.findings.empty() && manifest_.findings.empty()) Compare((*file)->info, &check);
    ++report_.segments;
    report_.records += check.rows;
    report_.bodies += check.bodies;
    for (VerifyFinding& finding : check.findings) report_.findings.push_back(std::move(finding));
  }

  void Compare(const SegmentInfo& info, SegmentCheck* check) {
    auto entry = manifest_.sealed.find(info.name);
    if (entry == manifest_.sealed.end()) {
      // Perhaps it was begun or sealed since the manifest was read.
      Manifest now = internal::ReadManifest(layout_);
      manifest_.begun.merge(now.begun);
      const auto since = now.sealed.find(info.name);
      if (check->sealed && since != now.sealed.end()) entry = manifest_.sealed.insert(*since).first;
    }
    if (entry == manifest_.sealed.end())
      return CheckUnsealed(info, manifest_.begun.contains(info.name), check, &report_.open_ends);
    if (manifest_.pruned.contains(info.name)) {
      Add(info.name, "is there, though it was pruned", check);
    } else {
      CompareWithEntry(info, entry->second, check);
    }
  }

  const StoreLayout& layout_;
  Manifest manifest_;
  VerifyReport report_;
};

// A bundle, or a segment away from its store: what it says of itself.
void CheckEnd(const SegmentInfo& info, SegmentCheck* check) {
  if (info.owner) return;
  if (!check->sealed) return Add(info.name, "was not finished", check);
  switch (CheckDigestLine(info.path)) {
    case DigestLine::kFits:
      return;
    case DigestLine::kMissing:
      return Add(info.name, "does not end in its digest: its end was cut off", check);
    case DigestLine::kDiffers:
      return Add(info.name, "does not match its digest, where no record lies", check);
    case DigestLine::kUnreadable:
      return Add(info.name, "cannot be read to its end", check);
  }
}

}  // namespace

absl::StatusOr<VerifyReport> VerifyStore(const std::string& path,
                                         const std::function<void(int64_t, int64_t)>& progress) {
  struct stat status {};

  if (stat(path.c_str(), &status) != 0) return internal::CannotRead(path);
  if (S_ISDIR(status.st_mode)) {
    const StoreLayout layout{path};
    if (absl::Status listed = internal::CheckSegmentsFolder(layout); !listed.ok()) return listed;
    return FolderCheck(layout).Run(progress);
  }
  auto file = internal::RecordFile::Open(path);
  if (!file.ok()) return file.status();
  SegmentCheck check = internal::CheckSegment(file->get());
  if (check.findings.empty()) CheckEnd((*file)->info, &check);
  VerifyReport report{.segments = 1, .records = check.rows, .bodies = check.bodies};
  report.findings = std::move(check.findings);
  if (progress) progress(1, 1);
  return report;
}

}  // namespace reenact::store
