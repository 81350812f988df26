// Acknowledged events on their way to the disk: a fixed piece of memory that outlives a killed
// process. A file on a memory file system ($XDG_RUNTIME_DIR, /dev/shm), mode 0600, allocated in full
// at open, mapped shared. Never a mapping of a disk file: a stalled disk would stall the host.
//
//   | header | policy | chunk 0 (32 KiB) | chunk 1 | ... |
//
// Producers claim a lane (a try-lock; as many lanes as the machine has use for), and a lane owns one
// chunk at a time, claimed by CAS. A record is written behind the chunk's committed length, and
// then that length is release-stored: from there on the record is acknowledged. A record larger
// than a chunk is written as fragments. A thread killed in mid-write leaves its own lane and chunk
// behind, and hides nobody else's records.
//
// One consumer (the writer thread, or the recovery of a dead process) reads committed records in
// order of their sequence, and releases them only after they are in the segment.
//
// Standard library only; no exceptions out of Append.

#ifndef REENACT_STORE_RING_H_
#define REENACT_STORE_RING_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "schema/redaction.h"

namespace reenact::store {

inline constexpr size_t kRingChunkSize = 32 * 1024;
inline constexpr size_t kDefaultRingSize = 16 * 1024 * 1024;

// Why a record was not taken. Values index the counters in the ring's header; never renumber.
enum class DropReason : uint8_t {
  kNone = 0,
  kRingFull = 1,
  kDiskFull = 2,    // The store's size cap or the free-space floor, and nothing left to prune.
  kOversize = 3,    // A body beyond the byte budget of spilled bodies: cut, the event is kept.
  kAfterClose = 4,
  kForkChild = 5,   // A handle made before fork(), used in the child.
  kStoreError = 6,  // The segment cannot be written.
  kMemory = 7,
  kCount = 8,
};
std::string_view ToString(DropReason reason);  // "ring_full"

struct RingIdentity {
  int64_t pid = 0;
  int64_t process_start = 0;  // Clock ticks since boot, from /proc/self/stat.
  std::string boot_id;
  std::string store_path;    // Where the records belong.
  std::string segment_name;  // "01J….db", the segment being written.
};

struct RingRecord {
  uint64_t sequence = 0;
  uint8_t kind = 0;  // RecordKind of ring_record.h.
  std::string payload;
};

struct RingCounters {
  uint64_t accepted = 0;  // Records acknowledged.
  uint64_t dropped[static_cast<size_t>(DropReason::kCount)] = {};
  uint64_t dropped_bytes = 0;
  uint64_t high_water_bytes = 0;
};

class Ring {
 public:
  // Makes the file and maps it. Null with `*why` when no memory file system can hold `size` bytes.
  static std::unique_ptr<Ring> Create(const RingIdentity& identity,
                                      const schema::RedactionPolicy& policy, size_t size,
                                      std::string* why);
  // A ring without a file: the same queue, lost with the process (durable_ack = false).
  static std::unique_ptr<Ring> CreateVolatile(const RingIdentity& identity,
                                              const schema::RedactionPolicy& policy, size_t size);
  // Opens a ring that a dead process left, for recovery. Null with `*why` when `path` is no ring.
  static std::unique_ptr<Ring> OpenLeftover(const std::string& path, std::string* why);
  // Paths of all ring files that belong to `store_path`, whoever's they are.
  static std::vector<std::string> FindFor(const std::string& store_path);

  ~Ring();  // Unmaps. Removes nothing.
  Ring(const Ring&) = delete;
  Ring& operator=(const Ring&) = delete;

  // Appends one record made of `pieces`, joined. Any thread. Returns its sequence, or 0 when it was
  // dropped: then the reason is counted, and told in `*reason`.
  // Cost: one copy; no system call, no lock that a stopped thread could hold against another.
  uint64_t Append(uint8_t kind, const std::string_view* pieces, size_t piece_count,
                  DropReason* reason) noexcept;
  // Counts a loss that happened before Append.
  void CountDrop(DropReason reason, uint64_t bytes) noexcept;

  // --- consumer side: one thread ---

  // Appends to `*records`, in order of sequence, committed records not yet taken, up to
  // `max_records` and about `max_bytes`. Holds back a record when one with a lower sequence may
  // still be in the making, so that a call's end never comes before its beginning.
  // `everything` (recovery, after the owner died) holds nothing back.
  void Take(size_t max_records, size_t max_bytes, bool everything,
            std::vector<RingRecord>* records);
  // All taken records are in the segment: their bytes are zeroed and the room is free again.
  void Release();
  // Forgets a Take that was not released: the records will be taken again.
  void Rewind();

  RingCounters counters() const noexcept;
  size_t used_bytes() const noexcept;
  bool durable() const noexcept { return !path_.empty(); }
  const std::string& path() const noexcept { return path_; }
  const RingIdentity& identity() const noexcept { return identity_; }
  // The redaction policy kept with the ring, secrets included.
  const schema::RedactionPolicy& policy() const noexcept { return policy_; }
  // Adds a learned secret to the policy; consumer and producers may call it. Rare.
  void LearnSecret(std::string_view secret) noexcept;
  void SetSegmentName(std::string_view name) noexcept;
  // Zeroes and unlinks the file and its spill files.
  void Remove();

 private:
  struct Impl;
  Ring();
  std::unique_ptr<Impl> impl_;
  std::string path_;
  RingIdentity identity_;
  schema::RedactionPolicy policy_;
};

}  // namespace reenact::store

#endif  // REENACT_STORE_RING_H_
