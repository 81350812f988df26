#include "store/ring/ring.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <utility>

#include "store/ring/internal/fork_guard.h"
#include "store/ring/internal/ring_chunks.h"
#include "store/ring/internal/ring_consumer.h"
#include "store/ring/internal/ring_file.h"
#include "store/ring/internal/ring_header.h"
#include "store/ring/internal/ring_lanes.h"
#include "store/ring/internal/ring_policy.h"

namespace reenact::store {

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
  // Takes `*mapped` over as its last step: when this throws, it is still the caller's.
  Impl(RingMapping* mapped, const schema::RedactionPolicy* given)
      : header(reinterpret_cast<RingHeader*>(mapped->base)),
        chunks(mapped->base),
        lanes(&chunks),
        consumer(&chunks) {
    if (given != nullptr) policy = std::make_unique<RingPolicy>(mapped->base, *given);
    mapping = std::move(*mapped);
  }

  RingMapping mapping;
  ForkGuard guard;
  RingHeader* header;
  RingChunks chunks;
  RingLanes lanes;
  RingConsumer consumer;
  std::unique_ptr<RingPolicy> policy;  // Null for a leftover.
  std::shared_ptr<const schema::RedactionPolicy> leftover_policy;
  std::atomic<DropReason> full_reason{DropReason::kRingFull};
};

Ring::Ring() = default;

std::unique_ptr<Ring> Ring::Create(const RingIdentity& identity,
                                   const schema::RedactionPolicy& policy, size_t size,
                                   std::string* why) {
  if (identity.store_path.size() >= sizeof RingHeader::store_path) {
    *why = "the path of the store is too long for a ring: " + identity.store_path;
    return nullptr;
  }
  const size_t policy_half = PolicyHalfSize(policy);
  std::unique_ptr<Ring> ring(new Ring);
  RingMapping mapping;
  if (!CreateRingFile(identity.store_path, RingFileSize(size, policy_half), &mapping, why)) {
    return nullptr;
  }
  try {
    ring->Adopt(&mapping, identity, policy, policy_half);
  } catch (...) {
    unlink(mapping.path.c_str());
    throw;
  }
  WriteRingMagic(ring->impl_->header);
  return ring;
}

void Ring::Adopt(RingMapping* mapping, const RingIdentity& identity,
                 const schema::RedactionPolicy& policy, size_t policy_half) {
  WriteRingHeader(identity, policy_half, mapping);
  path_ = mapping->path;
  identity_ = identity;
  policy_ = policy;
  impl_ = std::make_unique<Impl>(mapping, &policy);
}

std::unique_ptr<Ring> Ring::CreateVolatile(const RingIdentity& identity,
                                           const schema::RedactionPolicy& policy, size_t size) {
  const size_t policy_half = PolicyHalfSize(policy);
  RingMapping mapping;
  if (!MapWithoutFile(RingFileSize(size, policy_half), &mapping)) return nullptr;
  std::unique_ptr<Ring> ring(new Ring);
  ring->Adopt(&mapping, identity, policy, policy_half);
  return ring;
}

namespace {

// The magic comes first in the file and is written last. Without it nothing was ever in the ring,
// or nothing is any more: Remove() zeroes the memory before it unlinks the file.
bool WasOpened(const RingMapping& mapping) {
  const std::string_view magic(mapping.base, std::min(mapping.size, sizeof RingHeader::magic));
  return magic.find_first_not_of('\0') != std::string_view::npos;
}

bool ReadPolicy(const RingMapping& mapping, schema::RedactionPolicy* policy) {
  const auto* header = reinterpret_cast<const RingHeader*>(mapping.base);
  const uint32_t half = header->policy_index.load(std::memory_order_acquire) & 1;
  return DecodePolicy(
      std::string_view(mapping.base + header->policy_offset + half * header->policy_half_size,
                       header->policy_half_size),
      policy);
}

}  // namespace

LeftoverRing Ring::OpenLeftover(const std::string& path) {
  LeftoverRing found;
  RingMapping mapping;
  if (!OpenLeftoverFile(path, &mapping, &found.why)) {
    if (found.why.empty()) found.state = RingFileState::kInUse;
    return found;
  }
  if (!WasOpened(mapping)) {
    found.state = RingFileState::kNeverOpened;
    return found;
  }
  const auto* header = reinterpret_cast<const RingHeader*>(mapping.base);
  schema::RedactionPolicy policy;
  if (mapping.size < sizeof(RingHeader) || !RingHeaderFits(*header, mapping.size) ||
      !ReadPolicy(mapping, &policy)) {
    found.why = path + ": not a ring of this version";
    return found;
  }
  found.state = RingFileState::kLeft;
  found.ring.reset(new Ring);
  Ring& ring = *found.ring;
  ring.path_ = path;
  ring.identity_ = ReadRingIdentity(*header);
  ring.policy_ = std::move(policy);
  ring.impl_ = std::make_unique<Impl>(&mapping, nullptr);
  ring.impl_->leftover_policy = std::make_shared<const schema::RedactionPolicy>(ring.policy_);
  return found;
}

void Ring::RemoveNeverOpened(const std::string& path) {
  RingMapping mapping;
  std::string why;
  if (!OpenLeftoverFile(path, &mapping, &why)) return;
  if (!WasOpened(mapping)) RemoveRingFile(path);  // While it is locked.
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

uint64_t Ring::Append(uint8_t kind, const std::string_view* pieces, size_t piece_count,
                      DropReason* reason) noexcept {
  if (impl_->guard.InForkedChild()) {
    *reason = DropReason::kForkChild;
    return 0;
  }
  size_t total = 0;
  for (size_t i = 0; i < piece_count; ++i) total += pieces[i].size();
  const uint64_t sequence = impl_->lanes.Append(kind, pieces, piece_count, total);
  *reason = DropReason::kNone;
  if (sequence == 0) {
    *reason = impl_->full_reason.load(std::memory_order_relaxed);
    CountDrop(*reason, total);
  }
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
  counters.accepted = impl_->lanes.accepted();
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
  SetOtherSegmentName(name, impl_->header);
}

void Ring::SetSegmentName(std::string_view name) noexcept {
  SetOtherSegmentName(name, impl_->header);
  std::atomic<uint32_t>& index = impl_->header->segment_index;
  index.store(1 - index.load(std::memory_order_relaxed), std::memory_order_release);
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

void Ring::RemoveUnused() noexcept {
  if (!path_.empty()) unlink(path_.c_str());
}

void Ring::LetGo() {
  // path_ stays: other threads may be reading it.
  if (!path_.empty()) store::LetGo(&impl_->mapping);
}

}  // namespace reenact::store
