// What a signature signs: the few bytes that commit to all the rest. Of a store the manifest as far
// as it goes, which holds the heads and digests of all that was sealed and all tombstones; of a
// bundle the whole file.

#ifndef REENACT_STORE_READER_EVIDENCE_HEAD_H_
#define REENACT_STORE_READER_EVIDENCE_HEAD_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"

#include "schema/sha256.h"

namespace reenact::store {

struct EvidenceHead {
  bool is_store = false;
  schema::Digest sha256{};      // Of the file, or of the lines.
  int64_t bytes = 0;            // As many.
  int64_t lines = 0;            // Of the manifest of a store.
  schema::Digest first_line{};  // Tells a store from another: its first line is never another.
};

// `path` as for VerifyStore. Of a store: the first `lines` lines of its manifest; 0: all that are
// whole. Nothing is checked here.
// Errors: NotFound; PermissionDenied; FailedPrecondition (nothing was sealed yet); OutOfRange (the
// manifest has fewer lines).
absl::StatusOr<EvidenceHead> ReadEvidenceHead(const std::string& path, int64_t lines);

}  // namespace reenact::store

#endif  // REENACT_STORE_READER_EVIDENCE_HEAD_H_
