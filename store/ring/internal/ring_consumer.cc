#include "store/ring/internal/ring_consumer.h"

#include <algorithm>
#include <cstring>

namespace reenact::store {
namespace {

RecordHeader HeaderAt(const RingChunks& chunks, uint32_t chunk, uint32_t position) {
  RecordHeader header;
  std::memcpy(&header, chunks.bytes(chunk) + position, sizeof header);
  return header;
}

}  // namespace

RingConsumer::RingConsumer(RingChunks* chunks) : chunks_(chunks), progress_(chunks->count()) {
  for (uint32_t chunk = 0; chunk < chunks->count(); ++chunk) {
    if (chunks->State(chunk) == ChunkState::kFree) continue;
    progress_[chunk].scanned = chunks->at(chunk)->released.load(std::memory_order_acquire);
  }
}

void RingConsumer::Take(uint64_t bound, size_t max_records, size_t max_bytes,
                        std::vector<RingRecord>* records) {
  for (uint32_t chunk = 0; chunk < chunks_->count(); ++chunk) {
    if (!chunks_->IsFree(chunk)) Scan(chunk);
  }
  size_t bytes = 0;
  size_t count = 0;
  while (!found_.empty() && found_.top().sequence < bound && count < max_records &&
         (count == 0 || bytes < max_bytes)) {
    taken_.push_back(found_.top());
    found_.pop();
    AppendTo(taken_.back(), records);
    bytes += records->back().payload.size();
    ++count;
  }
  const bool all = found_.empty() || found_.top().sequence >= bound;
  taken_below_ = all ? bound : found_.top().sequence;
}

void RingConsumer::Scan(uint32_t chunk) {
  // State before length: a retired chunk's length is final.
  const bool retired = chunks_->State(chunk) == ChunkState::kRetired;
  const uint32_t committed = chunks_->at(chunk)->committed.load(std::memory_order_acquire);
  ChunkProgress& progress = progress_[chunk];
  while (!progress.damaged && progress.scanned != committed) {
    if (committed > kChunkPayload || progress.scanned > committed ||
        !Index(chunk, progress.scanned, committed, &progress.scanned)) {
      progress.damaged = true;
      ++damaged_chunks_;
    }
  }
  if (retired) FreeIfDone(chunk);
}

bool RingConsumer::Index(uint32_t chunk, uint32_t position, uint32_t committed, uint32_t* next) {
  if (committed - position < sizeof(RecordHeader)) return false;
  const RecordHeader header = HeaderAt(*chunks_, chunk, position);
  if (header.size > header.total || header.sequence == 0) return false;
  if (Stride(header.size) > committed - position) return false;
  const bool split = header.size != header.total;
  if (split) {
    const auto [record, is_new] = split_.try_emplace(header.sequence);
    SplitRecord& parts = record->second;
    // Parts are committed in order, but found by number of chunk.
    parts.parts.push_back({chunk, position});
    parts.size_so_far += header.size;
    if (parts.size_so_far == header.total) found_.push({header.sequence, {}, true});
  } else {
    found_.push({header.sequence, {chunk, position}, false});
  }
  ++progress_[chunk].held;
  *next = position + static_cast<uint32_t>(Stride(header.size));
  return true;
}

void RingConsumer::AppendTo(const Found& found, std::vector<RingRecord>* records) const {
  RingRecord& record = records->emplace_back();
  record.sequence = found.sequence;
  if (!found.split) {
    const RecordHeader header = HeaderAt(*chunks_, found.part.chunk, found.part.position);
    record.kind = header.kind;
    record.payload.assign(chunks_->bytes(found.part.chunk) + found.part.position + sizeof header,
                          header.size);
    return;
  }
  const SplitRecord& split = split_.at(found.sequence);
  record.payload.resize(split.size_so_far);
  for (const Part& part : split.parts) {
    const RecordHeader header = HeaderAt(*chunks_, part.chunk, part.position);
    record.kind = header.kind;
    // Damaged: a hole, which the decoder of the record refuses.
    if (header.total != split.size_so_far || header.offset > header.total - header.size) continue;
    std::memcpy(record.payload.data() + header.offset,
                chunks_->bytes(part.chunk) + part.position + sizeof header, header.size);
  }
}

void RingConsumer::Release() {
  for (const Found& found : taken_) {
    if (!found.split) {
      ReleasePart(found.part);
      continue;
    }
    for (const Part& part : split_.at(found.sequence).parts) ReleasePart(part);
    split_.erase(found.sequence);
  }
  taken_.clear();
}

void RingConsumer::ReleasePart(const Part& part) {
  const RecordHeader header = HeaderAt(*chunks_, part.chunk, part.position);
  const auto end = part.position + static_cast<uint32_t>(Stride(header.size));
  ChunkHeader* const chunk_header = chunks_->at(part.chunk);
  // First the mark, then the zeros: a kill in between must not leave zeros that count as records.
  if (chunk_header->released.load(std::memory_order_relaxed) < end) {
    chunk_header->released.store(end, std::memory_order_release);
  }
  std::memset(chunks_->bytes(part.chunk) + part.position, 0, Stride(header.size));
  --progress_[part.chunk].held;
  if (chunks_->State(part.chunk) == ChunkState::kRetired) FreeIfDone(part.chunk);
}

void RingConsumer::FreeIfDone(uint32_t chunk) {
  ChunkProgress& progress = progress_[chunk];
  const uint32_t committed = chunks_->at(chunk)->committed.load(std::memory_order_acquire);
  if (progress.held != 0 || (!progress.damaged && progress.scanned != committed)) return;
  if (progress.damaged) std::memset(chunks_->bytes(chunk), 0, kChunkPayload);
  progress = {};
  chunks_->Free(chunk);
}

void RingConsumer::Rewind() {
  for (const Found& found : taken_) found_.push(found);
  taken_.clear();
}

}  // namespace reenact::store
