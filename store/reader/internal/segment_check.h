// Everything that can be checked of one file of records by itself.

#ifndef REENACT_STORE_READER_INTERNAL_SEGMENT_CHECK_H_
#define REENACT_STORE_READER_INTERNAL_SEGMENT_CHECK_H_

#include <string>

#include "absl/status/status.h"

#include "store/reader/internal/record_file.h"
#include "store/reader/verify.h"

namespace reenact::store::internal {

struct SegmentCheck {
  bool sealed = false;
  int64_t rows = 0;
  int64_t bodies = 0;
  std::string head_hex;  // Of the chain; empty where it breaks.
  std::vector<VerifyFinding> findings;
};

// SQLite's integrity, the chain row by row, every body's digest. What is wrong is a finding, never
// an error.
SegmentCheck CheckSegment(RecordFile* file);

}  // namespace reenact::store::internal

#endif  // REENACT_STORE_READER_INTERNAL_SEGMENT_CHECK_H_
