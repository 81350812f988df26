#include "store/reader/internal/segment_set.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"

#include "store/format/posix_file.h"
#include "store/reader/internal/record_file.h"
#include "store/writer/drain.h"

namespace reenact::store::internal {
namespace {

// Each open segment may keep 32 MiB of decoded bodies.
constexpr size_t kMaxOpenSegments = 4;
// A segment that is being begun is empty for a moment, hardly for so long.
constexpr int64_t kBeginningNs = 10'000'000'000;

// Whether a segment that cannot be read is to be told of. One that is just now begun has neither
// its mark nor its id yet, and one that is gone was removed. What stays without a byte has lost
// what it held: a copy that was cut short, a file system that was not shut down.
bool IsWorthTelling(const std::string& path, const absl::Status& failure) {
  struct stat status {};

  if (stat(path.c_str(), &status) != 0) return !absl::IsNotFound(failure);
  const bool is_young =
      S_ISREG(status.st_mode) && (status.st_mode & 0200) != 0 &&
      WallNowNs() - int64_t{status.st_mtim.tv_sec} * 1'000'000'000 <= kBeginningNs;
  if (absl::IsNotFound(failure)) return status.st_size == 0 && !is_young;
  return !is_young || !failure.GetPayload(kUnmarkedPayload).has_value();
}

}  // namespace

absl::Status CannotRead(const std::string& path) {
  const std::string text = absl::StrCat(path, ": ", strerror(errno));
  return errno == EACCES || errno == EPERM ? absl::PermissionDeniedError(text)
                                           : absl::NotFoundError(text);
}

absl::Status CheckSegmentsFolder(const StoreLayout& layout) {
  const std::string segments = layout.segments();

  struct stat status {};

  if (stat(segments.c_str(), &status) == 0 && !S_ISDIR(status.st_mode))
    return absl::NotFoundError(
        absl::StrCat(layout.root, " is no store: ", segments, " is no folder"));
  if (access(segments.c_str(), R_OK | X_OK) == 0) return absl::OkStatus();
  if (errno != ENOENT) return CannotRead(segments);
  return absl::NotFoundError(absl::StrCat(layout.root, " is no store: it has no segments folder"));
}

absl::StatusOr<std::unique_ptr<SegmentSet>> SegmentSet::Open(const std::string& path) {
  struct stat status {};

  if (stat(path.c_str(), &status) != 0) return CannotRead(path);
  auto set = std::make_unique<SegmentSet>();
  if (!S_ISDIR(status.st_mode)) {
    set->file_path_ = path;
    auto reader = SegmentReader::Open(path);
    if (!reader.ok()) return reader.status();
    const FileStamp stamp = set->StampOf((*reader)->info().name);
    if ((*reader)->info().sealed) set->sealed_.push_front({*std::move(reader), stamp});
    return set;
  }
  set->is_folder_ = true;
  set->layout_.root = path;
  // What was promoted outlives the segments.
  const bool has_incidents = access(set->layout_.segments().c_str(), F_OK) != 0 &&
                             errno == ENOENT && access(set->layout_.incidents().c_str(), R_OK) == 0;
  if (absl::Status usable = CheckSegmentsFolder(set->layout_); !usable.ok() && !has_incidents)
    return usable;
  // What a dead process acknowledged and did not get to the disk is part of the record: it is
  // brought home first, where we may.
  if (access(path.c_str(), W_OK) == 0 && access(set->layout_.segments().c_str(), W_OK) == 0) {
    for (std::string& problem : RecoverStore(path).problems) set->AddProblem(std::move(problem));
  }
  return set;
}

std::string SegmentSet::PathOf(const std::string& name) const {
  return is_folder_ ? absl::StrCat(layout_.segments(), "/", name) : file_path_;
}

std::vector<std::string> SegmentSet::Names() const {
  if (is_folder_) return ListSegments(layout_);
  return {FileNameOf(file_path_)};
}

absl::Status SegmentSet::Visit(const std::string& name,
                               const std::function<absl::Status(SegmentReader&)>& visit) {
  const FileStamp stamp = StampOf(name);
  const auto found = std::find_if(sealed_.begin(), sealed_.end(), [&](const Sealed& sealed) {
    return sealed.reader->info().name == name;
  });
  if (found != sealed_.end() && found->stamp == stamp) {
    sealed_.splice(sealed_.begin(), sealed_, found);
    return visit(*sealed_.front().reader);
  }
  if (found != sealed_.end()) sealed_.erase(found);
  auto reader = SegmentReader::Open(PathOf(name));
  if (!reader.ok()) {
    if (IsWorthTelling(PathOf(name), reader.status()))
      AddProblem(std::string(reader.status().message()));
    return absl::OkStatus();
  }
  SegmentReader& opened = **reader;
  if (opened.info().sealed) {
    sealed_.push_front({*std::move(reader), stamp});
    if (sealed_.size() > kMaxOpenSegments) sealed_.pop_back();
  }
  return visit(opened);
}

absl::Status SegmentSet::VisitAll(const std::function<absl::Status(SegmentReader&)>& visit) {
  for (const std::string& name : Names()) {
    if (absl::Status visited = Visit(name, visit); !visited.ok()) return visited;
  }
  return absl::OkStatus();
}

FileStamp SegmentSet::StampOf(const std::string& name) const {
  struct stat status {};

  if (stat(PathOf(name).c_str(), &status) != 0) return {};
  return {int64_t{status.st_size},
          int64_t{status.st_mtim.tv_sec} * 1'000'000'000 + int64_t{status.st_mtim.tv_nsec}};
}

void SegmentSet::Reopen(const std::string& name) {
  sealed_.remove_if([&](const Sealed& sealed) { return sealed.reader->info().name == name; });
}

void SegmentSet::AddProblem(std::string sentence) {
  if (std::find(problems_.begin(), problems_.end(), sentence) == problems_.end())
    problems_.push_back(std::move(sentence));
}

}  // namespace reenact::store::internal
