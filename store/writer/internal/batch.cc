#include "store/writer/internal/batch.h"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <utility>

#include "store/ring/internal/spill_file.h"

namespace reenact::store {
namespace {

constexpr Unusable kDamaged{"damaged"};
constexpr Unusable kUnpaired{"unpaired"};

RecordKind KindOf(const RingRecord& record) {
  return static_cast<RecordKind>(record.kind);
}

}  // namespace

BatchBuilder::BatchBuilder(const Ring* ring, const RecordRedactor* redactor, CarriedRuns* carried,
                           SegmentWriter* segment)
    : ring_(ring), redactor_(redactor), carried_(carried), segment_(segment) {}

PreparedBatch BatchBuilder::Build(std::vector<RingRecord> records) {
  // Where in `batch_.items` the calls of this batch begin.
  std::unordered_map<uint64_t, size_t> begun;
  for (RingRecord& record : records) {
    ++batch_.records;
    batch_.bytes += record.payload.size();
    BatchItem item{record.sequence, record.payload.size(), 1, kDamaged};
    if (KindOf(record) == RecordKind::kCallEnd) {
      std::optional<EndedCall> ended = DecodeCallEnd(record.payload);
      const auto begin = ended ? begun.find(ended->end.begin_sequence) : begun.end();
      if (begin != begun.end()) {
        BatchItem& first = batch_.items[begin->second];
        FinishedCall finished{std::move(std::get<BegunCall>(first.value).event), nullptr};
        Complete(record.sequence, std::move(*ended), &finished.event);
        item.value = std::move(finished);
        item.size += first.size;
        item.records += first.records;
        first.sequence = 0;  // It stands at its end now.
        begun.erase(begin);
      } else if (ended) {
        JoinEnd(record.sequence, std::move(*ended), &item);
      }
    } else {
      item.value = Decode(record);
      if (std::holds_alternative<BegunCall>(item.value)) {
        begun.emplace(record.sequence, batch_.items.size());
      }
    }
    batch_.items.push_back(std::move(item));
    std::string().swap(record.payload);
  }
  std::erase_if(batch_.items, [](const BatchItem& item) { return item.sequence == 0; });
  return std::move(batch_);
}

BatchValue BatchBuilder::Decode(const RingRecord& record) {
  const auto redacted = [&](auto decoded) -> BatchValue {
    if (!decoded) return kDamaged;
    redactor_->Redact(&*decoded);
    return std::move(*decoded);
  };
  switch (KindOf(record)) {
    case RecordKind::kRun:
      return redacted(DecodeRun(record.payload));
    case RecordKind::kRunEnd:
      return redacted(DecodeRunEnd(record.payload));
    case RecordKind::kMark:
      return redacted(DecodeMark(record.payload));
    case RecordKind::kComponent: {
      std::optional<RunComponent> decoded = DecodeComponent(record.payload);
      if (!decoded) return kDamaged;
      redactor_->Redact(&decoded->component);
      return std::move(*decoded);
    }
    case RecordKind::kTags: {
      std::optional<RunTags> decoded = DecodeTags(record.payload);
      if (!decoded) return kDamaged;
      redactor_->Redact(&decoded->tags);
      return std::move(*decoded);
    }
    case RecordKind::kReading: {
      std::optional<schema::Event> event = DecodeReading(record.payload);
      if (!event) return kDamaged;
      event->sequence = event->end_sequence = record.sequence;
      redactor_->RedactBegin(&*event);
      return Reading{std::move(*event)};
    }
    case RecordKind::kCallBegin:
      return DecodeBegin(record);
    case RecordKind::kCallEnd:
      break;
  }
  return kDamaged;
}

BatchValue BatchBuilder::DecodeBegin(const RingRecord& record) {
  std::optional<CallBegin> begin = DecodeCallBegin(record.payload);
  if (!begin) return kDamaged;
  begin->event.sequence = record.sequence;
  FetchSpilled(begin->spilled, &begin->event.request);
  redactor_->RedactBegin(&begin->event);
  return BegunCall{std::move(begin->event)};
}

void BatchBuilder::JoinEnd(uint64_t end_sequence, EndedCall ended, BatchItem* item) {
  const uint64_t sequence = ended.end.begin_sequence;
  FinishedCall finished;
  finished.carried = carried_->FindCall(sequence);
  if (finished.carried == nullptr) {
    if (segment_ == nullptr || !segment_->FindOpenCall(sequence, &finished.event)) {
      item->value = kUnpaired;
      RemoveLater(ended.end.spilled);
      return;
    }
    finished.event.sequence = sequence;
  } else if (carried_->RequestIsElsewhere(sequence)) {
    FetchRequest(finished.carried);
  }
  schema::Event* const event = finished.carried != nullptr ? finished.carried : &finished.event;
  Complete(end_sequence, std::move(ended), event);
  item->value = std::move(finished);
}

void BatchBuilder::FetchRequest(schema::Event* begin) {
  schema::Event stored;
  if (segment_ != nullptr && segment_->FindOpenCall(begin->sequence, &stored)) {
    begin->request = std::move(stored.request);
  }
}

void BatchBuilder::Complete(uint64_t end_sequence, EndedCall ended, schema::Event* event) {
  event->end_sequence = end_sequence;
  event->elapsed_ns = ended.end.elapsed_ns;
  event->end_state = ended.end.state;
  event->end_detail = std::move(ended.end.detail);
  event->response = {};
  event->response.bytes = std::move(ended.response);
  FetchSpilled(ended.end.spilled, &event->response);
  event->exchange = schema::DecodeExchange(ended.end.exchange).value_or(schema::Exchange{});
  if (event->response.cut) TrimExchange(event->response.bytes.size(), &event->exchange);
  redactor_->RedactEnd(event, &ended.end.meta);
  event->meta.insert(event->meta.end(), ended.end.meta.begin(), ended.end.meta.end());
}

void BatchBuilder::FetchSpilled(const SpilledBody& spilled, schema::Body* body) {
  if (spilled.cut) {
    body->cut = true;
    body->original_size = spilled.original_size;
    body->original_digest = spilled.original_digest;
  }
  // The path comes out of memory that the host could have overwritten.
  if (spilled.path.empty() || !ring_->IsSpill(spilled.path)) return;
  ReadSpill(spilled.path, spilled.size, &body->bytes);
  if (body->bytes.size() < spilled.size && !body->cut) {
    body->cut = true;
    body->original_size = spilled.size;
  }
  RemoveLater(spilled);
}

void BatchBuilder::RemoveLater(const SpilledBody& spilled) {
  if (spilled.path.empty() || !ring_->IsSpill(spilled.path)) return;
  batch_.spills.push_back(spilled.path);
  batch_.spilled_bytes += spilled.size;
}

}  // namespace reenact::store
