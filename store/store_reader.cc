#include "store/store_reader.h"

#include <algorithm>
#include <map>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include "store/internal/part_scan.h"
#include "store/internal/run_assembly.h"
#include "store/internal/segment_set.h"

namespace reenact::store {
namespace {

constexpr size_t kMinPrefix = 4;
constexpr size_t kUlidLength = 26;
constexpr size_t kListedCandidates = 10;

std::string Upper(std::string text) {
  for (char& c : text) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  }
  return text;
}

// Everything that a segment contributes to a list.
struct SegmentParts {
  bool owner_alive = false;
  internal::RunParts parts;
  std::vector<schema::Gap> gaps;
};

}  // namespace

struct StoreReader::Impl {
  absl::Status ScanSegment(SegmentReader& segment, SegmentParts* out);
  absl::StatusOr<std::vector<RunSummary>> Summaries();
  absl::StatusOr<std::vector<RunHead>> Heads();
  // Failures inside a segment that must not hide the others.
  absl::Status Tolerate(const absl::Status& status);

  std::unique_ptr<internal::SegmentSet> segments;
};

absl::Status StoreReader::Impl::Tolerate(const absl::Status& status) {
  if (status.ok() || !segments->is_folder()) return status;
  segments->AddProblem(std::string(status.message()));
  return absl::OkStatus();
}

absl::Status StoreReader::Impl::ScanSegment(SegmentReader& segment, SegmentParts* out) {
  out->owner_alive = segment.info().owner_alive;
  int64_t scanned_ordinal = 0;
  absl::Status scanned = internal::ScanParts(
      &segment, {.parts = &out->parts,
                 .scanned_ordinal = &scanned_ordinal,
                 .damage = [this](std::string text) { segments->AddProblem(std::move(text)); }});
  if (scanned.ok()) scanned = internal::AddOpenCalls(&segment, &out->parts);
  if (!scanned.ok()) return scanned;
  auto gaps = segment.Gaps(0);
  if (!gaps.ok()) return gaps.status();
  out->gaps = *std::move(gaps);
  return absl::OkStatus();
}

absl::StatusOr<std::vector<RunSummary>> StoreReader::Impl::Summaries() {
  std::vector<std::unique_ptr<SegmentParts>> scanned;
  absl::Status visited = segments->VisitAll([&](SegmentReader& segment) {
    scanned.push_back(std::make_unique<SegmentParts>());
    return Tolerate(ScanSegment(segment, scanned.back().get()));
  });
  if (!visited.ok()) return visited;
  std::map<schema::Ulid, std::vector<internal::PlacedPart>> by_run;
  for (const auto& segment : scanned) {
    for (auto& [run, part] : segment->parts)
      by_run[run].push_back({std::move(part), segment->owner_alive, &segment->gaps});
  }
  std::vector<RunSummary> summaries;
  for (const auto& [run, parts] : by_run) {
    if (auto summary = internal::MergeParts(parts)) summaries.push_back(*std::move(summary));
  }
  std::sort(summaries.begin(), summaries.end(), [](const RunSummary& a, const RunSummary& b) {
    return std::tie(a.started_wall_ns, a.id) < std::tie(b.started_wall_ns, b.id);
  });
  return summaries;
}

absl::StatusOr<std::vector<RunHead>> StoreReader::Impl::Heads() {
  std::map<schema::Ulid, RunHead> heads;
  absl::Status visited = segments->VisitAll([&](SegmentReader& segment) {
    const auto found = segment.RunHeads();
    if (!found.ok()) return Tolerate(found.status());
    for (const RunHead& head : *found) heads.emplace(head.id, head);
    return absl::OkStatus();
  });
  if (!visited.ok()) return visited;
  std::vector<RunHead> list;
  for (const auto& [id, head] : heads) list.push_back(head);
  return list;
}

StoreReader::StoreReader(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

StoreReader::~StoreReader() = default;

absl::StatusOr<std::unique_ptr<StoreReader>> StoreReader::Open(const std::string& path) {
  auto segments = internal::SegmentSet::Open(path);
  if (!segments.ok()) return segments.status();
  auto impl = std::make_unique<Impl>();
  impl->segments = *std::move(segments);
  return std::unique_ptr<StoreReader>(new StoreReader(std::move(impl)));
}

absl::StatusOr<std::vector<RunSummary>> StoreReader::ListRuns(const RunFilter& filter) {
  auto summaries = impl_->Summaries();
  if (!summaries.ok()) return summaries.status();
  std::erase_if(*summaries,
                [&](const RunSummary& summary) { return !internal::Matches(summary, filter); });
  const auto limit = static_cast<size_t>(std::max<int64_t>(filter.limit, 0));
  if (limit != 0 && summaries->size() > limit)
    summaries->erase(summaries->begin(), summaries->end() - static_cast<ptrdiff_t>(limit));
  return summaries;
}

absl::StatusOr<schema::Ulid> StoreReader::ResolveRun(const std::string& text) {
  const auto heads = impl_->Heads();
  if (!heads.ok()) return heads.status();
  const std::string prefix = Upper(text);
  if (prefix == "LAST") {
    const RunHead* newest = nullptr;
    for (const RunHead& head : *heads) {
      if (head.origin == schema::RunOrigin::kReplay) continue;
      if (newest == nullptr || head.started_wall_ns >= newest->started_wall_ns) newest = &head;
    }
    if (newest == nullptr) return absl::NotFoundError("there is no recorded run");
    return newest->id;
  }
  if (prefix.size() < kMinPrefix || prefix.size() > kUlidLength) {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", text, "\" is no run id: give \"last\", an id, or at least its first ",
                     kMinPrefix, " characters"));
  }
  std::vector<std::string> matches;
  for (const RunHead& head : *heads) {
    std::string id = ToString(head.id);
    if (id.compare(0, prefix.size(), prefix) == 0) matches.push_back(std::move(id));
  }
  if (matches.empty()) return absl::NotFoundError(absl::StrCat("no run \"", text, "\""));
  if (matches.size() > 1) {
    const size_t count = matches.size();
    matches.resize(std::min(count, kListedCandidates));
    return absl::InvalidArgumentError(absl::StrCat("\"", text, "\" is the beginning of ", count,
                                                   " runs: ", absl::StrJoin(matches, ", "),
                                                   count > matches.size() ? ", ..." : ""));
  }
  return *schema::ParseUlid(matches.front());
}

absl::StatusOr<schema::RecordedRun> StoreReader::LoadRun(const schema::Ulid& run,
                                                         const LoadOptions& options) {
  internal::RunAssembly assembly(run, options.bodies);
  absl::Status visited =
      impl_->segments->VisitAll([&](SegmentReader& segment) { return assembly.Add(&segment); });
  if (!visited.ok()) return visited;
  auto recorded = assembly.Finish();
  if (!recorded) return absl::NotFoundError(absl::StrCat("no run ", ToString(run)));
  return *std::move(recorded);
}

absl::StatusOr<RunSummary> StoreReader::Summarize(const schema::Ulid& run) {
  auto summaries = impl_->Summaries();
  if (!summaries.ok()) return summaries.status();
  for (RunSummary& summary : *summaries) {
    if (summary.id == run) return std::move(summary);
  }
  return absl::NotFoundError(absl::StrCat("no run ", ToString(run)));
}

absl::StatusOr<std::vector<SearchHit>> StoreReader::Search(const std::string& text, int64_t limit) {
  (void)text, (void)limit;
  return absl::UnimplementedError("search");
}

const std::vector<std::string>& StoreReader::problems() const {
  return impl_->segments->problems();
}

bool StoreReader::is_bundle() const {
  return !impl_->segments->is_folder();
}

absl::StatusOr<schema::Tags> StoreReader::Meta() {
  schema::Tags meta;
  if (impl_->segments->is_folder()) return meta;
  absl::Status visited = impl_->segments->VisitAll([&](SegmentReader& segment) {
    auto read = segment.Meta();
    if (read.ok()) meta = *std::move(read);
    return read.status();
  });
  if (!visited.ok()) return visited;
  return meta;
}

}  // namespace reenact::store
