#include "store/reader/store_reader.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

#include "store/reader/catalog.h"
#include "store/reader/internal/id_prefix.h"
#include "store/reader/internal/incident_db.h"
#include "store/reader/internal/manifest_file.h"
#include "store/reader/internal/run_assembly.h"
#include "store/reader/internal/search_text.h"
#include "store/reader/internal/segment_set.h"

namespace reenact::store {
namespace {

// What incidents.db knows of runs.
struct RunsOfIncidents {
  std::map<schema::Ulid, internal::RunPart> promoted;
  std::map<schema::Ulid, std::vector<schema::Ulid>> incidents;  // By run.
};

bool IsEarlier(const RunSummary& a, const RunSummary& b) {
  return std::tie(a.started_wall_ns, a.id) < std::tie(b.started_wall_ns, b.id);
}

}  // namespace

struct StoreReader::Impl {
  absl::StatusOr<std::vector<RunSummary>> Summaries();
  absl::StatusOr<std::vector<RunHead>> Heads();
  // Null when there are no incidents, or none that can be read.
  std::unique_ptr<internal::IncidentDb> OpenIncidents();
  RunsOfIncidents ReadIncidents();
  absl::StatusOr<schema::RecordedRun> LoadFromSegments(const schema::Ulid& run,
                                                       const LoadOptions& options);
  // The copy that incidents.db keeps; NotFound when there is none.
  absl::StatusOr<schema::RecordedRun> LoadPromoted(internal::IncidentDb* incidents,
                                                   const schema::Ulid& run,
                                                   const LoadOptions& options);
  // The text that a match was found in, read again from where it lies; empty when that is gone.
  std::string TextOf(const TextMatch& match);
  // Failures inside a segment that must not hide the others.
  absl::Status Tolerate(const absl::Status& status);

  std::unique_ptr<internal::SegmentSet> segments;
  std::unique_ptr<Catalog> catalog;
};

absl::Status StoreReader::Impl::Tolerate(const absl::Status& status) {
  if (status.ok() || !segments->is_folder()) return status;
  segments->AddProblem(std::string(status.message()));
  return absl::OkStatus();
}

std::unique_ptr<internal::IncidentDb> StoreReader::Impl::OpenIncidents() {
  if (!segments->is_folder()) return nullptr;
  auto db = internal::IncidentDb::OpenForReading(segments->layout().incidents());
  if (db.ok()) return *std::move(db);
  if (!absl::IsNotFound(db.status())) segments->AddProblem(std::string(db.status().message()));
  return nullptr;
}

RunsOfIncidents StoreReader::Impl::ReadIncidents() {
  RunsOfIncidents runs;
  const auto db = OpenIncidents();
  if (db == nullptr) return runs;
  auto promoted = db->PromotedParts();
  const auto incidents = db->Incidents();
  for (const absl::Status& status : {promoted.status(), incidents.status()})
    if (!status.ok()) segments->AddProblem(std::string(status.message()));
  if (promoted.ok()) runs.promoted = *std::move(promoted);
  if (!incidents.ok()) return runs;
  for (const Incident& incident : *incidents) {
    for (const schema::Ulid& run : incident.runs) runs.incidents[run].push_back(incident.id);
  }
  return runs;
}

absl::StatusOr<std::vector<RunSummary>> StoreReader::Impl::Summaries() {
  auto scanned = catalog->Parts(segments.get());
  if (!scanned.ok()) return scanned.status();
  std::map<schema::Ulid, std::vector<internal::PlacedPart>> by_run;
  for (SegmentParts& segment : *scanned) {
    for (auto& [run, part] : segment.parts)
      by_run[run].push_back({std::move(part), segment.owner_alive, &segment.gaps});
  }
  RunsOfIncidents of_incidents = ReadIncidents();
  static const std::vector<schema::Gap> kNoGaps;
  // A copy is whole, whatever of its segments was pruned.
  for (auto& [run, part] : of_incidents.promoted)
    by_run[run] = {{std::move(part), false, &kNoGaps}};
  std::vector<RunSummary> summaries;
  for (const auto& [run, parts] : by_run) {
    auto summary = internal::MergeParts(parts);
    if (!summary) continue;
    for (const schema::Ulid& incident : of_incidents.incidents[run])
      internal::AddIncident(incident, &summary->incidents);
    summaries.push_back(*std::move(summary));
  }
  std::sort(summaries.begin(), summaries.end(), IsEarlier);
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
  for (const auto& [run, part] : ReadIncidents().promoted) {
    if (!part.run) continue;
    heads.emplace(run, RunHead{.id = run,
                               .origin = part.run->origin,
                               .started_wall_ns = part.run->started.wall_ns,
                               .trace_id = part.run->trace_id,
                               .ended = part.end.has_value()});
  }
  std::vector<RunHead> list;
  for (const auto& [id, head] : heads) list.push_back(head);
  return list;
}

absl::StatusOr<schema::RecordedRun> StoreReader::Impl::LoadPromoted(internal::IncidentDb* incidents,
                                                                    const schema::Ulid& run,
                                                                    const LoadOptions& options) {
  const auto bytes = incidents->PromotedRun(run);
  if (!bytes.ok()) return bytes.status();
  if (!bytes->has_value()) return absl::NotFoundError("no copy");
  auto copy = SegmentReader::OpenBytes(**bytes, "incidents.db");
  if (!copy.ok()) return copy.status();
  internal::RunAssembly assembly(run, options.bodies, options.damaged);
  if (absl::Status added = assembly.Add(copy->get()); !added.ok()) return added;
  auto recorded = assembly.Finish();
  if (!recorded) return absl::NotFoundError("no copy");
  return *std::move(recorded);
}

absl::StatusOr<schema::RecordedRun> StoreReader::Impl::LoadFromSegments(
    const schema::Ulid& run, const LoadOptions& options) {
  internal::RunAssembly assembly(run, options.bodies, options.damaged);
  absl::Status visited =
      segments->VisitAll([&](SegmentReader& segment) { return assembly.Add(&segment); });
  if (!visited.ok()) return visited;
  auto recorded = assembly.Finish();
  if (!recorded) return absl::NotFoundError(absl::StrCat("no run ", ToString(run)));
  return *std::move(recorded);
}

std::string StoreReader::Impl::TextOf(const TextMatch& match) {
  std::string text;
  const auto read = [&](SegmentReader& segment) {
    auto found = internal::TextOf(&segment, match.run, match.sequence, match.place);
    if (found.ok()) text = *std::move(found);
    return absl::OkStatus();
  };
  if (!absl::StartsWith(match.segment, kPromotedPrefix)) {
    (void)segments->Visit(match.segment, read);
    return text;
  }
  const auto incidents = OpenIncidents();
  if (incidents == nullptr) return text;
  const auto bytes = incidents->PromotedRun(match.run);
  if (!bytes.ok() || !bytes->has_value()) return text;
  auto copy = SegmentReader::OpenBytes(**bytes, "incidents.db");
  if (copy.ok()) (void)read(**copy);
  return text;
}

namespace {

// A file that is gone cannot fail to be read: the manifest tells of it. Of one that was only begun
// it may tell before the file is there.
void NoteMissing(internal::SegmentSet* segments) {
  internal::Manifest manifest = internal::ReadManifest(segments->layout());
  manifest.begun.clear();
  for (const auto& [name, problem] : internal::MissingSegments(segments->layout(), manifest))
    segments->AddProblem(absl::StrCat(name, " ", problem));
}

}  // namespace

StoreReader::StoreReader(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

StoreReader::~StoreReader() = default;

absl::StatusOr<std::unique_ptr<StoreReader>> StoreReader::Open(const std::string& path) {
  auto segments = internal::SegmentSet::Open(path);
  if (!segments.ok()) return segments.status();
  auto impl = std::make_unique<Impl>();
  impl->segments = *std::move(segments);
  if (impl->segments->is_folder()) NoteMissing(impl->segments.get());
  impl->catalog =
      Catalog::Open(impl->segments->is_folder() ? impl->segments->layout().catalog() : "");
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
  if (internal::IsLast(text)) {
    const RunHead* newest = nullptr;
    for (const RunHead& head : *heads) {
      if (head.origin == schema::RunOrigin::kReplay) continue;
      if (newest == nullptr || head.started_wall_ns >= newest->started_wall_ns) newest = &head;
    }
    if (newest == nullptr) return absl::NotFoundError("there is no recorded run");
    return newest->id;
  }
  std::vector<schema::Ulid> ids;
  for (const RunHead& head : *heads) ids.push_back(head.id);
  return internal::ResolvePrefix(text, "run", ids);
}

absl::StatusOr<schema::RecordedRun> StoreReader::LoadRun(const schema::Ulid& run,
                                                         const LoadOptions& options) {
  const auto incidents = impl_->OpenIncidents();
  if (incidents == nullptr) return impl_->LoadFromSegments(run, options);
  auto recorded = impl_->LoadPromoted(incidents.get(), run, {.bodies = options.bodies});
  // Without a whole copy, and as long as they are there, the segments tell.
  if (!recorded.ok()) {
    const absl::Status no_copy = recorded.status();
    recorded = impl_->LoadFromSegments(run, options);
    if (absl::IsNotFound(recorded.status()) && !absl::IsNotFound(no_copy)) return no_copy;
  }
  if (!recorded.ok()) return recorded;
  auto marks = incidents->MarksOf(run);
  if (!marks.ok()) return marks.status();
  for (schema::Mark& mark : *marks) {
    const auto same = [&](const schema::Mark& known) { return known.id == mark.id; };
    if (std::none_of(recorded->marks.begin(), recorded->marks.end(), same))
      recorded->marks.push_back(std::move(mark));
  }
  return recorded;
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
  const auto matches = impl_->catalog->Search(impl_->segments.get(), text, limit);
  if (!matches.ok()) return matches.status();
  std::vector<SearchHit> hits;
  for (const TextMatch& match : *matches) {
    hits.push_back({.run = match.run,
                    .sequence = match.sequence,
                    .where = std::string(ToString(match.place)),
                    .snippet = internal::Snippet(impl_->TextOf(match), text)});
  }
  std::reverse(hits.begin(), hits.end());
  return hits;
}

absl::StatusOr<Sightings> StoreReader::Seen(const SightingFilter& filter) {
  return impl_->catalog->Seen(impl_->segments.get(), filter);
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
