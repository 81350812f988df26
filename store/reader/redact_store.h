// Redacts what was recorded already: the whole of a store, or a bundle, under a policy that is
// stricter than the one it was recorded with.
//
// What goes, goes from everywhere in the store: bodies with their salts, columns, frames that were
// made with it as their prefix, copies of marked runs, notes, and the index for search, which is
// emptied and made anew by whoever searches next. A sealed segment is written anew, beside the old
// one, and takes its place in one step; the manifest says so. Killed at any point, the store reads
// as before or after, and the next redaction ends what was begun.
//
// What it does not reach: segments that a process writes (seal them first), files outside of the
// store that it is not told of, and blocks of the disk that no file has any more.

#ifndef REENACT_STORE_READER_REDACT_STORE_H_
#define REENACT_STORE_READER_REDACT_STORE_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include "schema/redaction.h"
#include "schema/ulid.h"

namespace reenact::store {

struct RedactionOptions {
  schema::RedactionPolicy policy;
  bool dry_run = false;              // Says what would change, and writes nothing at all.
  std::vector<std::string> bundles;  // Files outside of the store to be redacted as well.
  std::function<void(int64_t, int64_t)> progress;  // May be empty. (done, total) files.
};

struct RedactedRecord {
  std::string file;                // Name of the segment or bundle, or "incidents.db".
  schema::Ulid run;                // Zero where the record belongs to none.
  std::string record;              // "event 17", "input", "tag customer".
  std::vector<std::string> parts;  // What of it: "request", "endpoint", "value".
};

struct RedactionReport {
  int64_t files = 0;                    // Looked into.
  int64_t rewritten = 0;                // Or, in a dry run, what would be.
  std::vector<RedactedRecord> records;  // What was changed.
  // What was left as it is, a sentence each: being written, damaged, not known to the manifest.
  std::vector<std::string> left;
};

// `path`: a store folder or one bundle. Problems of one file do not keep the others: see `left`.
// Errors: InvalidArgument (a policy that erases nothing could tell from ordinary text), NotFound,
// PermissionDenied, Unavailable (another redaction is at work), DataLoss (the manifest does not
// fit its key).
absl::StatusOr<RedactionReport> RedactStore(const std::string& path,
                                            const RedactionOptions& options);

}  // namespace reenact::store

#endif  // REENACT_STORE_READER_REDACT_STORE_H_
