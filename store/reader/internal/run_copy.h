// Copies of marked runs, each the bytes of a bundle of that one run.

#ifndef REENACT_STORE_READER_INTERNAL_RUN_COPY_H_
#define REENACT_STORE_READER_INTERNAL_RUN_COPY_H_

#include <string>

#include "absl/status/statusor.h"

#include "schema/record.h"
#include "store/reader/internal/run_part.h"
#include "store/store_layout.h"

namespace reenact::store::internal {

struct RunCopy {
  std::string bundle;
  RunPart part;  // What lists show of it.
};

// Where a copy is made, before its bytes are taken.
std::string TemporaryCopyPath(const StoreLayout& layout);
// Removes those of processes that were killed while they made one. The caller holds the lock of
// incidents.db, under which all are made.
void RemoveTemporaryCopies(const StoreLayout& layout);
// Takes the bytes of the file at `path`, and removes it.
absl::StatusOr<std::string> TakeFile(const std::string& path);
// Errors: DataLoss.
absl::StatusOr<RunPart> PartOfCopy(const std::string& bundle, const schema::Ulid& run);

absl::StatusOr<RunCopy> CopyRun(schema::RecordedRun recorded, const StoreLayout& layout);

}  // namespace reenact::store::internal

#endif  // REENACT_STORE_READER_INTERNAL_RUN_COPY_H_
