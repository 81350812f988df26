#include "recorder/event_log.h"

#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <exception>
#include <utility>

#include "recorder/internal/event_log_impl.h"
#include "recorder/internal/log_state.h"
#include "recorder/internal/log_writer.h"

namespace reenact::recorder {
namespace {

using store::DropReason;
using store::MonotonicNowNs;

constexpr size_t kSmallestRing = 1 << 20;

// Smaller rather than none: /dev/shm of a container may be tiny.
std::unique_ptr<store::Ring> MakeRing(const store::RingIdentity& identity,
                                      const EventLogOptions& options, std::string* why) {
  for (size_t size = std::max(options.ring_bytes, kSmallestRing); size >= kSmallestRing;
       size /= 2) {
    auto ring = store::Ring::Create(identity, options.redaction, size, why);
    if (ring != nullptr) return ring;
  }
  return store::Ring::CreateVolatile(identity, options.redaction,
                                     std::max(options.ring_bytes, kSmallestRing));
}

std::string AbsolutePath(const std::string& path) {
  char* resolved = realpath(path.c_str(), nullptr);
  std::string absolute = resolved != nullptr ? resolved : path;
  std::free(resolved);
  return absolute;
}

// The thread must not be the one that a host's signal is delivered to.
std::thread StartWriter(const std::shared_ptr<LogState>& state) {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread writer;
  std::exception_ptr failure;
  try {
    writer = std::thread([state] {
      prctl(PR_SET_NAME, "reenact-writer");
      LogWriter(state).Run();
    });
  } catch (...) {
    failure = std::current_exception();
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (failure) std::rethrow_exception(failure);
  return writer;
}

// `deadline_ns` as a time point of the clock that condition variables wait by.
std::chrono::steady_clock::time_point DeadlinePoint(int64_t deadline_ns) {
  return std::chrono::steady_clock::time_point(std::chrono::nanoseconds(deadline_ns));
}

}  // namespace

EventLog::EventLog() = default;

std::unique_ptr<EventLog> EventLog::Open(const EventLogOptions& options, std::string* why) {
  return Make(options, true, why);
}

std::unique_ptr<EventLog> EventLog::Make(const EventLogOptions& options, bool start_writer,
                                         std::string* why) {
  std::shared_ptr<LogState> state;
  try {
    state = std::make_shared<LogState>();
    state->options = options;
    state->layout.root = options.store_path;
    std::string store_key;
    if (!store::PrepareStore(state->layout, &store_key, why)) return nullptr;
    // A host that changes its directory keeps its store.
    state->options.store_path = AbsolutePath(options.store_path);
    state->layout.root = state->options.store_path;
    const store::ProcessIdentity process = store::ThisProcess();
    const store::RingIdentity identity{process.pid, process.start, process.boot_id,
                                       state->options.store_path, ""};
    std::string no_ring;
    state->ring = MakeRing(identity, options, &no_ring);
    if (state->ring == nullptr) {
      *why = options.store_path + ": no memory for a ring: " + no_ring;
      return nullptr;
    }
    state->durable = state->ring->durable();
    std::unique_ptr<EventLog> log(new EventLog);
    log->impl_ = std::make_unique<Impl>();
    log->impl_->state = state;
    if (start_writer) log->impl_->writer = StartWriter(state);
    return log;
  } catch (const std::exception& error) {
    if (state != nullptr && state->ring != nullptr) state->ring->RemoveUnused();
    *why = options.store_path + ": " + error.what();
    return nullptr;
  }
}

bool EventLog::InForkedChild() const noexcept {
  return impl_->state->ring->InForkedChild();
}

EventLog::~EventLog() {
  if (impl_ == nullptr) return;
  if (InForkedChild()) {
    // The thread, its lock and its connection are the parent's.
    static_cast<void>(impl_.release());
    return;
  }
  LogState& state = *impl_->state;
  state.refusal = DropReason::kAfterClose;
  state.abandoned = true;
  {
    const std::lock_guard<std::mutex> lock(state.mutex);
    state.wake.notify_all();
  }
  if (impl_->writer.joinable()) impl_->writer.detach();
}

bool EventLog::Close(int64_t deadline_ns) {
  if (InForkedChild()) return false;
  LogState& state = *impl_->state;
  state.refusal = DropReason::kAfterClose;
  std::unique_lock<std::mutex> lock(state.mutex);
  state.closing = true;
  state.close_deadline_ns = deadline_ns;
  state.wake.notify_all();
  state.progress.wait_until(lock, DeadlinePoint(deadline_ns), [&] { return state.finished; });
  if (!state.finished) {
    state.abandoned = true;
    state.wake.notify_all();
    return false;
  }
  lock.unlock();
  if (impl_->writer.joinable()) impl_->writer.join();
  return state.drained;
}

bool EventLog::Flush(int64_t deadline_ns) {
  if (InForkedChild()) return false;
  LogState& state = *impl_->state;
  const uint64_t below = state.ring->NextSequence();
  std::unique_lock<std::mutex> lock(state.mutex);
  if (state.finished) return state.drained;
  state.flush_below = std::max(state.flush_below, below);
  state.wake.notify_all();
  return state.progress.wait_until(lock, DeadlinePoint(deadline_ns), [&] {
    return state.stored_below >= below || state.finished;
  }) && (state.stored_below >= below || state.drained);
}

uint64_t EventLog::Append(store::RecordKind kind, const std::string_view* pieces, size_t count,
                          DropReason* reason) noexcept {
  LogState& state = *impl_->state;
  if (state.ring->InForkedChild()) {
    state.fork_child_drops.fetch_add(1, std::memory_order_relaxed);
    *reason = DropReason::kForkChild;
    return 0;
  }
  *reason = state.refusal.load(std::memory_order_relaxed);
  if (*reason != DropReason::kNone) {
    uint64_t bytes = 0;
    for (size_t i = 0; i < count; ++i) bytes += pieces[i].size();
    state.ring->CountDrop(*reason, bytes);
    return 0;
  }
  return state.ring->Append(static_cast<uint8_t>(kind), pieces, count, reason);
}

void EventLog::CountDrop(DropReason reason, uint64_t bytes) noexcept {
  LogState& state = *impl_->state;
  if (state.ring->InForkedChild()) {
    state.fork_child_drops.fetch_add(1, std::memory_order_relaxed);
  } else {
    state.ring->CountDrop(reason, bytes);
  }
}

void EventLog::LearnSecret(std::string_view secret) noexcept {
  impl_->state->ring->LearnSecret(secret);
}

const schema::RedactionPolicy& EventLog::policy() const noexcept {
  return impl_->state->options.redaction;
}

EventLogMetrics EventLog::Metrics() const {
  LogState& state = *impl_->state;
  EventLogMetrics metrics;
  if (state.ring->InForkedChild()) {
    metrics.dropped[static_cast<size_t>(DropReason::kForkChild)] = state.fork_child_drops;
    return metrics;
  }
  const std::lock_guard<std::mutex> lock(state.mutex);
  // Stored before accepted: in a running log stored never looks larger.
  metrics.stored = state.stored;
  metrics.lost = state.lost;
  store::RingCounters counters = state.ring->counters();
  if (state.ring_removed) {
    // Its memory was zeroed; what came later was counted from zero.
    for (size_t i = 0; i < std::size(counters.dropped); ++i) {
      counters.dropped[i] += state.last_counters.dropped[i];
    }
    counters.high_water_bytes = state.last_counters.high_water_bytes;
  }
  metrics.accepted = counters.accepted;
  std::copy(std::begin(counters.dropped), std::end(counters.dropped), std::begin(metrics.dropped));
  metrics.stored_bytes = state.stored_bytes;
  metrics.ring_high_water_bytes = counters.high_water_bytes;
  metrics.last_commit_ns = state.last_commit_ns;
  metrics.max_commit_ns = state.max_commit_ns;
  metrics.wal_bytes = state.wal_bytes;
  metrics.durable_ack = state.durable;
  metrics.last_error = state.last_error;
  return metrics;
}

}  // namespace reenact::recorder
