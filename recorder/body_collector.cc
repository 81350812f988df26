#include "recorder/body_collector.h"

#include <algorithm>
#include <utility>

#include "recorder/cancellation.h"

namespace reenact::recorder {
namespace {

// A pooled handle does not sit on more memory than this.
constexpr size_t kKeptCapacity = 2 * kStreamCommitBytes;

}  // namespace

void BodyCollector::Reset(EventLog* log, uint64_t limit_bytes) {
  log_ = log;
  limit_bytes_ = limit_bytes;
  memory_.clear();
  if (memory_.capacity() > kKeptCapacity) memory_ = std::string();
  spill_.reset();
  kept_bytes_ = 0;
  total_bytes_ = 0;
  cut_ = false;
  whole_.reset();
  if (limit_bytes_ != 0) whole_.emplace();
}

size_t BodyCollector::Append(std::string_view bytes) {
  total_bytes_ += bytes.size();
  if (whole_) whole_->Update(bytes);
  const std::string_view kept = bytes.substr(0, Room(bytes.size()));
  if (kept.size() < bytes.size()) cut_ = true;
  if (kept.empty()) return 0;
  const uint64_t before = kept_bytes_;
  try {
    Keep(kept);
  } catch (...) {
    cut_ = true;
    throw;
  }
  return static_cast<size_t>(kept_bytes_ - before);
}

size_t BodyCollector::Room(size_t size) const noexcept {
  if (cut_) return 0;
  if (limit_bytes_ == 0) return size;
  return static_cast<size_t>(std::min<uint64_t>(size, limit_bytes_ - kept_bytes_));
}

void BodyCollector::Keep(std::string_view bytes) {
  if (!spill_) {
    // One piece, as a tool hands it over, may be as large as a record; a stream spills early, so
    // that a thousand of them do not hold a gigabyte.
    const size_t limit = memory_.empty() ? kSpillThreshold : kStreamCommitBytes;
    if (memory_.size() + bytes.size() <= limit) {
      memory_.append(bytes);
      kept_bytes_ += bytes.size();
      return;
    }
    Spill();
    if (!spill_) return Cut();
  }
  const NoCancellation no_cancellation;
  spill_->Append(bytes);
  kept_bytes_ += bytes.size();
}

void BodyCollector::Spill() {
  const NoCancellation no_cancellation;
  spill_ = log_->NewSpill();
  if (!spill_) return;
  spill_->Append(memory_);
  memory_.clear();
}

// No memory for a spill file: the body ends where it stands.
void BodyCollector::Cut() {
  log_->CountDrop(store::DropReason::kMemory, 0);
  cut_ = true;
}

BodyCollector::Finished BodyCollector::Finish() {
  Finished finished;
  if (spill_) {
    const NoCancellation no_cancellation;
    finished.spilled = spill_->Finish();
    finished.size = finished.spilled.size;
  } else {
    finished.tail = memory_;
    finished.size = memory_.size();
  }
  if (cut_) {
    finished.spilled.cut = true;
    finished.spilled.original_size = total_bytes_;
    // Zeros where the cut was not foreseen: the whole is then not known.
    finished.spilled.original_digest = whole_ ? whole_->Finish() : schema::Digest{};
  }
  return finished;
}

void BodyCollector::Discard() noexcept {
  const NoCancellation no_cancellation;
  if (spill_) spill_->Discard();
}

void BodyCollector::Abandon() noexcept {
  static_cast<void>(spill_.release());
}

}  // namespace reenact::recorder
