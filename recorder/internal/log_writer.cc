// One turn of the thread: take a batch, write it, keep house, sleep. A failure never loses a batch;
// it is written again, into the same segment or the next, with growing pauses, while the ring
// fills up behind it. What the ring then refuses is counted there, and told in a gap row once
// writing works again.

#include "recorder/internal/log_writer.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <utility>

#include "store/writer/retention.h"

namespace reenact::recorder {
namespace {

using store::DropReason;
using store::MonotonicNowNs;
using store::WriteCode;

constexpr int64_t kMillisecond = 1'000'000;
constexpr int64_t kBusyPauseNs = 5 * kMillisecond;
constexpr int64_t kIdlePauseNs = 20 * kMillisecond;
constexpr int64_t kFirstRetryNs = 20 * kMillisecond;
constexpr int64_t kLastRetryNs = 1000 * kMillisecond;
constexpr int64_t kHouseKeepingNs = 1000 * kMillisecond;

DropReason ReasonFor(WriteCode code) {
  return code == WriteCode::kFull ? DropReason::kDiskFull : DropReason::kStoreError;
}

std::string Describe(WriteCode code) {
  switch (code) {
    case WriteCode::kFull:
      return "the disk is full";
    case WriteCode::kUnavailable:
      return "not available now";
    case WriteCode::kRefused:
      return "may not be written";
    default:
      return "cannot be written";
  }
}

uint64_t FileSize(const std::string& path) {
  struct stat status {};

  return stat(path.c_str(), &status) == 0 ? static_cast<uint64_t>(status.st_size) : 0;
}

// One that was made and could not be begun: a full disk must not fill up with names.
void RemoveEmptySegment(const std::string& path) {
  for (const char* suffix : {"-journal", "-wal", "-shm", ""}) unlink((path + suffix).c_str());
}

}  // namespace

LogWriter::LogWriter(std::shared_ptr<LogState> state)
    : state_(std::move(state)), drain_(state_->ring.get()) {}

void LogWriter::Run() {
  Recover();
  for (Step last = Step::kIdle; Wait(last);) last = Turn();
  Finish();
}

void LogWriter::Recover() {
  Guarded([&] {
    store::RecoverStore(state_->options.store_path);
    return Step::kIdle;
  });
}

LogWriter::Step LogWriter::Turn() {
  return Guarded([&] {
    KeepHouse();
    return DrainIfDue();
  });
}

// Without memory a turn is given up and tried again, as without a disk.
template <typename Work>
LogWriter::Step LogWriter::Guarded(Work work) {
  try {
    return work();
  } catch (const std::exception&) {
    NoteFailure(WriteCode::kUnavailable, {});
    return Step::kFailed;
  }
}

LogWriter::Step LogWriter::DrainIfDue() {
  return MonotonicNowNs() < retry_at_ns_ ? Step::kFailed : DrainOnce();
}

// Sleeps for as long as `last` asks for. False: the log is being closed.
bool LogWriter::Wait(Step last) {
  if (last == Step::kBusy) {
    was_busy_ = true;
    const std::lock_guard<std::mutex> lock(state_->mutex);
    return !state_->closing && !state_->abandoned;
  }
  const int64_t pause = std::exchange(was_busy_, false) ? kBusyPauseNs : kIdlePauseNs;
  std::unique_lock<std::mutex> lock(state_->mutex);
  state_->wake.wait_for(lock, std::chrono::nanoseconds(pause), [&] {
    const bool flush = state_->flush_below > state_->stored_below && last != Step::kFailed;
    return state_->closing || state_->abandoned || flush;
  });
  return !state_->closing && !state_->abandoned;
}

LogWriter::Step LogWriter::DrainOnce() {
  {
    const std::lock_guard<std::mutex> lock(state_->mutex);
    if (state_->flush_below > state_->stored_below) drain_.DeclareLossesNow();
  }
  if (!drain_.HasWork(segment_.get())) {
    PublishProgress();
    SealWhenIdle();
    return Step::kIdle;
  }
  store::SegmentWriter* const segment = EnsureSegment();
  if (segment == nullptr) return Step::kFailed;
  segment->SetHurried(state_->ring->used_bytes() > state_->ring->capacity_bytes() / 2);
  const int64_t begun = MonotonicNowNs();
  const store::DrainResult result = drain_.Batch(segment, false);
  if (result.code != WriteCode::kOk) {
    NoteFailure(result.code, segment->last_error());
    if (result.code == WriteCode::kBroken || result.code == WriteCode::kRefused) GiveUpSegment();
    return Step::kFailed;
  }
  NoteSuccess(result, MonotonicNowNs() - begun);
  // A failed checkpoint is found again by the next commit.
  static_cast<void>(segment->CheckpointIfDue());
  PublishProgress();
  return Step::kBusy;
}

void LogWriter::PublishProgress() {
  const std::lock_guard<std::mutex> lock(state_->mutex);
  state_->stored_below = state_->ring->TakenBelow();
  state_->progress.notify_all();
}

void LogWriter::NoteSuccess(const store::DrainResult& result, int64_t elapsed_ns) {
  const auto elapsed = static_cast<uint64_t>(elapsed_ns);
  state_->stored += result.records;
  state_->stored_bytes += result.bytes;
  state_->lost += result.lost;
  state_->spill_bytes -= result.spilled_bytes_freed;
  state_->last_commit_ns = elapsed;
  state_->max_commit_ns = std::max(state_->max_commit_ns.load(), elapsed);
  if (retry_delay_ns_ == 0) return;
  retry_delay_ns_ = 0;
  retry_at_ns_ = 0;
  state_->ring->SetFullReason(DropReason::kRingFull);
  const std::lock_guard<std::mutex> lock(state_->mutex);
  state_->last_error.clear();
}

void LogWriter::NoteFailure(WriteCode code, const std::string& what) {
  retry_delay_ns_ = std::clamp(retry_delay_ns_ * 2, kFirstRetryNs, kLastRetryNs);
  retry_at_ns_ = MonotonicNowNs() + retry_delay_ns_;
  state_->ring->SetFullReason(ReasonFor(code));
  const std::lock_guard<std::mutex> lock(state_->mutex);
  state_->last_error = what.empty() ? state_->options.store_path + ": " + Describe(code) : what;
}

// --- segments ---

bool LogWriter::RotationIsDue() const {
  return segment_->size_bytes() >= state_->options.segment_max_bytes ||
         MonotonicNowNs() - segment_opened_ns_ >= state_->options.segment_max_age_ns;
}

store::SegmentWriter* LogWriter::EnsureSegment() {
  // A file that is gone would be written to happily, and with nothing to show for it.
  if (segment_ != nullptr && segment_->size_bytes() == 0) GiveUpSegment();
  if (segment_ != nullptr && !RotationIsDue()) return segment_.get();
  return OpenNext() ? segment_.get() : nullptr;
}

bool LogWriter::OpenNext() {
  std::string why;
  store::SegmentOptions options;
  if (!store::PrepareStore(state_->layout, &options.store_key, &why)) {
    NoteFailure(WriteCode::kRefused, why);
    return false;
  }
  options.segment_id = store::NewSegmentId(state_->layout);
  options.path = state_->layout.segment(options.segment_id);
  const std::string name = schema::ToString(options.segment_id) + ".db";
  state_->ring->AnnounceSegment(name);
  std::unique_ptr<store::SegmentWriter> next;
  WriteCode code = store::SegmentWriter::Open(options, &next, &why);
  if (code == WriteCode::kOk) {
    code = drain_.CarryOver(next.get(), segment_.get());
    if (code != WriteCode::kOk) why = next->last_error();
  }
  if (code != WriteCode::kOk) {
    NoteFailure(code, why);
    next.reset();
    RemoveEmptySegment(options.path);
    return false;
  }
  // From here on recovery looks for the ring's records there; the old one is not needed any more.
  state_->ring->SetSegmentName(name);
  next->Announce(state_->layout.manifest());
  LetBeSealed(&given_up_);
  LetBeSealed(&segment_);
  segment_ = std::move(next);
  segment_opened_ns_ = MonotonicNowNs();
  SealOld();
  return true;
}

void LogWriter::LetBeSealed(std::unique_ptr<store::SegmentWriter>* segment) {
  if (*segment != nullptr) unsealed_.push_back(std::move(*segment));
}

void LogWriter::SealOld() {
  std::erase_if(unsealed_, [&](std::unique_ptr<store::SegmentWriter>& old) {
    const WriteCode code = old->Seal(state_->layout.manifest());
    // Whatever cannot be sealed now and never can is left as it is: recovery will try again.
    return code != WriteCode::kUnavailable && code != WriteCode::kFull;
  });
}

void LogWriter::SealWhenIdle() {
  if (drain_.HasOpenRuns()) return;
  const bool is_due = segment_ != nullptr && RotationIsDue();
  if (!is_due && given_up_ == nullptr) return;
  if (is_due || segment_ == nullptr) state_->ring->SetSegmentName("");
  if (is_due) LetBeSealed(&segment_);
  LetBeSealed(&given_up_);
  SealOld();
}

void LogWriter::GiveUpSegment() {
  if (segment_->size_bytes() > 0) given_up_ = std::move(segment_);
  segment_.reset();
}

// --- the store's limits ---

void LogWriter::KeepHouse() {
  const int64_t now = MonotonicNowNs();
  if (now < next_house_keeping_ns_) return;
  const bool first = next_house_keeping_ns_ == 0;
  next_house_keeping_ns_ = now + kHouseKeepingNs;
  SealOld();
  if (segment_ != nullptr) state_->wal_bytes = FileSize(segment_->path() + "-wal");
  const bool refused = state_->refusal.load() == DropReason::kDiskFull;
  // While nothing is written nothing grows.
  if (segment_ == nullptr && !refused && !first && retry_delay_ns_ == 0) return;
  const store::RetentionResult result =
      store::EnforceRetention(state_->layout, state_->options.retention);
  // Closing has the last word: only the states in between are ours to change.
  DropReason expected = result.within_limits ? DropReason::kDiskFull : DropReason::kNone;
  state_->refusal.compare_exchange_strong(
      expected, result.within_limits ? DropReason::kNone : DropReason::kDiskFull);
}

// --- the end ---

bool LogWriter::PastDeadline() const {
  if (state_->abandoned) return true;
  const std::lock_guard<std::mutex> lock(state_->mutex);
  return MonotonicNowNs() >= state_->close_deadline_ns;
}

bool LogWriter::DrainUntilDeadline() {
  drain_.DeclareLossesNow();
  retry_at_ns_ = 0;  // A try at least, however long the pause would have been.
  for (;;) {
    const Step step = Guarded([&] { return DrainIfDue(); });
    if (step == Step::kIdle) return true;
    if (PastDeadline()) return false;
    if (step != Step::kFailed) continue;
    std::unique_lock<std::mutex> lock(state_->mutex);
    state_->wake.wait_for(lock, std::chrono::nanoseconds(kBusyPauseNs),
                          [&] { return state_->abandoned.load(); });
  }
}

bool LogWriter::SealLast() {
  LetBeSealed(&segment_);
  LetBeSealed(&given_up_);
  for (;;) {
    SealOld();
    if (unsealed_.empty()) return true;
    if (PastDeadline()) return false;
    std::unique_lock<std::mutex> lock(state_->mutex);
    state_->wake.wait_for(lock, std::chrono::nanoseconds(kBusyPauseNs),
                          [&] { return state_->abandoned.load(); });
  }
}

void LogWriter::Finish() {
  const bool drained = !state_->abandoned && DrainUntilDeadline();
  if (drained) SealLast();
  // Before the ring is let go: whoever recovers it opens this segment.
  segment_.reset();
  given_up_.reset();
  unsealed_.clear();
  const std::lock_guard<std::mutex> lock(state_->mutex);
  state_->last_counters = state_->ring->counters();
  const uint64_t accepted = state_->last_counters.accepted;
  const uint64_t settled = state_->stored + state_->lost;
  state_->drained = drained && accepted == settled;
  if (accepted > settled) state_->lost += accepted - settled;
  if (state_->drained) {
    state_->ring->Remove();
    state_->ring_removed = true;
  } else {
    state_->ring->LetGo();
  }
  state_->finished = true;
  state_->progress.notify_all();
}

}  // namespace reenact::recorder
