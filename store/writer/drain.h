// From the ring to the segment: redaction, pairing of call beginnings and ends, spill files. The
// writer thread runs it while the process lives, recovery runs it once after the process died.

#ifndef REENACT_STORE_WRITER_DRAIN_H_
#define REENACT_STORE_WRITER_DRAIN_H_

#include <cstdint>
#include <memory>
#include <string>

#include "store/ring/ring.h"
#include "store/writer/segment_writer.h"

namespace reenact::store {

// One batch is at most 100 records or about 1 MB.
inline constexpr size_t kBatchRecords = 100;
inline constexpr size_t kBatchBytes = 1 << 20;
// Pauses between gap rows while losses go on.
inline constexpr int64_t kFirstGapIntervalNs = 1'000'000'000;
inline constexpr int64_t kLastGapIntervalNs = 60 * kFirstGapIntervalNs;

struct DrainResult {
  WriteCode code = WriteCode::kOk;
  uint64_t records = 0;  // Stored by this batch.
  uint64_t bytes = 0;    // Of those, as they lay in the ring.
  uint64_t lost = 0;     // Records that could not be stored and never can; a gap row tells of them.
  uint64_t spilled_bytes_freed = 0;
};

// Keeps the state between batches: open calls, and runs to repeat in the next segment. One thread.
class Drain {
 public:
  // `adopt_unknown_runs` (recovery, when the segment with the run is lost): an event of a run that
  // is not in the segment brings a run without particulars along, rather than being lost itself.
  explicit Drain(Ring* ring, bool adopt_unknown_runs = false);
  ~Drain();

  // True when Batch would write something. Takes the batch, which stays taken until it is stored.
  // `segment` may be null before the first one is made.
  bool HasWork(SegmentWriter* segment, bool everything = false);
  // Takes one batch, writes it in one transaction and releases it, together with the gap rows of
  // losses that were counted since the last one. On failure nothing is released, and the next call
  // writes the same batch again, into the same segment or another.
  // OK with records == 0 and lost == 0: there was nothing to take.
  DrainResult Batch(SegmentWriter* segment, bool everything);
  // Rows that a new segment needs so that it can be read alone: runs still open, with their
  // components, and open calls. Call once on each new segment, before its first batch. `previous`
  // (null when it is lost) is asked for request bodies that were too large to be kept in memory.
  // A call that is open in `previous` when that is sealed is `incomplete` there; the later
  // segment, which holds the same sequence of the same run, knows better.
  WriteCode CarryOver(SegmentWriter* next, SegmentWriter* previous = nullptr);
  uint64_t open_call_count() const;
  // Something that CarryOver would write.
  bool HasOpenRuns() const;
  // The next batch tells of all losses, whenever gap rows were written last.
  void DeclareLossesNow();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

struct RecoveryResult {
  int64_t rings = 0;    // Leftover rings found and emptied.
  int64_t records = 0;  // Acknowledged records that they held.
  int64_t incomplete_calls = 0;
  std::vector<std::string> recovered_segments;
  std::vector<std::string> problems;  // One sentence each; the ring in question is kept.
};

// Empties the rings of dead processes of this store into their segments, closes their open calls as
// `incomplete`, seals those segments. Safe to run in many processes at once (one wins per ring).
RecoveryResult RecoverStore(const std::string& store_path);

}  // namespace reenact::store

#endif  // REENACT_STORE_WRITER_DRAIN_H_
