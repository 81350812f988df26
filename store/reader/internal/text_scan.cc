#include "store/reader/internal/text_scan.h"

#include <set>
#include <string>
#include <utility>

#include "store/reader/internal/part_scan.h"

namespace reenact::store::internal {

absl::Status TextScan::Add(SegmentReader* segment, int64_t* scanned_ordinal) {
  RunParts ignored;
  absl::Status scanned = ScanParts(
      segment, {.parts = &ignored,
                .scanned_ordinal = scanned_ordinal,
                .on_event = [&](const schema::Event& event,
                                const schema::ModelView& view) { return AddEvent(event, view); },
                .damage = [](const std::string&) {}});
  return scanned.ok() ? AddRuns(segment) : scanned;
}

absl::Status TextScan::SaveSeen() {
  for (const auto& [run, hashes] : seen_) {
    for (const uint64_t hash : hashes) {
      absl::Status added = catalog_.Kept(catalog_.db().AddSeen(run, hash));
      if (!added.ok()) return added;
    }
  }
  return absl::OkStatus();
}

absl::Status TextScan::AddEvent(const schema::Event& event, const schema::ModelView& view) {
  SeenMessages* seen = nullptr;
  if (event.boundary == schema::Boundary::kModel) {
    auto loaded = SeenOf(event.run);
    if (!loaded.ok()) return loaded.status();
    seen = *loaded;
  }
  for (const SearchDocument& document : DocumentsOf(event, view, seen)) {
    absl::Status added = catalog_.Kept(catalog_.db().AddDocument(
        {segment_, event.run, event.sequence, event.started.wall_ns}, document));
    if (!added.ok()) return added;
  }
  return absl::OkStatus();
}

absl::Status TextScan::AddRuns(SegmentReader* segment) {
  const auto indexed = catalog_.Kept(catalog_.db().RunDocuments(segment_));
  if (!indexed.ok()) return indexed.status();
  std::set<std::pair<schema::Ulid, TextPlace>> there;
  for (const TextMatch& match : *indexed) there.emplace(match.run, match.place);
  return segment->ForEachRun(true, [&](RunRow row) {
    const auto add = [&](TextPlace place, const schema::Body& body) {
      if (there.contains({row.run.id, place})) return absl::OkStatus();
      return AddBody(row.run.id, row.run.started.wall_ns, place, body);
    };
    absl::Status added = add(TextPlace::kInput, row.run.input);
    if (added.ok() && row.end) added = add(TextPlace::kOutput, row.end->output);
    return added;
  });
}

absl::Status TextScan::AddBody(const schema::Ulid& run, int64_t at_wall_ns, TextPlace place,
                               const schema::Body& body) {
  const std::string text = ReadableText(body.bytes);
  if (text.empty()) return absl::OkStatus();
  return catalog_.Kept(catalog_.db().AddDocument({segment_, run, 0, at_wall_ns}, {place, text}));
}

absl::StatusOr<SeenMessages*> TextScan::SeenOf(const schema::Ulid& run) {
  const auto [there, is_new] = seen_.try_emplace(run);
  if (is_new && load_seen_) {
    auto loaded = catalog_.Kept(catalog_.db().Seen(run));
    if (!loaded.ok()) return loaded.status();
    there->second = *std::move(loaded);
  }
  return &there->second;
}

}  // namespace reenact::store::internal
