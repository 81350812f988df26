#include "store/reader/internal/catalog_scan.h"

#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

#include "store/reader/catalog.h"
#include "store/reader/internal/incident_db.h"
#include "store/reader/internal/sighting_scan.h"
#include "store/reader/internal/text_scan.h"

namespace reenact::store::internal {
namespace {

ModelCallRow RowOf(const schema::Event& event, const schema::ModelView& view) {
  ModelCallRow row{.run = event.run,
                   .sequence = event.sequence,
                   .started_wall_ns = event.started.wall_ns,
                   .asked_model = view.asked_model,
                   .served_model = view.served_model,
                   .fingerprint = view.system_fingerprint};
  for (const schema::Choice& choice : view.choices) {
    int64_t unknown = 0;
    row.near_ties += static_cast<int64_t>(
        schema::FindNearTies(choice.logprobs, schema::kNearTieNats, &unknown).size());
    row.margins_unknown += unknown;
    for (const schema::TokenLogprob& token : choice.logprobs.tokens) {
      ++row.logprob_tokens;
      if (!token.chosen.censored) row.logprob_sum_nats += token.chosen.logprob;
    }
  }
  return row;
}

}  // namespace

absl::Status CatalogScan::UpdateParts() {
  live_.clear();
  if (absl::Status done = ForgetGone(segments_.Names()); !done.ok()) return done;
  return VisitUnfinished(&CatalogSegment::parts,
                         [this](SegmentReader& segment, CatalogSegment entry) {
                           return ScanParts(segment, std::move(entry));
                         });
}

absl::Status CatalogScan::UpdateText() {
  const auto mostly_dead = catalog_.Kept(catalog_.db().IsMostlyDead());
  if (!mostly_dead.ok()) return mostly_dead.status();
  if (*mostly_dead) {
    catalog_.StartAnew();
    if (absl::Status done = UpdateParts(); !done.ok()) return done;
  }
  absl::Status done =
      VisitUnfinished(&CatalogSegment::text, [this](SegmentReader& segment, CatalogSegment entry) {
        return ScanText(segment, std::move(entry));
      });
  return done.ok() ? IndexPromoted() : done;
}

absl::Status CatalogScan::VisitUnfinished(CatalogProgress CatalogSegment::*progress,
                                          const Work& work) {
  auto known = catalog_.Kept(catalog_.db().Segments());
  if (!known.ok()) return known.status();
  for (const std::string& name : segments_.Names()) {
    CatalogSegment entry = (*known)[name];
    if ((entry.*progress).final) {
      // A sealed file never changes: another one has its name, or somebody wrote into it.
      if (entry.stamp == segments_.StampOf(name)) continue;
      segments_.Reopen(name);
    }
    entry.name = name;
    absl::Status visited =
        segments_.Visit(name, [&](SegmentReader& segment) { return work(segment, entry); });
    if (visited.ok()) continue;
    if (catalog_.failed() || !segments_.is_folder()) return visited;
    catalog_.db().Rollback();
    segments_.AddProblem(std::string(visited.message()));
  }
  return absl::OkStatus();
}

absl::Status CatalogScan::ForgetGone(const std::vector<std::string>& names) {
  const auto known = catalog_.Kept(catalog_.db().Segments());
  if (!known.ok()) return known.status();
  const std::set<std::string> present(names.begin(), names.end());
  for (const auto& [name, entry] : *known) {
    if (present.contains(name) || absl::StartsWith(name, kPromotedPrefix)) continue;
    if (absl::Status done = catalog_.Kept(catalog_.db().Begin()); !done.ok()) return done;
    if (absl::Status done = catalog_.Kept(catalog_.db().Forget(entry.id)); !done.ok()) return done;
    if (absl::Status done = catalog_.Kept(catalog_.db().Commit()); !done.ok()) return done;
  }
  return absl::OkStatus();
}

absl::Status CatalogScan::ScanParts(SegmentReader& segment, CatalogSegment entry) {
  const SegmentInfo& info = segment.info();
  const FileStamp stamp = segments_.StampOf(info.name);
  const auto row_count = segment.RowCount();
  if (!row_count.ok()) return row_count.status();
  if (!info.sealed) {
    Live& now = live_[info.name];
    now = {.owner_alive = info.owner_alive, .open_calls = {}};
    if (absl::Status added = AddOpenCalls(&segment, &now.open_calls); !added.ok()) return added;
    if (entry.parts.row_count == *row_count) return absl::OkStatus();
  }
  if (absl::Status done = catalog_.Kept(catalog_.db().Begin()); !done.ok()) return done;
  // Fewer rows than were seen, or a sealed file with another stamp: it took the place of the one
  // that was seen. What cannot be read does not come so far, and its runs stay listed.
  if (*row_count < entry.parts.row_count || (entry.parts.final && entry.stamp != stamp)) {
    if (absl::Status done = catalog_.Kept(catalog_.db().Forget(entry.id)); !done.ok()) return done;
    entry = CatalogSegment{.name = info.name};
  }
  if (absl::Status done = catalog_.Kept(catalog_.db().Put(&entry)); !done.ok()) return done;
  auto parts = catalog_.Kept(catalog_.db().Parts(entry.id));
  if (!parts.ok()) return parts.status();
  SightingScan sightings(&*parts);
  absl::Status scanned = internal::ScanParts(
      &segment,
      {.parts = &*parts,
       .scanned_ordinal = &entry.parts.scanned_ordinal,
       .on_event =
           [&](const schema::Event& event, const schema::ModelView& view) {
             sightings.AddEvent(event, view);
             if (event.boundary != schema::Boundary::kModel) return absl::OkStatus();
             return catalog_.Kept(catalog_.db().AddModelCall(entry.id, RowOf(event, view)));
           },
       .damage = [&](std::string text) { segments_.AddProblem(std::move(text)); }});
  if (scanned.ok()) scanned = sightings.AddRunsAndComponents(&segment, &entry.component_ordinal);
  if (scanned.ok()) {
    scanned = catalog_.Kept(catalog_.db().AddSightings(entry.id, sightings.maps()));
  }
  if (scanned.ok() && info.sealed) scanned = AddOpenCalls(&segment, &*parts);
  if (!scanned.ok()) return scanned;
  if (!info.grouped) {
    auto gaps = segment.Gaps(0);
    if (!gaps.ok()) return gaps.status();
    entry.gaps = *std::move(gaps);
  }
  entry.parts.row_count = *row_count;
  entry.parts.final = info.sealed;
  entry.stamp = stamp;
  if (absl::Status done = catalog_.Kept(catalog_.db().PutParts(entry.id, *parts)); !done.ok())
    return done;
  if (absl::Status done = catalog_.Kept(catalog_.db().Put(&entry)); !done.ok()) return done;
  return catalog_.Kept(catalog_.db().Commit());
}

absl::Status CatalogScan::ScanText(SegmentReader& segment, CatalogSegment entry) {
  const auto row_count = segment.RowCount();
  if (!row_count.ok()) return row_count.status();
  if (entry.text.row_count == *row_count && !segment.info().sealed) return absl::OkStatus();
  if (absl::Status done = catalog_.Kept(catalog_.db().Begin()); !done.ok()) return done;
  if (*row_count < entry.text.row_count) {
    absl::Status done = catalog_.Kept(catalog_.db().ForgetText(entry.id));
    if (!done.ok()) return done;
    entry.text = {};
  }
  if (absl::Status done = catalog_.Kept(catalog_.db().Put(&entry)); !done.ok()) return done;
  TextScan text(&catalog_, entry.id);
  absl::Status added = text.Add(&segment, &entry.text.scanned_ordinal);
  if (added.ok()) added = text.SaveSeen();
  if (!added.ok()) return added;
  entry.text.row_count = *row_count;
  entry.text.final = segment.info().sealed;
  if (absl::Status done = catalog_.Kept(catalog_.db().Put(&entry)); !done.ok()) return done;
  return catalog_.Kept(catalog_.db().Commit());
}

// Runs that are only copies in incidents.db any more are found as well.
absl::Status CatalogScan::IndexPromoted() {
  if (!segments_.is_folder()) return absl::OkStatus();
  auto incidents = IncidentDb::OpenForReading(segments_.layout().incidents());
  if (!incidents.ok()) return absl::OkStatus();  // Told by whoever needs them.
  const auto promoted = (*incidents)->PromotedParts();
  if (!promoted.ok()) return absl::OkStatus();
  const auto known = catalog_.Kept(catalog_.db().Segments());
  if (!known.ok()) return known.status();
  for (const auto& [run, part] : *promoted) {
    CatalogSegment entry{.name = absl::StrCat(kPromotedPrefix, ToString(run))};
    if (known->contains(entry.name)) continue;
    const auto bytes = (*incidents)->PromotedRun(run);
    if (!bytes.ok() || !bytes->has_value()) continue;
    auto copy = SegmentReader::OpenBytes(**bytes, "incidents.db");
    if (!copy.ok()) continue;
    if (absl::Status done = catalog_.Kept(catalog_.db().Begin()); !done.ok()) return done;
    if (absl::Status done = catalog_.Kept(catalog_.db().Put(&entry)); !done.ok()) return done;
    TextScan text(&catalog_, entry.id);
    text.ForgetEarlierMessages();
    int64_t scanned_ordinal = 0;
    absl::Status added = text.Add(copy->get(), &scanned_ordinal);
    if (catalog_.failed()) return added;
    if (absl::Status done = catalog_.Kept(catalog_.db().Commit()); !done.ok()) return done;
  }
  return absl::OkStatus();
}

}  // namespace reenact::store::internal
