// The bytes of a ring file. They live as long as a process and its recovery, so there is no
// migration: a ring of another version is refused, and kept.
//
// Everything here is read by recovery after a kill at any instruction. The rule that makes this
// safe: bytes first, then the release-store that makes them count (`committed`, `released`, the
// index of a double buffer).

#ifndef REENACT_STORE_RING_INTERNAL_RING_LAYOUT_H_
#define REENACT_STORE_RING_INTERNAL_RING_LAYOUT_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "store/ring/ring.h"

namespace reenact::store {

inline constexpr uint64_t kRingMagic = 0x474e49524e454552;  // "REENRING", little-endian.
inline constexpr uint32_t kRingVersion = 1;
inline constexpr size_t kReasonSlots = 16;  // Room for reasons to come.
static_assert(static_cast<size_t>(DropReason::kCount) <= kReasonSlots);

// Values are in ring files.
enum class ChunkState : uint32_t {
  kFree = 0,
  kOwned = 1,    // A lane writes into it.
  kRetired = 2,  // Its lane has moved on; free once everything in it is released.
};

struct RingHeader {
  std::atomic<uint64_t> magic;  // Stored last: a file without it is no ring.
  uint32_t version;
  uint32_t chunk_count;
  uint64_t file_size;
  uint64_t policy_offset;
  uint64_t policy_half_size;  // The policy is a double buffer of two halves.
  uint64_t chunks_offset;
  int64_t pid;
  int64_t process_start;
  char boot_id[64];
  char store_path[4096];
  char segment_names[2][64];  // Double buffer.
  std::atomic<uint32_t> segment_index;
  std::atomic<uint32_t> policy_index;
  alignas(64) std::atomic<uint64_t> next_sequence;
  alignas(64) std::atomic<uint64_t> dropped[kReasonSlots];
  std::atomic<uint64_t> dropped_bytes[kReasonSlots];
  std::atomic<uint64_t> high_water_bytes;
  // Losses that are in the segment as gap rows already.
  alignas(64) std::atomic<uint64_t> declared[kReasonSlots];
  std::atomic<uint64_t> declared_bytes[kReasonSlots];
  std::atomic<uint64_t> declared_below;  // next_sequence at that time.
};

// The first bytes of each chunk.
struct alignas(64) ChunkHeader {
  std::atomic<uint32_t> state;      // ChunkState.
  std::atomic<uint32_t> committed;  // Bytes behind this header that are acknowledged.
  std::atomic<uint32_t> released;   // Bytes of those that are in the segment.
};

static_assert(sizeof(ChunkHeader) == 64);

inline constexpr size_t kChunkPayload = kRingChunkSize - sizeof(ChunkHeader);

// In front of each record, or each part of one that spans chunks. Sequences rise within a chunk.
struct RecordHeader {
  uint64_t sequence;
  uint32_t size;    // Bytes of this part.
  uint32_t total;   // Bytes of the record.
  uint32_t offset;  // Of this part within the record.
  uint8_t kind;
  uint8_t unused[3];
};

static_assert(sizeof(RecordHeader) == 24);

// Records and parts begin on 8-byte boundaries.
inline constexpr size_t Stride(size_t size) {
  return sizeof(RecordHeader) + ((size + 7) & ~size_t{7});
}

// A record of at most this size is never split: it would cost the consumer more than the tail of a
// chunk is worth.
inline constexpr size_t kNeverSplit = 8 * 1024;

static_assert(std::atomic<uint64_t>::is_always_lock_free);
static_assert(std::atomic<uint32_t>::is_always_lock_free);

}  // namespace reenact::store

#endif  // REENACT_STORE_RING_INTERNAL_RING_LAYOUT_H_
