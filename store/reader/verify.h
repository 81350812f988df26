// Checks that what was recorded is what is there: SQLite's own integrity, the chain of every
// segment, the digest of every body, the manifest of sealed segments.

#ifndef REENACT_STORE_READER_VERIFY_H_
#define REENACT_STORE_READER_VERIFY_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace reenact::store {

struct VerifyFinding {
  std::string segment;  // File name.
  std::string record;   // "event 17 of run 01J…", "body 34", "segment", "manifest line 3".
  std::string problem;  // "body does not match its digest", "missing: chain breaks before it".
};

// What the manifest accounts for: a segment, or something of it, is gone, and this program took it.
struct VerifyTombstone {
  enum class Kind : uint8_t { kPruned, kRedacted };
  Kind kind = Kind::kPruned;
  std::string segment;       // File name.
  std::string reason;        // "size_cap", "free_space_floor"; empty for a redaction.
  int64_t changed_rows = 0;  // Of a redaction.
  int64_t at_wall_ns = 0;
  int64_t line = 0;  // Of the manifest, from 1.
};

struct VerifyReport {
  int64_t segments = 0;
  int64_t records = 0;
  int64_t bodies = 0;
  std::vector<VerifyTombstone> tombstones;
  // What nothing vouches for yet: segments that are being written, or whose writer died. A sentence
  // each.
  std::vector<std::string> open_ends;
  std::vector<VerifyFinding> findings;  // First the first record that does not fit, per segment.
};

// `path` as for StoreReader::Open. `progress` (may be empty) gets (done, total) segments.
absl::StatusOr<VerifyReport> VerifyStore(const std::string& path,
                                         const std::function<void(int64_t, int64_t)>& progress);

}  // namespace reenact::store

#endif  // REENACT_STORE_READER_VERIFY_H_
