#include "recorder/system_clock.h"

#include <sys/random.h>

#include <cerrno>
#include <ctime>

namespace reenact::recorder {
namespace {

constexpr int64_t kNsPerSecond = 1'000'000'000;

int64_t ReadClock(clockid_t clock) noexcept {
  timespec time{};
  clock_gettime(clock, &time);
  return static_cast<int64_t>(time.tv_sec) * kNsPerSecond + time.tv_nsec;
}

}  // namespace

int64_t SystemWallNs() noexcept {
  return ReadClock(CLOCK_REALTIME);
}

int64_t MonotonicNs() noexcept {
  return ReadClock(CLOCK_MONOTONIC);
}

void SleepFor(int64_t duration_ns) noexcept {
  if (duration_ns <= 0) return;
  timespec left{};
  left.tv_sec = duration_ns / kNsPerSecond;
  left.tv_nsec = duration_ns % kNsPerSecond;
  while (nanosleep(&left, &left) != 0 && errno == EINTR) {
  }
}

void FillRandom(void* bytes, unsigned size) noexcept {
  auto* out = static_cast<unsigned char*>(bytes);
  unsigned filled = 0;
  while (filled < size) {
    const ssize_t got = getrandom(out + filled, size - filled, 0);
    if (got > 0) {
      filled += static_cast<unsigned>(got);
    } else if (got < 0 && errno != EINTR) {
      break;
    }
  }
  // A kernel without getrandom, or one that refuses it: the clock is better than zeros.
  uint64_t state = static_cast<uint64_t>(MonotonicNs());
  for (; filled < size; ++filled) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    out[filled] = static_cast<unsigned char>(state >> 56);
  }
}

uint64_t Random64() noexcept {
  uint64_t value = 0;
  FillRandom(&value, sizeof(value));
  return value;
}

int64_t DeadlineAfter(int64_t deadline_ms) noexcept {
  const int64_t now = MonotonicNs();
  if (deadline_ms <= 0) return now;
  constexpr int64_t kNsPerMs = 1'000'000;
  if (deadline_ms > (INT64_MAX - now) / kNsPerMs) return INT64_MAX;
  return now + deadline_ms * kNsPerMs;
}

}  // namespace reenact::recorder
