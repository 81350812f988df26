// How a record gets in, on the caller's thread:
//
//   lock a lane (one exchange) -> find room in its chunk, or claim chunks -> take a sequence ->
//   copy -> release-store the chunk's committed length -> unlock
//
// Why the sequence comes after the room: a dropped record must not leave a number unused. Why it
// comes before the copy: within a chunk, sequences rise, so that what is released is always a
// prefix. A thread that dies between the two leaves a number without a record; nobody waits for it.

#include "store/ring.h"

#include <pthread.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <new>
#include <thread>
#include <utility>

#include "store/internal/fork_guard.h"
#include "store/internal/ring_chunks.h"
#include "store/internal/ring_consumer.h"
#include "store/internal/ring_file.h"
#include "store/internal/ring_layout.h"
#include "store/internal/ring_policy.h"

namespace reenact::store {
namespace {

constexpr size_t kPage = 4096;
constexpr uint32_t kMaxLanes = 64;
constexpr uint32_t kMinChunks = 8;

// Rounds over all lanes before a record is dropped. Only with as many threads stopped in
// mid-write as there are lanes does a producer get that far.
constexpr int kSpinRounds = 4;
constexpr int kYieldRounds = 8;

size_t RoundUp(size_t value, size_t unit) {
  return (value + unit - 1) / unit * unit;
}

struct alignas(64) Lane {
  std::atomic<uint32_t> locked{0};
  uint32_t chunk = kNoChunk;
  uint32_t position = kChunkPayload;  // Where the next record goes.
  std::atomic<uint64_t> accepted{0};  // Written by the lane's holder only.
};

// The bytes of a record, given as pieces, read from front to back.
class PieceReader {
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

void CopyText(char* out, size_t capacity, std::string_view text) {
  const size_t size = std::min(text.size(), capacity - 1);
  std::memcpy(out, text.data(), size);
  std::memset(out + size, 0, capacity - size);
}

std::string ReadText(const char* text, size_t capacity) {
  return std::string(text, strnlen(text, capacity));
}

bool HeaderFits(const RingHeader& header, size_t size) {
  return std::memcmp(header.magic, kRingMagic, sizeof kRingMagic) == 0 &&
         header.version == kRingVersion && header.file_size == size &&
         header.policy_offset < size && header.policy_half_size < size &&
         header.policy_offset + 2 * header.policy_half_size <= header.chunks_offset &&
         header.chunks_offset < size && header.chunk_count > 0 &&
         header.chunk_count <= (size - header.chunks_offset) / kRingChunkSize;
}

}  // namespace

std::string_view ToString(DropReason reason) {
  switch (reason) {
    case DropReason::kNone:
      return "none";
    case DropReason::kRingFull:
      return "ring_full";
    case DropReason::kDiskFull:
      return "disk_full";
    case DropReason::kOversize:
      return "oversize";
    case DropReason::kAfterClose:
      return "after_close";
    case DropReason::kForkChild:
      return "fork_child";
    case DropReason::kStoreError:
      return "store_error";
    case DropReason::kMemory:
      return "memory";
    case DropReason::kCount:
      break;
  }
  return "unknown";
}

struct Ring::Impl {
  // Of a new ring (`given` is its policy), or of a leftover (`given` is null).
  Impl(RingMapping mapped, const schema::RedactionPolicy* given)
      : mapping(std::move(mapped)),
        header(reinterpret_cast<RingHeader*>(mapping.base)),
        chunks(mapping.base),
        consumer(&chunks),
        lane_count(std::clamp<uint32_t>(std::bit_floor(chunks.count() / 4), 1, kMaxLanes)),
        next_chunk(std::make_unique<uint32_t[]>(chunks.count())) {
    if (given != nullptr) policy = std::make_unique<RingPolicy>(mapping.base, *given);
  }

  ~Impl() { Unmap(&mapping); }

  Lane* LockLane() noexcept;
  // Makes room for `size` bytes in one piece. False: the ring is full.
  bool MakeRoom(Lane* lane, size_t size) noexcept;
  void StartChunk(Lane* lane, uint32_t chunk) noexcept;
  // Claims enough chunks for `total` bytes beyond the lane's own, linked by next_chunk.
  bool ClaimChain(const Lane& lane, size_t total, uint32_t* first) noexcept;
  void Write(Lane* lane, const RecordHeader& record, PieceReader* pieces) noexcept;
  uint64_t AppendWhole(Lane* lane, RecordHeader record, PieceReader* pieces) noexcept;
  uint64_t AppendSplit(Lane* lane, RecordHeader record, PieceReader* pieces) noexcept;

  uint64_t NextSequence() noexcept {
    return header->next_sequence.fetch_add(1, std::memory_order_acq_rel);
  }

  RingMapping mapping;
  ForkGuard guard;
  RingHeader* header;
  RingChunks chunks;
  RingConsumer consumer;
  std::unique_ptr<RingPolicy> policy;  // Null for a leftover.
  std::shared_ptr<const schema::RedactionPolicy> leftover_policy;
  std::atomic<DropReason> full_reason{DropReason::kRingFull};
  Lane lanes[kMaxLanes];
  uint32_t lane_count;
  std::unique_ptr<uint32_t[]> next_chunk;  // Of a chain being claimed; written by its claimer.
};

namespace {

// Lays out an empty ring in zeroed memory.
void WriteHeader(const RingIdentity& identity, size_t policy_half, RingMapping* mapping) {
  auto* header = new (mapping->base) RingHeader();
  header->file_size = mapping->size;
  header->policy_offset = RoundUp(sizeof(RingHeader), kPage);
  header->policy_half_size = policy_half;
  header->chunks_offset = header->policy_offset + 2 * policy_half;
  header->chunk_count =
      static_cast<uint32_t>((mapping->size - header->chunks_offset) / kRingChunkSize);
  header->pid = identity.pid;
  header->process_start = identity.process_start;
  CopyText(header->boot_id, sizeof header->boot_id, identity.boot_id);
  CopyText(header->store_path, sizeof header->store_path, identity.store_path);
  CopyText(header->segment_names[0], sizeof header->segment_names[0], identity.segment_name);
  header->next_sequence.store(1, std::memory_order_relaxed);
  header->declared_below.store(1, std::memory_order_relaxed);
  header->version = kRingVersion;
}

size_t PolicyHalfSize(const schema::RedactionPolicy& policy) {
  return RoundUp(EncodePolicy(policy).size() + kLearnedBytes, kPage);
}

size_t RingFileSize(size_t size, size_t policy_half) {
  const size_t front = RoundUp(sizeof(RingHeader), kPage) + 2 * policy_half;
  return std::max(size / kPage * kPage, front + kMinChunks * kRingChunkSize);
}

}  // namespace

Ring::Ring() = default;

std::unique_ptr<Ring> Ring::Create(const RingIdentity& identity,
                                   const schema::RedactionPolicy& policy, size_t size,
                                   std::string* why) {
  if (identity.store_path.size() >= sizeof RingHeader::store_path) {
    *why = "the path of the store is too long for a ring: " + identity.store_path;
    return nullptr;
  }
  const size_t policy_half = PolicyHalfSize(policy);
  RingMapping mapping;
  if (!CreateRingFile(identity.store_path, RingFileSize(size, policy_half), &mapping, why)) {
    return nullptr;
  }
  WriteHeader(identity, policy_half, &mapping);
  std::unique_ptr<Ring> ring(new Ring);
  ring->path_ = mapping.path;
  ring->identity_ = identity;
  ring->policy_ = policy;
  ring->impl_ = std::make_unique<Impl>(std::move(mapping), &policy);
  // Last: until here the file is no ring that recovery would read.
  std::atomic_thread_fence(std::memory_order_release);
  std::memcpy(ring->impl_->header->magic, kRingMagic, sizeof kRingMagic);
  return ring;
}

std::unique_ptr<Ring> Ring::CreateVolatile(const RingIdentity& identity,
                                           const schema::RedactionPolicy& policy, size_t size) {
  const size_t policy_half = PolicyHalfSize(policy);
  RingMapping mapping;
  if (!MapWithoutFile(RingFileSize(size, policy_half), &mapping)) return nullptr;
  WriteHeader(identity, policy_half, &mapping);
  std::unique_ptr<Ring> ring(new Ring);
  ring->identity_ = identity;
  ring->policy_ = policy;
  ring->impl_ = std::make_unique<Impl>(std::move(mapping), &policy);
  return ring;
}

std::unique_ptr<Ring> Ring::OpenLeftover(const std::string& path, std::string* why) {
  RingMapping mapping;
  if (!OpenLeftoverFile(path, &mapping, why)) return nullptr;
  const auto* header = reinterpret_cast<const RingHeader*>(mapping.base);
  schema::RedactionPolicy policy;
  const auto read_policy = [&] {
    const uint32_t half = header->policy_index.load(std::memory_order_acquire) & 1;
    const std::string_view bytes(
        mapping.base + header->policy_offset + half * header->policy_half_size,
        header->policy_half_size);
    return DecodePolicy(bytes, &policy);
  };
  if (mapping.size < sizeof(RingHeader) || !HeaderFits(*header, mapping.size) || !read_policy()) {
    *why = path + ": not a ring of this version";
    Unmap(&mapping);
    return nullptr;
  }
  std::unique_ptr<Ring> ring(new Ring);
  ring->path_ = path;
  RingIdentity& identity = ring->identity_;
  identity.pid = header->pid;
  identity.process_start = header->process_start;
  identity.boot_id = ReadText(header->boot_id, sizeof header->boot_id);
  identity.store_path = ReadText(header->store_path, sizeof header->store_path);
  const uint32_t name = header->segment_index.load(std::memory_order_acquire) & 1;
  identity.segment_name = ReadText(header->segment_names[name], sizeof header->segment_names[name]);
  identity.other_segment_name =
      ReadText(header->segment_names[1 - name], sizeof header->segment_names[name]);
  ring->policy_ = std::move(policy);
  ring->impl_ = std::make_unique<Impl>(std::move(mapping), nullptr);
  ring->impl_->leftover_policy = std::make_shared<const schema::RedactionPolicy>(ring->policy_);
  return ring;
}

std::vector<std::string> Ring::FindFor(const std::string& store_path) {
  return RingFilesFor(store_path);
}

Ring::~Ring() {
  // The mapping was not inherited, and its addresses may be somebody else's by now.
  if (impl_ != nullptr && impl_->guard.InForkedChild()) static_cast<void>(impl_.release());
}

bool Ring::InForkedChild() const noexcept {
  return impl_->guard.InForkedChild();
}

// --- producers ---

Lane* Ring::Impl::LockLane() noexcept {
  // No thread_local: it may need memory or a destructor in a host that loads us late.
  const auto thread = static_cast<uint64_t>(pthread_self());
  const auto start = static_cast<uint32_t>((thread * 0x9E3779B97F4A7C15u) >> 40);
  for (int round = 0; round < kSpinRounds + kYieldRounds; ++round) {
    for (uint32_t i = 0; i < lane_count; ++i) {
      Lane& lane = lanes[(start + i) & (lane_count - 1)];
      if (lane.locked.load(std::memory_order_relaxed) == 0 &&
          lane.locked.exchange(1, std::memory_order_acquire) == 0) {
        return &lane;
      }
    }
    if (round >= kSpinRounds) std::this_thread::yield();
  }
  return nullptr;
}

void Ring::Impl::StartChunk(Lane* lane, uint32_t chunk) noexcept {
  if (lane->chunk != kNoChunk) chunks.SetState(lane->chunk, ChunkState::kRetired);
  lane->chunk = chunk;
  lane->position = 0;
}

bool Ring::Impl::MakeRoom(Lane* lane, size_t size) noexcept {
  if (Stride(size) <= kChunkPayload - lane->position) return true;
  const uint32_t chunk = chunks.Claim();
  if (chunk == kNoChunk) return false;
  StartChunk(lane, chunk);
  return true;
}

void Ring::Impl::Write(Lane* lane, const RecordHeader& record, PieceReader* pieces) noexcept {
  char* const out = chunks.bytes(lane->chunk) + lane->position;
  std::memcpy(out, &record, sizeof record);
  pieces->CopyTo(out + sizeof record, record.size);
  lane->position += static_cast<uint32_t>(Stride(record.size));
  chunks.at(lane->chunk)->committed.store(lane->position, std::memory_order_release);
}

uint64_t Ring::Impl::AppendWhole(Lane* lane, RecordHeader record, PieceReader* pieces) noexcept {
  if (!MakeRoom(lane, record.total)) return 0;
  record.sequence = NextSequence();
  record.size = record.total;
  Write(lane, record, pieces);
  return record.sequence;
}

bool Ring::Impl::ClaimChain(const Lane& lane, size_t total, uint32_t* first) noexcept {
  constexpr size_t kPerChunk = kChunkPayload - sizeof(RecordHeader);
  const size_t own = kChunkPayload - lane.position;
  const size_t in_own = own > sizeof(RecordHeader) ? own - sizeof(RecordHeader) : 0;
  *first = kNoChunk;
  for (size_t left = total - std::min(total, in_own); left > 0; left -= std::min(left, kPerChunk)) {
    const uint32_t chunk = chunks.Claim();
    if (chunk != kNoChunk) {
      next_chunk[chunk] = *first;
      *first = chunk;
      continue;
    }
    while (*first != kNoChunk) chunks.Free(std::exchange(*first, next_chunk[*first]));
    return false;
  }
  return true;
}

uint64_t Ring::Impl::AppendSplit(Lane* lane, RecordHeader record, PieceReader* pieces) noexcept {
  uint32_t chain = kNoChunk;
  if (!ClaimChain(*lane, record.total, &chain)) return 0;
  record.sequence = NextSequence();
  while (record.offset < record.total) {
    if (kChunkPayload - lane->position <= sizeof(RecordHeader)) {
      StartChunk(lane, std::exchange(chain, next_chunk[chain]));
    }
    const size_t room = (kChunkPayload - lane->position - sizeof(RecordHeader)) & ~size_t{7};
    record.size = static_cast<uint32_t>(std::min<size_t>(room, record.total - record.offset));
    Write(lane, record, pieces);
    record.offset += record.size;
  }
  return record.sequence;
}

uint64_t Ring::Append(uint8_t kind, const std::string_view* pieces, size_t piece_count,
                      DropReason* reason) noexcept {
  Impl& ring = *impl_;
  if (ring.guard.InForkedChild()) {
    *reason = DropReason::kForkChild;
    return 0;
  }
  size_t total = 0;
  for (size_t i = 0; i < piece_count; ++i) total += pieces[i].size();
  *reason = ring.full_reason.load(std::memory_order_relaxed);
  uint64_t sequence = 0;
  Lane* const lane = total <= capacity_bytes() ? ring.LockLane() : nullptr;
  if (lane != nullptr) {
    RecordHeader record{};
    record.total = static_cast<uint32_t>(total);
    record.kind = kind;
    PieceReader reader(pieces, piece_count);
    sequence = total <= kNeverSplit ? ring.AppendWhole(lane, record, &reader)
                                    : ring.AppendSplit(lane, record, &reader);
    if (sequence != 0) {
      lane->accepted.store(lane->accepted.load(std::memory_order_relaxed) + 1,
                           std::memory_order_relaxed);
    }
    lane->locked.store(0, std::memory_order_release);
  }
  if (sequence == 0) {
    CountDrop(*reason, total);
    return 0;
  }
  *reason = DropReason::kNone;
  return sequence;
}

void Ring::CountDrop(DropReason reason, uint64_t bytes) noexcept {
  if (impl_->guard.InForkedChild()) return;
  const auto slot = static_cast<size_t>(reason);
  impl_->header->dropped[slot].fetch_add(1, std::memory_order_relaxed);
  impl_->header->dropped_bytes[slot].fetch_add(bytes, std::memory_order_relaxed);
}

void Ring::SetFullReason(DropReason reason) noexcept {
  impl_->full_reason.store(reason, std::memory_order_relaxed);
}

// --- consumer ---

void Ring::Take(size_t max_records, size_t max_bytes, bool everything,
                std::vector<RingRecord>* records) {
  // The bound before the search; see ring.h.
  const uint64_t bound = impl_->header->next_sequence.load(std::memory_order_acquire);
  impl_->consumer.Take(everything ? UINT64_MAX : bound, max_records, max_bytes, records);
}

void Ring::Release() {
  impl_->consumer.Release();
}

void Ring::Rewind() {
  impl_->consumer.Rewind();
}

uint64_t Ring::TakenBelow() const noexcept {
  return impl_->consumer.taken_below();
}

uint64_t Ring::NextSequence() const noexcept {
  return impl_->header->next_sequence.load(std::memory_order_acquire);
}

uint64_t Ring::damaged_chunks() const noexcept {
  return impl_->consumer.damaged_chunks();
}

std::vector<RingLoss> Ring::UndeclaredLosses() const {
  const RingHeader& header = *impl_->header;
  std::vector<RingLoss> losses;
  for (size_t slot = 1; slot < static_cast<size_t>(DropReason::kCount); ++slot) {
    RingLoss loss;
    loss.reason = static_cast<DropReason>(slot);
    loss.count = header.dropped[slot].load(std::memory_order_acquire) -
                 header.declared[slot].load(std::memory_order_relaxed);
    loss.bytes = header.dropped_bytes[slot].load(std::memory_order_relaxed) -
                 header.declared_bytes[slot].load(std::memory_order_relaxed);
    loss.first_sequence = header.declared_below.load(std::memory_order_relaxed);
    loss.last_sequence = header.next_sequence.load(std::memory_order_relaxed);
    if (loss.count != 0) losses.push_back(loss);
  }
  return losses;
}

void Ring::DeclareLosses(const std::vector<RingLoss>& losses) {
  RingHeader& header = *impl_->header;
  for (const RingLoss& loss : losses) {
    const auto slot = static_cast<size_t>(loss.reason);
    header.declared[slot].fetch_add(loss.count, std::memory_order_relaxed);
    header.declared_bytes[slot].fetch_add(loss.bytes, std::memory_order_relaxed);
    header.declared_below.store(loss.last_sequence, std::memory_order_relaxed);
  }
}

// --- either side ---

RingCounters Ring::counters() const noexcept {
  const RingHeader& header = *impl_->header;
  RingCounters counters;
  for (const Lane& lane : impl_->lanes) {
    counters.accepted += lane.accepted.load(std::memory_order_relaxed);
  }
  for (size_t slot = 0; slot < static_cast<size_t>(DropReason::kCount); ++slot) {
    counters.dropped[slot] = header.dropped[slot].load(std::memory_order_relaxed);
    counters.dropped_bytes += header.dropped_bytes[slot].load(std::memory_order_relaxed);
  }
  counters.high_water_bytes = header.high_water_bytes.load(std::memory_order_relaxed);
  return counters;
}

size_t Ring::used_bytes() const noexcept {
  return size_t{impl_->chunks.used_count()} * kRingChunkSize;
}

size_t Ring::capacity_bytes() const noexcept {
  return size_t{impl_->chunks.count()} * kRingChunkSize;
}

std::shared_ptr<const schema::RedactionPolicy> Ring::CurrentPolicy() const {
  return impl_->policy != nullptr ? impl_->policy->Snapshot() : impl_->leftover_policy;
}

void Ring::LearnSecret(std::string_view secret) noexcept {
  if (impl_->policy != nullptr && !impl_->guard.InForkedChild()) impl_->policy->Learn(secret);
}

void Ring::AnnounceSegment(std::string_view name) noexcept {
  RingHeader& header = *impl_->header;
  const uint32_t other = 1 - header.segment_index.load(std::memory_order_relaxed);
  CopyText(header.segment_names[other], sizeof header.segment_names[other], name);
}

void Ring::SetSegmentName(std::string_view name) noexcept {
  AnnounceSegment(name);
  RingHeader& header = *impl_->header;
  const uint32_t other = 1 - header.segment_index.load(std::memory_order_relaxed);
  header.segment_index.store(other, std::memory_order_release);
}

std::string Ring::SpillPath(uint64_t number) const {
  return path_.empty() ? std::string() : store::SpillPath(path_, number);
}

bool Ring::IsSpill(std::string_view path) const {
  return !path_.empty() && store::IsSpillOf(path_, path);
}

void Ring::Remove() {
  std::memset(impl_->mapping.base, 0, impl_->mapping.size);
  if (!path_.empty()) RemoveRingFile(path_);
}

void Ring::LetGo() {
  if (!path_.empty()) path_ = store::LetGo(&impl_->mapping);
}

}  // namespace reenact::store
