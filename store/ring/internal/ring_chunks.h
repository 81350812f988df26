// The chunks of a mapped ring, and which of them are free.

#ifndef REENACT_STORE_RING_INTERNAL_RING_CHUNKS_H_
#define REENACT_STORE_RING_INTERNAL_RING_CHUNKS_H_

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "store/ring/internal/ring_layout.h"

namespace reenact::store {

inline constexpr uint32_t kNoChunk = UINT32_MAX;

class RingChunks {
 public:
  // `base` is a mapped ring with a checked header. Chunks whose state is kFree are free.
  explicit RingChunks(char* base)
      : header_(reinterpret_cast<RingHeader*>(base)),
        first_(base + header_->chunks_offset),
        count_(header_->chunk_count),
        word_count_((count_ + 63) / 64),
        free_(std::make_unique<std::atomic<uint64_t>[]>(word_count_)) {
    uint32_t used = 0;
    for (uint32_t chunk = 0; chunk < count_; ++chunk) {
      const bool is_free = State(chunk) == ChunkState::kFree;
      if (is_free) free_[chunk / 64].fetch_or(Bit(chunk), std::memory_order_relaxed);
      if (!is_free) ++used;
    }
    used_.store(used, std::memory_order_relaxed);
  }

  RingHeader* header() const noexcept { return header_; }

  uint32_t count() const noexcept { return count_; }

  uint32_t used_count() const noexcept { return used_.load(std::memory_order_relaxed); }

  ChunkHeader* at(uint32_t chunk) const noexcept {
    return reinterpret_cast<ChunkHeader*>(first_ + size_t{chunk} * kRingChunkSize);
  }

  char* bytes(uint32_t chunk) const noexcept {
    return first_ + size_t{chunk} * kRingChunkSize + sizeof(ChunkHeader);
  }

  ChunkState State(uint32_t chunk) const noexcept {
    return static_cast<ChunkState>(at(chunk)->state.load(std::memory_order_acquire));
  }

  void SetState(uint32_t chunk, ChunkState state) noexcept {
    at(chunk)->state.store(static_cast<uint32_t>(state), std::memory_order_release);
  }

  // The lowest free chunk, so that warm memory is used again; kNoChunk when there is none.
  uint32_t Claim() noexcept {
    for (uint32_t word = 0; word < word_count_; ++word) {
      uint64_t bits = free_[word].load(std::memory_order_relaxed);
      while (bits != 0) {
        const uint64_t lowest = bits & (~bits + 1);
        if (!free_[word].compare_exchange_weak(bits, bits & ~lowest, std::memory_order_acquire,
                                               std::memory_order_relaxed)) {
          continue;
        }
        const uint32_t chunk = word * 64 + static_cast<uint32_t>(std::countr_zero(lowest));
        SetState(chunk, ChunkState::kOwned);
        RaiseHighWater(used_.fetch_add(1, std::memory_order_relaxed) + 1);
        return chunk;
      }
    }
    return kNoChunk;
  }

  // Gives back a chunk that holds nothing any more.
  void Free(uint32_t chunk) noexcept {
    ChunkHeader* const chunk_header = at(chunk);
    SetState(chunk, ChunkState::kFree);  // First: from here on recovery looks at nothing in it.
    chunk_header->committed.store(0, std::memory_order_relaxed);
    chunk_header->released.store(0, std::memory_order_relaxed);
    used_.fetch_sub(1, std::memory_order_relaxed);
    free_[chunk / 64].fetch_or(Bit(chunk), std::memory_order_release);
  }

  bool IsFree(uint32_t chunk) const noexcept {
    return (free_[chunk / 64].load(std::memory_order_acquire) & Bit(chunk)) != 0;
  }

 private:
  static uint64_t Bit(uint32_t chunk) noexcept { return uint64_t{1} << (chunk % 64); }

  void RaiseHighWater(uint32_t used) noexcept {
    const uint64_t bytes = uint64_t{used} * kRingChunkSize;
    uint64_t seen = header_->high_water_bytes.load(std::memory_order_relaxed);
    while (seen < bytes && !header_->high_water_bytes.compare_exchange_weak(
                               seen, bytes, std::memory_order_relaxed)) {
    }
  }

  RingHeader* header_;
  char* first_;
  uint32_t count_;
  uint32_t word_count_;
  std::unique_ptr<std::atomic<uint64_t>[]> free_;
  std::atomic<uint32_t> used_{0};
};

}  // namespace reenact::store

#endif  // REENACT_STORE_RING_INTERNAL_RING_CHUNKS_H_
