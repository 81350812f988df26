#include "store/writer/drain.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "store/format/tables.h"
#include "store/ring/internal/spill_file.h"
#include "store/store_layout.h"
#include "store/writer/internal/batch.h"
#include "store/writer/internal/carried_runs.h"
#include "store/writer/internal/record_redactor.h"

namespace reenact::store {
namespace {

// Losses that this side finds: records that are no use.
struct Unstored {
  uint64_t count = 0;
  uint64_t bytes = 0;
  uint64_t first_sequence = 0;
  uint64_t last_sequence = 0;

  void Add(const BatchItem& item) {
    if (count == 0) first_sequence = item.sequence;
    count += item.records;
    last_sequence = item.sequence;
    bytes += item.size;
  }
};

}  // namespace

struct Drain::Impl {
  Impl(Ring* given, bool adopt) : ring(given), adopt_unknown_runs(adopt) {}

  void Prepare(SegmentWriter* segment, bool everything);
  WriteCode WriteAll(SegmentWriter* segment, const std::vector<RingLoss>& losses);
  WriteCode Write(const BatchItem& item, SegmentWriter* segment);
  WriteCode WriteGaps(SegmentWriter* segment, const std::vector<RingLoss>& losses);
  void SetAside(BatchItem* item);
  bool Adopt(const BatchItem& item);
  bool LossesAreDue() const;
  void PaceGaps();
  void Settle(DrainResult* result);
  void Remember(BatchItem* item);

  Ring* const ring;
  const bool adopt_unknown_runs;
  CarriedRuns carried;
  std::shared_ptr<const schema::RedactionPolicy> policy;
  std::unique_ptr<RecordRedactor> redactor;  // Made of `policy`.
  std::optional<PreparedBatch> batch;        // Taken, and not yet stored.
  int64_t declared_at_ns = 0;                // Monotonic; 0: losses are due at once.
  int64_t gap_interval_ns = kFirstGapIntervalNs;
  schema::Moment gap_time;  // Of this batch: a repeated write gives the same rows.
};

Drain::Drain(Ring* ring, bool adopt_unknown_runs)
    : impl_(std::make_unique<Impl>(ring, adopt_unknown_runs)) {}

Drain::~Drain() = default;

uint64_t Drain::open_call_count() const {
  return impl_->carried.call_count();
}

bool Drain::HasOpenRuns() const {
  return !impl_->carried.empty();
}

WriteCode Drain::CarryOver(SegmentWriter* next, SegmentWriter* previous) {
  if (impl_->ring->durable()) {
    const WriteCode code = next->SetMeta(kMetaRing, impl_->ring->path());
    if (code != WriteCode::kOk) return code;
  }
  const WriteCode code = impl_->carried.CopyTo(next, previous);
  return code == WriteCode::kOk ? next->Commit() : code;
}

bool Drain::HasWork(SegmentWriter* segment, bool everything) {
  if (!impl_->batch) impl_->Prepare(segment, everything);
  if (impl_->batch->records > 0) return true;
  if (impl_->LossesAreDue()) return true;
  impl_->batch.reset();
  return false;
}

void Drain::DeclareLossesNow() {
  impl_->declared_at_ns = 0;
}

bool Drain::Impl::LossesAreDue() const {
  const bool in_time = declared_at_ns == 0 || MonotonicNowNs() - declared_at_ns >= gap_interval_ns;
  return in_time && !ring->UndeclaredLosses().empty();
}

// Losses that go on are told of less and less often; after a quiet time, at once again.
void Drain::Impl::PaceGaps() {
  const int64_t now = MonotonicNowNs();
  const bool quiet = now - declared_at_ns > 2 * gap_interval_ns;
  gap_interval_ns = quiet ? kFirstGapIntervalNs : std::min(gap_interval_ns * 2, kLastGapIntervalNs);
  declared_at_ns = now;
}

DrainResult Drain::Batch(SegmentWriter* segment, bool everything) {
  DrainResult result;
  if (!HasWork(segment, everything)) return result;
  std::vector<RingLoss> losses;
  if (everything || impl_->LossesAreDue()) losses = impl_->ring->UndeclaredLosses();
  // A record that contradicts the segment is set aside, and the rest written again without it.
  for (size_t tries = 2 * impl_->batch->items.size() + 1; tries > 0; --tries) {
    result.code = impl_->WriteAll(segment, losses);
    if (result.code != WriteCode::kInvalid) break;
  }
  if (result.code != WriteCode::kOk) return result;
  impl_->ring->Release();
  impl_->ring->DeclareLosses(losses);
  if (!losses.empty()) impl_->PaceGaps();
  impl_->Settle(&result);
  return result;
}

void Drain::Impl::Prepare(SegmentWriter* segment, bool everything) {
  std::vector<RingRecord> records;
  ring->Take(kBatchRecords, kBatchBytes, everything, &records);
  if (std::shared_ptr<const schema::RedactionPolicy> now = ring->CurrentPolicy(); now != policy) {
    redactor = std::make_unique<RecordRedactor>(*now);
    policy = std::move(now);
  }
  try {
    BatchBuilder builder(ring, redactor.get(), &carried, segment);
    batch = builder.Build(std::move(records));
  } catch (...) {
    ring->Rewind();
    throw;
  }
  gap_time = {WallNowNs(), MonotonicNowNs()};
}

WriteCode Drain::Impl::WriteAll(SegmentWriter* segment, const std::vector<RingLoss>& losses) {
  for (const schema::Run& run : batch->adopted) {
    const WriteCode code = segment->AddRun(run);
    if (code != WriteCode::kOk) return code;
  }
  for (BatchItem& item : batch->items) {
    const WriteCode code = Write(item, segment);
    if (code == WriteCode::kInvalid) SetAside(&item);
    if (code != WriteCode::kOk) return code;
  }
  const WriteCode code = WriteGaps(segment, losses);
  return code == WriteCode::kOk ? segment->Commit() : code;
}

// False: it names no run, or its run is not what is wrong with it.
bool Drain::Impl::Adopt(const BatchItem& item) {
  schema::Run run;
  if (const auto* end = std::get_if<schema::RunEnd>(&item.value)) run.id = end->run;
  if (const auto* added = std::get_if<RunComponent>(&item.value)) run.id = added->run;
  if (const auto* tags = std::get_if<RunTags>(&item.value)) run.id = tags->run;
  const schema::Event* event = nullptr;
  if (const auto* begun = std::get_if<BegunCall>(&item.value)) event = &begun->event;
  if (const auto* finished = std::get_if<FinishedCall>(&item.value)) event = &finished->whole();
  if (const auto* reading = std::get_if<Reading>(&item.value)) event = &reading->event;
  if (event != nullptr) {
    run.id = event->run;
    run.started = event->started;
  }
  const auto same = [&](const schema::Run& other) { return other.id == run.id; };
  if (run.id.IsZero() || std::any_of(batch->adopted.begin(), batch->adopted.end(), same)) {
    return false;
  }
  batch->adopted.push_back(std::move(run));
  return true;
}

// Its run is not in the segment: the record of that run was lost.
void Drain::Impl::SetAside(BatchItem* item) {
  if (adopt_unknown_runs && Adopt(*item)) return;
  if (const auto* finished = std::get_if<FinishedCall>(&item->value)) {
    if (finished->carried != nullptr) carried.EndCall(finished->carried->sequence);
  }
  item->value = Unusable{"unknown_run"};
}

WriteCode Drain::Impl::Write(const BatchItem& item, SegmentWriter* segment) {
  struct Writer {
    SegmentWriter* segment;

    WriteCode operator()(const schema::Run& run) { return segment->AddRun(run); }

    WriteCode operator()(const schema::RunEnd& end) { return segment->AddRunEnd(end); }

    WriteCode operator()(const RunComponent& added) {
      return segment->AddComponent(added.run, added.component);
    }

    WriteCode operator()(const schema::Mark& mark) { return segment->AddMark(mark); }

    WriteCode operator()(const RunTags& tags) { return segment->AddTags(tags.run, tags.tags); }

    WriteCode operator()(const BegunCall& call) { return segment->AddOpenCall(call.event); }

    WriteCode operator()(const FinishedCall& call) { return segment->AddEvent(call.whole()); }

    WriteCode operator()(const Reading& reading) { return segment->AddEvent(reading.event); }

    WriteCode operator()(const Unusable&) { return WriteCode::kOk; }
  };

  return std::visit(Writer{segment}, item.value);
}

WriteCode Drain::Impl::WriteGaps(SegmentWriter* segment, const std::vector<RingLoss>& losses) {
  std::vector<schema::Gap> gaps;
  for (const RingLoss& loss : losses) {
    gaps.push_back({gap_time, std::string(ToString(loss.reason)), loss.count, loss.bytes,
                    loss.first_sequence, loss.last_sequence});
  }
  std::map<std::string, Unstored> unstored;
  for (const BatchItem& item : batch->items) {
    if (const auto* unusable = std::get_if<Unusable>(&item.value)) {
      unstored[unusable->reason].Add(item);
    }
  }
  for (const auto& [reason, loss] : unstored) {
    gaps.push_back(
        {gap_time, reason, loss.count, loss.bytes, loss.first_sequence, loss.last_sequence});
  }
  for (const schema::Gap& gap : gaps) {
    const WriteCode code = segment->AddGap(gap);
    if (code != WriteCode::kOk) return code;
  }
  return WriteCode::kOk;
}

// Everything is in the segment.
void Drain::Impl::Settle(DrainResult* result) {
  for (BatchItem& item : batch->items) {
    if (std::holds_alternative<Unusable>(item.value)) result->lost += item.records;
    Remember(&item);
  }
  for (const std::string& spill : batch->spills) RemoveSpill(spill);
  result->spilled_bytes_freed = batch->spilled_bytes;
  result->records = batch->records - result->lost;
  result->bytes = batch->bytes;
  batch.reset();
}

void Drain::Impl::Remember(BatchItem* item) {
  if (auto* run = std::get_if<schema::Run>(&item->value)) carried.AddRun(std::move(*run));
  if (auto* end = std::get_if<schema::RunEnd>(&item->value)) carried.EndRun(end->run);
  if (auto* added = std::get_if<RunComponent>(&item->value)) {
    carried.AddComponent(added->run, added->component);
  }
  if (auto* tags = std::get_if<RunTags>(&item->value)) carried.AddTags(tags->run, tags->tags);
  if (auto* begun = std::get_if<BegunCall>(&item->value)) carried.AddCall(std::move(begun->event));
  if (auto* finished = std::get_if<FinishedCall>(&item->value)) {
    if (finished->carried != nullptr) carried.EndCall(finished->carried->sequence);
  }
}

}  // namespace reenact::store
