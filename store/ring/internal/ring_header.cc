#include "store/ring/internal/ring_header.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <new>

#include "store/ring/internal/ring_policy.h"

namespace reenact::store {
namespace {

constexpr size_t kPage = 4096;
constexpr uint32_t kMinChunks = 8;

size_t RoundUp(size_t value, size_t unit) {
  return (value + unit - 1) / unit * unit;
}

void CopyText(char* out, size_t capacity, std::string_view text) {
  const size_t size = std::min(text.size(), capacity - 1);
  std::memcpy(out, text.data(), size);
  std::memset(out + size, 0, capacity - size);
}

std::string ReadText(const char* text, size_t capacity) {
  return std::string(text, strnlen(text, capacity));
}

}  // namespace

void WriteRingHeader(const RingIdentity& identity, size_t policy_half, RingMapping* mapping) {
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

void WriteRingMagic(RingHeader* header) {
  header->magic.store(kRingMagic, std::memory_order_release);
}

bool RingHeaderFits(const RingHeader& header, size_t size) {
  return header.magic.load(std::memory_order_acquire) == kRingMagic &&
         header.version == kRingVersion && header.file_size == size &&
         header.policy_offset < size && header.policy_half_size < size &&
         header.policy_offset + 2 * header.policy_half_size <= header.chunks_offset &&
         header.chunks_offset < size && header.chunks_offset % alignof(ChunkHeader) == 0 &&
         header.chunk_count > 0 &&
         header.chunk_count <= (size - header.chunks_offset) / kRingChunkSize;
}

RingIdentity ReadRingIdentity(const RingHeader& header) {
  RingIdentity identity;
  identity.pid = header.pid;
  identity.process_start = header.process_start;
  identity.boot_id = ReadText(header.boot_id, sizeof header.boot_id);
  identity.store_path = ReadText(header.store_path, sizeof header.store_path);
  const uint32_t name = header.segment_index.load(std::memory_order_acquire) & 1;
  const size_t capacity = sizeof header.segment_names[0];
  identity.segment_name = ReadText(header.segment_names[name], capacity);
  identity.other_segment_name = ReadText(header.segment_names[1 - name], capacity);
  return identity;
}

void SetOtherSegmentName(std::string_view name, RingHeader* header) {
  const uint32_t other = 1 - header->segment_index.load(std::memory_order_relaxed);
  CopyText(header->segment_names[other], sizeof header->segment_names[other], name);
}

}  // namespace reenact::store
