// Whole runs into a file of their own: bundles, imports, promoted runs.

#ifndef REENACT_STORE_READER_INTERNAL_RUN_WRITER_H_
#define REENACT_STORE_READER_INTERNAL_RUN_WRITER_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "schema/record.h"
#include "store/writer/segment_writer.h"

namespace reenact::store::internal {

absl::Status ToStatus(WriteCode code, const std::string& why);

absl::StatusOr<std::unique_ptr<SegmentWriter>> OpenWriter(const SegmentOptions& options);

// Writes all rows of `runs`, as kMetaGrouped describes. Each run is committed by itself, unless the
// writer is deterministic.
// Errors: InvalidArgument when a run's sequences are not distinct numbers from 1 below
// kGroupStride.
absl::Status WriteRuns(const std::vector<const schema::RecordedRun*>& runs, SegmentWriter* writer);

}  // namespace reenact::store::internal

#endif  // REENACT_STORE_READER_INTERNAL_RUN_WRITER_H_
