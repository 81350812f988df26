// An incident as one file, to hand over, to commit, to replay elsewhere; and the way back.

#ifndef REENACT_STORE_READER_BUNDLE_H_
#define REENACT_STORE_READER_BUNDLE_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "schema/record.h"

namespace reenact::store {

struct Bundle {
  std::vector<schema::RecordedRun> runs;  // The incident's own run first.
  schema::Tags meta;                      // Provenance, fixture expectations; sorted when written.
};

// Writes a bundle. Bits: the same bundle gives the same bytes. Written beside `path` and renamed.
// Errors: AlreadyExists unless `replace`; PermissionDenied; ResourceExhausted.
absl::Status WriteBundle(const Bundle& bundle, const std::string& path, bool replace);
// Errors: as StoreReader::Open, DataLoss.
absl::StatusOr<Bundle> ReadBundle(const std::string& path);
// Adds the runs of a bundle to a store, as a sealed segment, redacted as all that is recorded. Runs
// that are there already are left alone; the same id with other content is DataLoss. Returns the
// number added.
absl::StatusOr<int64_t> ImportRuns(const Bundle& bundle, const std::string& store_path);

// One JSON object a line: a header line, then runs, components, events, ends, in order. Bytes that
// are not UTF-8 travel as {"base64": "..."}. Reading it back gives an equal Bundle.
std::string ToJsonl(const Bundle& bundle);
absl::StatusOr<Bundle> FromJsonl(const std::string& text);

}  // namespace reenact::store

#endif  // REENACT_STORE_READER_BUNDLE_H_
