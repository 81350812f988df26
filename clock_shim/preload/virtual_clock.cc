#include "clock_shim/preload/virtual_clock.h"

#include "clock_shim/preload/real_calls.h"
#include "clock_shim/preload/thread_tape.h"

namespace reenact::clock_shim {
namespace {

constexpr int64_t kFreshNs = 1'000'000;
// Deadlines this far from the epoch (some 270 years) are "for ever" on any clock.
constexpr int64_t kLastSecond = int64_t{1} << 33;

// The last reading of any thread. `version` is odd while somebody writes; whoever finds it so goes
// without, because it may be himself, below a signal handler.
constinit struct {
  uint64_t version = 0;
  int64_t wall_ns = 0;
  int64_t monotonic_ns = 0;
} latest;

void Publish(const Reading& reading) {
  uint64_t version = __atomic_load_n(&latest.version, __ATOMIC_RELAXED);
  if (version % 2 != 0) return;
  if (!__atomic_compare_exchange_n(&latest.version, &version, version + 1, false, __ATOMIC_ACQUIRE,
                                   __ATOMIC_RELAXED)) {
    return;  // Another thread's reading of the same moment.
  }
  __atomic_store_n(&latest.wall_ns, reading.wall_ns, __ATOMIC_RELAXED);
  __atomic_store_n(&latest.monotonic_ns, reading.monotonic_ns, __ATOMIC_RELAXED);
  __atomic_store_n(&latest.version, version + 2, __ATOMIC_RELEASE);
}

bool Latest(Reading* reading) {
  constexpr int kTries = 3;
  for (int i = 0; i < kTries; ++i) {
    const uint64_t version = __atomic_load_n(&latest.version, __ATOMIC_ACQUIRE);
    if (version == 0) return false;
    if (version % 2 != 0) continue;
    reading->wall_ns = __atomic_load_n(&latest.wall_ns, __ATOMIC_RELAXED);
    reading->monotonic_ns = __atomic_load_n(&latest.monotonic_ns, __ATOMIC_RELAXED);
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    if (__atomic_load_n(&latest.version, __ATOMIC_RELAXED) == version) return true;
  }
  return false;
}

int64_t Since(const Reading& reading) {
  return RealNs(CLOCK_MONOTONIC) - reading.monotonic_ns;
}

// The time after the end of the tape: the last reading, and what has passed since.
int64_t GoOn(const ThreadTape& tape) {
  Reading from = tape.own;
  if (!tape.has_read && !Latest(&from)) return RealNs(CLOCK_REALTIME);
  return from.wall_ns + Since(from);
}

int64_t ReadReplayed(ThreadTape* tape, ReadKind kind) {
  int64_t value_ns = 0;
  const bool recorded = TakeNext(tape, kind, &value_ns);
  const int64_t now_ns = RealNs(CLOCK_MONOTONIC);
  if (!recorded) {
    CountPastTape(tape);
    return GoOn(*tape);  // `own` stays the last recorded one.
  }
  tape->own = {value_ns, now_ns};
  tape->has_read = true;
  Publish(tape->own);
  return value_ns;
}

// The reading that a deadline was most likely made from.
bool OriginOf(int64_t deadline_ns, Reading* origin) {
  const ThreadTape& tape = *ThisThread();
  Reading any;
  const bool has_any = Latest(&any);
  if (!tape.has_read) {
    *origin = any;
    return has_any;
  }
  *origin = tape.own;
  const bool later = has_any && any.monotonic_ns > tape.own.monotonic_ns &&
                     any.wall_ns > tape.own.wall_ns && any.wall_ns <= deadline_ns;
  if (later && Since(tape.own) > kFreshNs) *origin = any;
  return true;
}

}  // namespace

void StartVirtualClock(int64_t wall_ns) {
  Publish({wall_ns, RealNs(CLOCK_MONOTONIC)});
}

int64_t Read(ReadKind kind, int64_t real_ns) {
  if (mode() == Mode::kOff) return real_ns;
  ThreadTape* tape = ThisThread();
  if (tape->busy) {
    CountInSignal(tape);
    return mode() == Mode::kRecord ? real_ns : GoOn(*tape);
  }
  tape->busy = true;
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  int64_t value_ns = real_ns;
  if (mode() == Mode::kRecord) {
    Append(tape, {real_ns, kind});
  } else {
    value_ns = ReadReplayed(tape, kind);
  }
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  tape->busy = false;
  return value_ns;
}

Deadline::Deadline(const timespec* program) : real_(program) {
  if (mode() != Mode::kReplay || program == nullptr) return;
  if (program->tv_nsec < 0 || program->tv_nsec >= kNsPerSecond) return;
  if (program->tv_sec < 0 || program->tv_sec >= kLastSecond) return;
  const int64_t deadline_ns = ToNs(*program);
  Reading origin;
  if (!OriginOf(deadline_ns, &origin)) return;
  const int64_t left_ns = deadline_ns - origin.wall_ns - Since(origin);
  const int64_t real_ns = RealNs(CLOCK_REALTIME) + left_ns;
  translated_ = ToTimespec(real_ns < 0 ? 0 : real_ns);
  real_ = &translated_;
}

}  // namespace reenact::clock_shim
