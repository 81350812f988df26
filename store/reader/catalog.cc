#include "store/reader/catalog.h"

#include <set>
#include <tuple>
#include <utility>

#include "store/reader/internal/catalog_db.h"
#include "store/reader/internal/catalog_file.h"
#include "store/reader/internal/catalog_scan.h"

namespace reenact::store {

using internal::CatalogScan;
using internal::SegmentSet;

Catalog::Catalog(const std::string& path) : file_(std::make_unique<internal::CatalogFile>(path)) {}

Catalog::~Catalog() = default;

std::unique_ptr<Catalog> Catalog::Open(const std::string& path) {
  return std::unique_ptr<Catalog>(new Catalog(path));
}

bool Catalog::is_persistent() const {
  return file_->is_persistent();
}

absl::StatusOr<std::vector<SegmentParts>> Catalog::Parts(SegmentSet* segments) {
  std::vector<SegmentParts> list;
  absl::Status updated = file_->Update([&] {
    list.clear();
    CatalogScan scan(file_.get(), segments);
    if (absl::Status done = scan.UpdateParts(); !done.ok()) return done;
    const auto known = file_->Kept(file_->db().Segments());
    if (!known.ok()) return known.status();
    for (const std::string& name : segments->Names()) {
      const auto entry = known->find(name);
      SegmentParts& parts = list.emplace_back();
      parts.segment = name;
      if (entry != known->end()) {
        auto kept = file_->Kept(file_->db().Parts(entry->second.id));
        if (!kept.ok()) return kept.status();
        parts.parts = *std::move(kept);
        parts.gaps = entry->second.gaps;
      }
      const auto live = scan.live().find(name);
      if (live == scan.live().end()) continue;
      parts.owner_alive = live->second.owner_alive;
      for (const auto& [run, open] : live->second.open_calls) {
        auto& unfinished = parts.parts[run].unfinished;
        unfinished.insert(unfinished.end(), open.unfinished.begin(), open.unfinished.end());
      }
    }
    return absl::OkStatus();
  });
  if (!updated.ok()) return updated;
  return list;
}

absl::StatusOr<std::vector<TextMatch>> Catalog::Search(SegmentSet* segments,
                                                       const std::string& words, int64_t limit) {
  const std::string query = internal::QuoteQuery(words);
  std::vector<TextMatch> matches;
  if (query.empty()) return matches;
  absl::Status updated = file_->Update([&] {
    matches.clear();
    CatalogScan scan(file_.get(), segments);
    absl::Status done = scan.UpdateParts();
    if (done.ok()) done = scan.UpdateText();
    if (!done.ok()) return done;
    // A marked run may be there twice: in its segment, and as a copy.
    const auto found = file_->Kept(file_->db().Match(query, 2 * limit));
    if (!found.ok()) return found.status();
    std::set<std::tuple<schema::Ulid, uint64_t, internal::TextPlace>> told;
    for (const TextMatch& match : *found) {
      if (limit > 0 && static_cast<int64_t>(matches.size()) == limit) break;
      if (told.emplace(match.run, match.sequence, match.place).second) matches.push_back(match);
    }
    return absl::OkStatus();
  });
  if (!updated.ok()) return updated;
  return matches;
}

absl::StatusOr<std::vector<ModelCallRow>> Catalog::ModelCalls(SegmentSet* segments,
                                                              int64_t since_wall_ns,
                                                              int64_t until_wall_ns) {
  std::vector<ModelCallRow> calls;
  absl::Status updated = file_->Update([&] {
    CatalogScan scan(file_.get(), segments);
    if (absl::Status done = scan.UpdateParts(); !done.ok()) return done;
    auto found = file_->Kept(file_->db().ModelCalls(since_wall_ns, until_wall_ns));
    if (found.ok()) calls = *std::move(found);
    return found.status();
  });
  if (!updated.ok()) return updated;
  return calls;
}

absl::StatusOr<Sightings> Catalog::Seen(SegmentSet* segments, const SightingFilter& filter) {
  Sightings sightings;
  absl::Status updated = file_->Update([&] {
    CatalogScan scan(file_.get(), segments);
    if (absl::Status done = scan.UpdateParts(); !done.ok()) return done;
    auto found = file_->Kept(file_->db().ReadSightings(filter));
    if (found.ok()) sightings = *std::move(found);
    return found.status();
  });
  if (!updated.ok()) return updated;
  return sightings;
}

}  // namespace reenact::store
