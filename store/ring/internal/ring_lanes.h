// The writing side of a ring: lanes, which producers try to lock, and the chunks they write into.

#ifndef REENACT_STORE_RING_INTERNAL_RING_LANES_H_
#define REENACT_STORE_RING_INTERNAL_RING_LANES_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "store/ring/internal/ring_chunks.h"

namespace reenact::store {

class RingLanes {
 public:
  // `chunks` must outlive it.
  explicit RingLanes(RingChunks* chunks);

  // The pieces, joined, as one record. Any thread. Returns its sequence; 0: no room.
  uint64_t Append(uint8_t kind, const std::string_view* pieces, size_t piece_count,
                  size_t total) noexcept;
  // Records that Append took.
  uint64_t accepted() const noexcept;

 private:
  static constexpr uint32_t kMaxLanes = 64;

  struct alignas(64) Lane {
    std::atomic<uint32_t> locked{0};
    uint32_t chunk = kNoChunk;
    uint32_t position = kChunkPayload;  // Where the next record goes.
    std::atomic<uint64_t> accepted{0};  // Written by the lane's holder only.
  };

  class PieceReader;

  Lane* LockLane() noexcept;
  uint64_t AppendWhole(Lane* lane, RecordHeader record, PieceReader* pieces) noexcept;
  uint64_t AppendSplit(Lane* lane, RecordHeader record, PieceReader* pieces) noexcept;
  // Makes room for `size` bytes in one piece. False: the ring is full.
  bool MakeRoom(Lane* lane, size_t size) noexcept;
  void StartChunk(Lane* lane, uint32_t chunk) noexcept;
  // Claims enough chunks for `total` bytes beyond the lane's own, linked by next_chunk_.
  bool ClaimChain(const Lane& lane, size_t total, uint32_t* first) noexcept;
  void Write(Lane* lane, const RecordHeader& record, PieceReader* pieces) noexcept;
  uint64_t TakeSequence() noexcept;
  void PrefetchNext(const Lane& lane) const noexcept;

  RingChunks* chunks_;
  uint32_t lane_count_;                     // A power of two.
  std::unique_ptr<uint32_t[]> next_chunk_;  // Of a chain being claimed; written by its claimer.
  Lane lanes_[kMaxLanes];
};

}  // namespace reenact::store

#endif  // REENACT_STORE_RING_INTERNAL_RING_LANES_H_
