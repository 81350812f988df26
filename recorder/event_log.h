// The recorder's door to the store: a ring, a writer thread behind it, and counters. Everything
// that reaches the disk goes through Append.

#ifndef REENACT_RECORDER_EVENT_LOG_H_
#define REENACT_RECORDER_EVENT_LOG_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "schema/redaction.h"
#include "store/ring/ring.h"
#include "store/ring/ring_record.h"
#include "store/writer/retention.h"

namespace reenact::recorder {

struct EventLogOptions {
  std::string store_path;
  size_t ring_bytes = store::kDefaultRingSize;
  uint64_t spill_budget_bytes = uint64_t{96} << 20;
  uint64_t segment_max_bytes = uint64_t{64} << 20;
  int64_t segment_max_age_ns = int64_t{3600} * 1'000'000'000;
  store::RetentionLimits retention;
  schema::RedactionPolicy redaction;
};

struct EventLogMetrics {
  uint64_t accepted = 0;  // Records acknowledged. At exit accepted == stored + lost.
  uint64_t stored = 0;    // Committed to a segment.
  uint64_t lost = 0;      // Accepted and given up (a store that cannot be written until close).
  uint64_t dropped[static_cast<size_t>(store::DropReason::kCount)] = {};  // Never accepted.
  uint64_t stored_bytes = 0;
  uint64_t ring_high_water_bytes = 0;
  uint64_t last_commit_ns = 0;
  uint64_t max_commit_ns = 0;
  uint64_t wal_bytes = 0;
  bool durable_ack = false;
  std::string last_error;  // Of the writer; empty when it is well.
};

class EventLog {
 public:
  // Recovers what dead processes left in this store (in the writer thread), makes the ring, starts
  // the thread (all signals blocked). Null with `*why`, naming the path, when the store may not be
  // written. A disk that is full, or fails later, is not an error here: drops are counted.
  static std::unique_ptr<EventLog> Open(const EventLogOptions& options, std::string* why);

  // Waits for the writer until `deadline_ns` (monotonic) and seals the segment. What could not be
  // written in time stays in the ring for recovery.
  // Returns true when everything is in the segment.
  bool Close(int64_t deadline_ns);
  // Destroys without waiting. In a forked child: touches nothing.
  ~EventLog();

  // True in a child that was forked after Open. The log of the parent is of no use there: Append
  // answers kForkChild, Flush and Close return false at once, Metrics tells only of drops made in
  // the child. The child opens a log of its own; destroying the old one frees nothing that is
  // shared. Cost: one load; safe in any thread, any time.
  bool InForkedChild() const noexcept;

  // Any thread, never blocks on the disk. 0: dropped, for `*reason`.
  uint64_t Append(store::RecordKind kind, const std::string_view* pieces, size_t count,
                  store::DropReason* reason) noexcept;

  // Waits until everything appended so far is committed. False: deadline passed.
  bool Flush(int64_t deadline_ns);

  EventLogMetrics Metrics() const;
  void CountDrop(store::DropReason reason, uint64_t bytes) noexcept;
  // Before the records that may hold it are appended. Cheap when the secret is known.
  void LearnSecret(std::string_view secret) noexcept;
  // As given at Open; what was learned since is not in it.
  const schema::RedactionPolicy& policy() const noexcept;

  // A body that outgrew the ring: a file on the ring's file system, under the byte budget.
  // Past the budget bytes are counted and hashed, not kept.
  class Spill {
   public:
    void Append(std::string_view bytes) noexcept;
    // The file belongs to the record that will name it, and goes when that is stored.
    store::SpilledBody Finish() noexcept;
    // That record was dropped: removes the file. Called by the destructor before Finish.
    void Discard() noexcept;
    ~Spill();

   private:
    friend class EventLog;
    struct Impl;
    Spill();
    std::unique_ptr<Impl> impl_;
  };

  // Null: no memory. The caller counts the drop and cuts the body.
  std::unique_ptr<Spill> NewSpill() noexcept;

 private:
  friend class SteppedLog;  // Tests that take the writer's turns themselves.
  struct Impl;
  EventLog();
  static std::unique_ptr<EventLog> Make(const EventLogOptions& options, bool start_writer,
                                        std::string* why);
  std::unique_ptr<Impl> impl_;
};

// Bodies of more than this leave the ring for a spill file.
inline constexpr size_t kSpillThreshold = 1 << 20;
// A stream keeps at most this much in the handle before it goes to its spill file.
inline constexpr size_t kStreamCommitBytes = 64 << 10;

}  // namespace reenact::recorder

#endif  // REENACT_RECORDER_EVENT_LOG_H_
