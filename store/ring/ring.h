// Acknowledged events on their way to the disk: a fixed piece of memory that outlives a killed
// process. A file on a memory file system ($XDG_RUNTIME_DIR, /dev/shm), mode 0600, allocated in
// full at open, mapped shared. Never a mapping of a disk file: a stalled disk would stall the host.
//
//   | header | policy | chunk 0 (32 KiB) | chunk 1 | ... |
//
// Producers claim a lane (a try-lock; as many lanes as the machine has use for), and a lane owns
// one chunk at a time, claimed by CAS. A record is written behind the chunk's committed length, and
// then that length is release-stored: from there on the record is acknowledged. A record larger
// than a chunk is written as fragments. A thread killed in mid-write leaves its own lane and chunk
// behind, and hides nobody else's records.
//
// One consumer (the writer thread, or the recovery of a dead process) reads committed records in
// order of their sequence, and releases them only after they are in the segment.
//
// Standard library only; no exceptions out of Append.

#ifndef REENACT_STORE_RING_RING_H_
#define REENACT_STORE_RING_RING_H_

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
  kDiskFull = 2,  // The store's size cap or the free-space floor, and nothing left to prune.
  kOversize = 3,  // A body beyond the byte budget of spilled bodies: cut, the event is kept.
  kAfterClose = 4,
  kForkChild = 5,   // A handle made before fork(), used in the child.
  kStoreError = 6,  // The segment cannot be written.
  kMemory = 7,
  kCount = 8,  // Not a reason.
};
std::string_view ToString(DropReason reason);  // "ring_full"

struct RingIdentity {
  int64_t pid = 0;
  int64_t process_start = 0;  // Clock ticks since boot, from /proc/self/stat.
  std::string boot_id;
  std::string store_path;    // Where the records belong.
  std::string segment_name;  // "01J….db", the segment being written.
  // Of a leftover: a segment that was being made, or the one before. Holds nothing if it has no
  // owner.
  std::string other_segment_name;
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

// Losses of one kind that no gap row tells of yet.
struct RingLoss {
  DropReason reason = DropReason::kNone;
  uint64_t count = 0;
  uint64_t bytes = 0;
  uint64_t first_sequence = 0;  // They fell between these two.
  uint64_t last_sequence = 0;
};

class Ring;
struct RingMapping;

// What another process finds in a ring's file.
enum class RingFileState : uint8_t {
  kInUse,        // Its process lives, or somebody else recovers it.
  kNeverOpened,  // Its process died before the ring could take a record, or after all were stored.
  kLeft,         // Its process is gone, and records may be in it.
  kUnreadable,   // No ring of this version.
};

struct LeftoverRing {
  RingFileState state = RingFileState::kUnreadable;
  std::unique_ptr<Ring> ring;  // kLeft only.
  std::string why;             // kUnreadable only.
};

class Ring {
 public:
  // Makes the file and maps it. Null with `*why` when no memory file system can hold `size` bytes.
  // The mapping is not inherited by forked children.
  static std::unique_ptr<Ring> Create(const RingIdentity& identity,
                                      const schema::RedactionPolicy& policy, size_t size,
                                      std::string* why);
  // A ring without a file: the same queue, lost with the process (durable_ack = false).
  static std::unique_ptr<Ring> CreateVolatile(const RingIdentity& identity,
                                              const schema::RedactionPolicy& policy, size_t size);
  // Opens a ring that a dead process left, for recovery, and keeps others from doing so.
  static LeftoverRing OpenLeftover(const std::string& path);
  // Removes a file that was never opened. Whatever else `path` is stays.
  static void RemoveNeverOpened(const std::string& path);
  // Paths of all ring files that belong to `store_path`, whoever's they are, except the living ones
  // of this process.
  static std::vector<std::string> FindFor(const std::string& store_path);

  ~Ring();  // Unmaps. Removes nothing. In a forked child: touches nothing.
  Ring(const Ring&) = delete;
  Ring& operator=(const Ring&) = delete;

  // Appends one record made of `pieces`, joined. Any thread. Returns its sequence, or 0 when it was
  // dropped: then the reason is counted, and told in `*reason`.
  // Cost: one copy; no system call, no lock that a stopped thread could hold against another.
  uint64_t Append(uint8_t kind, const std::string_view* pieces, size_t piece_count,
                  DropReason* reason) noexcept;
  // Counts a loss that happened before Append.
  void CountDrop(DropReason reason, uint64_t bytes) noexcept;
  // What a drop for want of room is called: kRingFull, or why the consumer does not empty the ring.
  void SetFullReason(DropReason reason) noexcept;
  // In a forked child the memory is not there: Append answers kForkChild, and nothing else may be
  // called.
  bool InForkedChild() const noexcept;

  // --- consumer side: one thread ---

  // Appends to `*records`, in order of sequence, committed records not yet taken, up to
  // `max_records` and about `max_bytes`. A call's end never comes before its beginning: the next
  // sequence is read before the search, and only records below it are taken; whatever was
  // acknowledged before one of them began is found by that search. Records that are still in the
  // making on other threads come later, so a thread that died in mid-write holds up nobody.
  // `everything` (recovery, after the owner died) takes the rest as well.
  void Take(size_t max_records, size_t max_bytes, bool everything,
            std::vector<RingRecord>* records);
  // All taken records are in the segment: their bytes are zeroed and the room is free again.
  void Release();
  // Forgets a Take that was not released: the records will be taken again.
  void Rewind();
  // Every record with a lower sequence that was acknowledged when the last Take began has been
  // taken.
  uint64_t TakenBelow() const noexcept;
  // The sequence that the next record will get. Any thread.
  uint64_t NextSequence() const noexcept;
  // Losses since the last DeclareLosses, to be written as gap rows.
  std::vector<RingLoss> UndeclaredLosses() const;
  // These are in the segment: recovery must not tell of them again.
  void DeclareLosses(const std::vector<RingLoss>& losses);
  // Chunks with bytes that no producer writes: memory was overwritten. What stood behind is lost.
  uint64_t damaged_chunks() const noexcept;

  RingCounters counters() const noexcept;
  size_t used_bytes() const noexcept;  // In whole chunks.
  size_t capacity_bytes() const noexcept;

  bool durable() const noexcept { return !path_.empty(); }

  const std::string& path() const noexcept { return path_; }

  const RingIdentity& identity() const noexcept { return identity_; }

  // The redaction policy that the ring was made with; of a leftover, with what was learned.
  const schema::RedactionPolicy& policy() const noexcept { return policy_; }

  // With everything learned so far. Any thread.
  std::shared_ptr<const schema::RedactionPolicy> CurrentPolicy() const;
  // Adds a learned secret to the policy, before the records that may hold it are appended. Any
  // thread. The latest 64 are kept.
  void LearnSecret(std::string_view secret) noexcept;
  // Names a segment that is about to be made, so that recovery can tell a half-made file.
  void AnnounceSegment(std::string_view name) noexcept;
  void SetSegmentName(std::string_view name) noexcept;
  // Path of a spill file of this ring; empty when there is no file system for one.
  std::string SpillPath(uint64_t number) const;
  bool IsSpill(std::string_view path) const;
  // Zeroes and unlinks the file and its spill files.
  void Remove();
  // The owner gives up a ring that still holds records: anyone may recover it from now on, though
  // this process lives. The file gets another name, which FindFor gives. Nobody may append any
  // more.
  void LetGo();
  // Unlinks the file of a ring that never took a record.
  void RemoveUnused() noexcept;

 private:
  struct Impl;
  Ring();
  // Lays out a new ring in `*mapping` and takes it over; when this throws, it is still the
  // caller's.
  void Adopt(RingMapping* mapping, const RingIdentity& identity,
             const schema::RedactionPolicy& policy, size_t policy_half);
  std::unique_ptr<Impl> impl_;
  std::string path_;
  RingIdentity identity_;
  schema::RedactionPolicy policy_;
};

}  // namespace reenact::store

#endif  // REENACT_STORE_RING_RING_H_
