// Derives the parts of runs from the rows of one segment, from where an earlier scan stopped.

#ifndef REENACT_STORE_READER_INTERNAL_PART_SCAN_H_
#define REENACT_STORE_READER_INTERNAL_PART_SCAN_H_

#include <functional>
#include <map>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "schema/model_view.h"
#include "schema/record.h"
#include "store/reader/internal/run_part.h"
#include "store/reader/internal/search_text.h"
#include "store/reader/segment_reader.h"

namespace reenact::store::internal {

using RunParts = std::map<schema::Ulid, RunPart>;

// Adds to `*parts` what lies behind `*scanned_ordinal`, and moves that on. `on_event` (may be
// empty) sees every event with readable bodies. `damage` gets one sentence a damaged record.
struct PartScan {
  RunParts* parts = nullptr;
  int64_t* scanned_ordinal = nullptr;
  std::function<absl::Status(const schema::Event&, const schema::ModelView&)> on_event;
  std::function<void(std::string)> damage;
};

absl::Status ScanParts(SegmentReader* segment, const PartScan& scan);

// Adds the calls that are open at this moment. Not part of what is kept of an unsealed segment.
absl::Status AddOpenCalls(SegmentReader* segment, RunParts* parts);

// The text of one place as the index saw it, messages that were not new included. `sequence` 0: of
// the run itself. Empty when the record is not there.
absl::StatusOr<std::string> TextOf(SegmentReader* segment, const schema::Ulid& run,
                                   uint64_t sequence, TextPlace place);

}  // namespace reenact::store::internal

#endif  // REENACT_STORE_READER_INTERNAL_PART_SCAN_H_
