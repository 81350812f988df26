#include "store/reader/internal/part_scan.h"

#include <algorithm>

namespace reenact::store::internal {
namespace {

using RunIds = std::map<int64_t, schema::Ulid>;

absl::StatusOr<RunIds> ScanRuns(SegmentReader* segment, RunParts* parts) {
  RunIds ids;
  absl::Status scanned = segment->ForEachRun(false, [&](RunRow row) {
    ids.emplace(row.ordinal, row.run.id);
    RunPart& part = (*parts)[row.run.id];
    part.run = std::move(row.run);
    part.end = std::move(row.end);
    return absl::OkStatus();
  });
  if (!scanned.ok()) return scanned;
  return ids;
}

absl::Status ScanMarks(SegmentReader* segment, RunParts* parts) {
  const auto marks = segment->Marks();
  if (!marks.ok()) return marks.status();
  for (const schema::Mark& mark : *marks) AddIncident(mark.id, &(*parts)[mark.run].incidents);
  return absl::OkStatus();
}

// The gaps of grouped files are the run's own.
absl::Status ScanOwnGaps(SegmentReader* segment, const RunIds& ids, RunParts* parts) {
  if (!segment->info().grouped) return absl::OkStatus();
  for (const auto& [ordinal, run] : ids) {
    const auto gaps = segment->Gaps(ordinal);
    if (!gaps.ok()) return gaps.status();
    uint64_t& lost_events = (*parts)[run].lost_events;
    lost_events = 0;
    for (const schema::Gap& gap : *gaps) lost_events += gap.count;
  }
  return absl::OkStatus();
}

schema::ModelView ViewOf(const schema::Event& event) {
  return event.boundary == schema::Boundary::kModel ? schema::ViewModelCall(event)
                                                    : schema::ModelView();
}

}  // namespace

absl::Status ScanParts(SegmentReader* segment, const PartScan& scan) {
  const auto ids = ScanRuns(segment, scan.parts);
  if (!ids.ok()) return ids.status();
  if (absl::Status scanned = ScanMarks(segment, scan.parts); !scanned.ok()) return scanned;
  if (absl::Status scanned = ScanOwnGaps(segment, *ids, scan.parts); !scanned.ok()) return scanned;
  return segment->ForEachEvent(*scan.scanned_ordinal, [&](EventRow row) {
    *scan.scanned_ordinal = std::max(*scan.scanned_ordinal, row.ordinal);
    const auto run = ids->find(row.run);
    if (run == ids->end()) return absl::OkStatus();
    row.event.run = run->second;
    RunPart* part = &(*scan.parts)[run->second];
    if (!row.damage.ok()) {
      AddDamagedEvent(row.event, part);
      scan.damage(std::string(row.damage.message()));
      return absl::OkStatus();
    }
    const schema::ModelView view = ViewOf(row.event);
    AddEvent(row.event, view, part);
    return scan.on_event ? scan.on_event(row.event, view) : absl::OkStatus();
  });
}

absl::Status AddOpenCalls(SegmentReader* segment, RunParts* parts) {
  const auto calls = segment->OpenCalls();
  if (!calls.ok()) return calls.status();
  if (calls->empty()) return absl::OkStatus();
  RunParts discarded;
  const auto ids = ScanRuns(segment, &discarded);
  if (!ids.ok()) return ids.status();
  for (const EventRow& row : *calls) {
    const auto run = ids->find(row.run);
    if (run != ids->end()) AddEvent(row.event, ViewOf(row.event), &(*parts)[run->second]);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> TextOf(SegmentReader* segment, const schema::Ulid& run,
                                   uint64_t sequence, TextPlace place) {
  const bool of_run = place == TextPlace::kInput || place == TextPlace::kOutput;
  const auto row = segment->FindRun(run, of_run);
  if (!row.ok()) return row.status();
  if (!row->has_value()) return std::string();
  if (place == TextPlace::kInput) return ReadableText((*row)->run.input.bytes);
  if (place == TextPlace::kOutput)
    return (*row)->end ? ReadableText((*row)->end->output.bytes) : std::string();
  const auto event = segment->FindEvent((*row)->ordinal, sequence);
  if (!event.ok()) return event.status();
  if (!event->has_value()) return std::string();
  for (SearchDocument& document : DocumentsOf(**event, ViewOf(**event), nullptr)) {
    if (document.place == place) return std::move(document.text);
  }
  return std::string();
}

}  // namespace reenact::store::internal
