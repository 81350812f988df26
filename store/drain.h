// From the ring to the segment: redaction, pairing of call beginnings and ends, spill files. The
// writer thread runs it while the process lives, recovery runs it once after the process died.

#ifndef REENACT_STORE_DRAIN_H_
#define REENACT_STORE_DRAIN_H_

#include <cstdint>
#include <memory>
#include <string>

#include "store/ring.h"
#include "store/segment_writer.h"

namespace reenact::store {

// One batch is at most 100 records or about 1 MB.
inline constexpr size_t kBatchRecords = 100;
inline constexpr size_t kBatchBytes = 1 << 20;

struct DrainResult {
  WriteCode code = WriteCode::kOk;
  uint64_t records = 0;  // Stored by this batch.
  uint64_t bytes = 0;
};

// Keeps the state between batches: open calls, runs to repeat in the next segment, counters
// already written as gap rows.
class Drain {
 public:
  explicit Drain(Ring* ring);
  ~Drain();

  // Takes one batch, writes it in one transaction and releases it. On failure nothing is released.
  DrainResult Batch(SegmentWriter* segment, bool everything);
  // Rows that a new segment needs so that it can be read alone: runs still open, with their
  // components, and open calls. Call once on each new segment.
  WriteCode CarryOver(SegmentWriter* next);
  uint64_t open_call_count() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

struct RecoveryResult {
  int64_t rings = 0;            // Leftover rings found and emptied.
  int64_t records = 0;          // Acknowledged records that they held.
  int64_t incomplete_calls = 0;
  std::vector<std::string> recovered_segments;
  std::vector<std::string> problems;  // One sentence each; the ring in question is kept.
};

// Empties the rings of dead processes of this store into their segments, closes their open calls as
// `incomplete`, seals those segments. Safe to run in many processes at once (one wins per ring).
RecoveryResult RecoverStore(const std::string& store_path);

}  // namespace reenact::store

#endif  // REENACT_STORE_DRAIN_H_
