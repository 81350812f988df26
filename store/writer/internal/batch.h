// Records of the ring on their way to rows: decoded, redacted, ends joined to their beginnings.

#ifndef REENACT_STORE_WRITER_INTERNAL_BATCH_H_
#define REENACT_STORE_WRITER_INTERNAL_BATCH_H_

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "schema/record.h"
#include "store/ring/ring.h"
#include "store/ring/ring_record.h"
#include "store/writer/internal/carried_runs.h"
#include "store/writer/internal/record_redactor.h"
#include "store/writer/segment_writer.h"

namespace reenact::store {

// A call that begins in this batch and does not end in it.
struct BegunCall {
  schema::Event event;
};

// A call that ends in this batch, whole. Either it began here as well, or it is an open one.
struct FinishedCall {
  schema::Event event;               // Unless `carried`.
  schema::Event* carried = nullptr;  // In CarriedRuns, completed in place.

  const schema::Event& whole() const { return carried != nullptr ? *carried : event; }
};

struct Reading {
  schema::Event event;
};

// Cannot be stored: `reason` is what its gap row says.
struct Unusable {
  const char* reason = "";
};

using BatchValue = std::variant<schema::Run, schema::RunEnd, RunComponent, schema::Mark, RunTags,
                                BegunCall, FinishedCall, Reading, Unusable>;

struct BatchItem {
  uint64_t sequence = 0;
  size_t size = 0;  // In the ring.
  uint64_t records = 1;
  BatchValue value;
};

// What was taken from the ring at once.
struct PreparedBatch {
  std::vector<schema::Run> adopted;  // Runs without particulars, to be written first.
  std::vector<BatchItem> items;  // In order; a call that began and ended here stands at its end.
  uint64_t records = 0;
  uint64_t bytes = 0;
  std::vector<std::string> spills;  // Files to remove once everything is stored.
  uint64_t spilled_bytes = 0;
};

class BatchBuilder {
 public:
  // `ring` says which spill files are its own. `segment` is asked for open calls that memory does
  // not have (after a restart), and may be null.
  BatchBuilder(const Ring* ring, const RecordRedactor* redactor, CarriedRuns* carried,
               SegmentWriter* segment);

  PreparedBatch Build(std::vector<RingRecord> records);

 private:
  BatchValue Decode(const RingRecord& record);
  BatchValue DecodeBegin(const RingRecord& record);
  void JoinEnd(uint64_t end_sequence, EndedCall ended, BatchItem* item);
  void Complete(uint64_t end_sequence, EndedCall ended, schema::Event* event);
  void FetchSpilled(const SpilledBody& spilled, schema::Body* body);
  void RemoveLater(const SpilledBody& spilled);
  void FetchRequest(schema::Event* begin);

  const Ring* ring_;
  const RecordRedactor* redactor_;
  CarriedRuns* carried_;
  SegmentWriter* segment_;
  PreparedBatch batch_;
};

}  // namespace reenact::store

#endif  // REENACT_STORE_WRITER_INTERNAL_BATCH_H_
