// What an EventLog and its writer thread share. The thread keeps it alive: a log that is destroyed
// while the disk stalls leaves the thread behind, and the thread leaves by itself.

#ifndef REENACT_RECORDER_INTERNAL_LOG_STATE_H_
#define REENACT_RECORDER_INTERNAL_LOG_STATE_H_

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "recorder/event_log.h"
#include "store/ring/ring.h"
#include "store/store_layout.h"

namespace reenact::recorder {

struct LogState {
  // Set before the thread starts, constant then.
  EventLogOptions options;
  store::StoreLayout layout;
  std::unique_ptr<store::Ring> ring;
  bool durable = false;

  // Why records are refused before they reach the ring; kNone: they are not.
  std::atomic<store::DropReason> refusal{store::DropReason::kNone};
  std::atomic<uint64_t> fork_child_drops{0};  // Counted in the child, in its own copy.
  std::atomic<uint64_t> spill_bytes{0};       // Of files that are not stored yet.
  std::atomic<uint64_t> spill_count{0};

  // Of the writer.
  std::atomic<uint64_t> stored{0};
  std::atomic<uint64_t> stored_bytes{0};
  std::atomic<uint64_t> lost{0};
  std::atomic<uint64_t> last_commit_ns{0};
  std::atomic<uint64_t> max_commit_ns{0};
  std::atomic<uint64_t> wal_bytes{0};
  // The owner waits no longer: leave as soon as possible.
  std::atomic<bool> abandoned{false};

  std::mutex mutex;
  std::condition_variable wake;      // The writer has something to do before its time.
  std::condition_variable progress;  // stored_below or finished moved.
  // Guarded by `mutex`.
  uint64_t flush_below = 0;   // Somebody waits for records with lower sequences.
  uint64_t stored_below = 0;  // These are stored.
  bool closing = false;
  int64_t close_deadline_ns = 0;
  bool finished = false;  // The thread has left, or is about to.
  bool drained = false;   // And everything is in sealed segments.
  std::string last_error;
  store::RingCounters last_counters;  // Of the ring before it was removed.
  bool ring_removed = false;          // Its counters were zeroed with it.
};

}  // namespace reenact::recorder

#endif  // REENACT_RECORDER_INTERNAL_LOG_STATE_H_
