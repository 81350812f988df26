// How a record gets in, on the caller's thread:
//
//   lock a lane (one exchange) -> find room in its chunk, or claim chunks -> take a sequence ->
//   copy -> release-store the chunk's committed length -> unlock
//
// Why the sequence comes after the room: a dropped record must not leave a number unused. Why it
// comes before the copy: within a chunk, sequences rise, so that what is released is always a
// prefix. A thread that dies between the two leaves a number without a record; nobody waits for it.

#include "store/ring/internal/ring_lanes.h"

#include <pthread.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <thread>
#include <utility>

namespace reenact::store {
namespace {

// Rounds over all lanes before a record is dropped. Only with as many threads stopped in
// mid-write as there are lanes does a producer get that far.
constexpr int kSpinRounds = 4;
constexpr int kYieldRounds = 8;

// Asks for these bytes, to write to them: the consumer's processor wrote to them last, when it
// zeroed them. __builtin_prefetch would ask, on a plain x86-64, for a copy to be read only.
void PrefetchForWriting(const char* begin, size_t size) noexcept {
  constexpr size_t kLine = 64;
  for (size_t offset = 0; offset < size; offset += kLine) {
#if defined(__x86_64__)
    asm volatile("prefetchw %0" : : "m"(begin[offset]));
#else
    __builtin_prefetch(begin + offset, 1);
#endif
  }
}

// As much as most records have.
constexpr size_t kPrefetched = 1088;

}  // namespace

// The bytes of a record, given as pieces, read from front to back.
class RingLanes::PieceReader {
 public:
  PieceReader(const std::string_view* pieces, size_t count)
      : piece_(pieces), end_(pieces + count) {}

  void CopyTo(char* out, size_t size) {
    while (size > 0) {
      const size_t taken = std::min(size, piece_->size() - offset_);
      if (taken > 0) std::memcpy(out, piece_->data() + offset_, taken);
      out += taken;
      size -= taken;
      offset_ += taken;
      if (offset_ < piece_->size()) continue;
      if (++piece_ == end_) return;
      offset_ = 0;
    }
  }

 private:
  const std::string_view* piece_;
  const std::string_view* end_;
  size_t offset_ = 0;
};

RingLanes::RingLanes(RingChunks* chunks)
    : chunks_(chunks),
      lane_count_(std::clamp<uint32_t>(std::bit_floor(chunks->count() / 4), 1, kMaxLanes)),
      next_chunk_(std::make_unique<uint32_t[]>(chunks->count())) {}

uint64_t RingLanes::Append(uint8_t kind, const std::string_view* pieces, size_t piece_count,
                           size_t total) noexcept {
  // One record must not empty the ring of room for all others.
  if (total > size_t{chunks_->count()} * kRingChunkSize / 2) return 0;
  Lane* const lane = LockLane();
  if (lane == nullptr) return 0;
  RecordHeader record{};
  record.total = static_cast<uint32_t>(total);
  record.kind = kind;
  PieceReader reader(pieces, piece_count);
  const uint64_t sequence = total <= kNeverSplit ? AppendWhole(lane, record, &reader)
                                                 : AppendSplit(lane, record, &reader);
  if (sequence != 0) {
    lane->accepted.store(lane->accepted.load(std::memory_order_relaxed) + 1,
                         std::memory_order_relaxed);
    PrefetchNext(*lane);
  }
  lane->locked.store(0, std::memory_order_release);
  return sequence;
}

// Where the lane's next record will go, so that its bytes are at hand by then.
void RingLanes::PrefetchNext(const Lane& lane) const noexcept {
  const size_t left = kChunkPayload - lane.position;
  PrefetchForWriting(chunks_->bytes(lane.chunk) + lane.position, std::min(left, kPrefetched));
}

uint64_t RingLanes::accepted() const noexcept {
  uint64_t sum = 0;
  for (const Lane& lane : lanes_) sum += lane.accepted.load(std::memory_order_relaxed);
  return sum;
}

uint64_t RingLanes::TakeSequence() noexcept {
  return chunks_->header()->next_sequence.fetch_add(1, std::memory_order_acq_rel);
}

RingLanes::Lane* RingLanes::LockLane() noexcept {
  // No thread_local: it may need memory or a destructor in a host that loads us late.
  const auto thread = static_cast<uint64_t>(pthread_self());
  const auto start = static_cast<uint32_t>((thread * 0x9E3779B97F4A7C15u) >> 40);
  for (int round = 0; round < kSpinRounds + kYieldRounds; ++round) {
    for (uint32_t i = 0; i < lane_count_; ++i) {
      Lane& lane = lanes_[(start + i) & (lane_count_ - 1)];
      if (lane.locked.load(std::memory_order_relaxed) == 0 &&
          lane.locked.exchange(1, std::memory_order_acquire) == 0) {
        return &lane;
      }
    }
    if (round >= kSpinRounds) std::this_thread::yield();
  }
  return nullptr;
}

void RingLanes::StartChunk(Lane* lane, uint32_t chunk) noexcept {
  if (lane->chunk != kNoChunk) chunks_->SetState(lane->chunk, ChunkState::kRetired);
  lane->chunk = chunk;
  lane->position = 0;
}

bool RingLanes::MakeRoom(Lane* lane, size_t size) noexcept {
  if (Stride(size) <= kChunkPayload - lane->position) return true;
  const uint32_t chunk = chunks_->Claim();
  if (chunk == kNoChunk) return false;
  StartChunk(lane, chunk);
  return true;
}

void RingLanes::Write(Lane* lane, const RecordHeader& record, PieceReader* pieces) noexcept {
  char* const out = chunks_->bytes(lane->chunk) + lane->position;
  std::memcpy(out, &record, sizeof record);
  pieces->CopyTo(out + sizeof record, record.size);
  lane->position += static_cast<uint32_t>(Stride(record.size));
  chunks_->at(lane->chunk)->committed.store(lane->position, std::memory_order_release);
}

uint64_t RingLanes::AppendWhole(Lane* lane, RecordHeader record, PieceReader* pieces) noexcept {
  if (!MakeRoom(lane, record.total)) return 0;
  record.sequence = TakeSequence();
  record.size = record.total;
  Write(lane, record, pieces);
  return record.sequence;
}

bool RingLanes::ClaimChain(const Lane& lane, size_t total, uint32_t* first) noexcept {
  constexpr size_t kPerChunk = kChunkPayload - sizeof(RecordHeader);
  const size_t own = kChunkPayload - lane.position;
  const size_t in_own = own > sizeof(RecordHeader) ? own - sizeof(RecordHeader) : 0;
  *first = kNoChunk;
  for (size_t left = total - std::min(total, in_own); left > 0; left -= std::min(left, kPerChunk)) {
    const uint32_t chunk = chunks_->Claim();
    if (chunk != kNoChunk) {
      next_chunk_[chunk] = *first;
      *first = chunk;
      continue;
    }
    while (*first != kNoChunk) chunks_->Free(std::exchange(*first, next_chunk_[*first]));
    return false;
  }
  return true;
}

uint64_t RingLanes::AppendSplit(Lane* lane, RecordHeader record, PieceReader* pieces) noexcept {
  uint32_t chain = kNoChunk;
  if (!ClaimChain(*lane, record.total, &chain)) return 0;
  record.sequence = TakeSequence();
  while (record.offset < record.total) {
    if (kChunkPayload - lane->position <= sizeof(RecordHeader)) {
      StartChunk(lane, std::exchange(chain, next_chunk_[chain]));
    }
    const size_t room = (kChunkPayload - lane->position - sizeof(RecordHeader)) & ~size_t{7};
    record.size = static_cast<uint32_t>(std::min<size_t>(room, record.total - record.offset));
    Write(lane, record, pieces);
    record.offset += record.size;
  }
  return record.sequence;
}

}  // namespace reenact::store
