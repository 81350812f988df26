#include "tests/support/fake_time.h"

#include <errno.h>
#include <pthread.h>
#include <time.h>
#include <unistd.h>

#include <chrono>

namespace {

constexpr int64_t kSecondNs = 1'000'000'000;

int64_t g_monotonic_ns = 1000 * kSecondNs;
int64_t g_wall_ns = 1'780'000'000 * kSecondNs;

void Take(int64_t ns) {
  g_monotonic_ns += ns;
  g_wall_ns += ns;
}

timespec ToTimespec(int64_t ns) {
  return {static_cast<time_t>(ns / kSecondNs), static_cast<long>(ns % kSecondNs)};
}

}  // namespace

namespace reenact::testing {

void FakeTime::Advance(int64_t ns) {
  Take(ns);
}

void FakeTime::StepWall(int64_t ns) {
  g_wall_ns += ns;
}

}  // namespace reenact::testing

// The linker sends calls here by these names.
// NOLINTBEGIN(bugprone-reserved-identifier)
extern "C" {

int __real_clock_gettime(clockid_t clock, timespec* now);

int __wrap_clock_gettime(clockid_t clock, timespec* now) {
  if (clock != CLOCK_REALTIME && clock != CLOCK_MONOTONIC) return __real_clock_gettime(clock, now);
  Take(1000);
  *now = ToTimespec(clock == CLOCK_REALTIME ? g_wall_ns : g_monotonic_ns);
  return 0;
}

int __wrap_pthread_cond_clockwait(pthread_cond_t*, pthread_mutex_t*, clockid_t,
                                  const timespec* until) {
  const int64_t until_ns = int64_t{until->tv_sec} * kSecondNs + until->tv_nsec;
  if (until_ns > g_monotonic_ns) Take(until_ns - g_monotonic_ns);
  return ETIMEDOUT;
}

int __wrap_nanosleep(const timespec* pause, timespec*) {
  Take(int64_t{pause->tv_sec} * kSecondNs + pause->tv_nsec);
  return 0;
}

int __wrap_usleep(useconds_t pause_us) {
  Take(int64_t{pause_us} * 1000);
  return 0;
}

int64_t __wrap__ZNSt6chrono3_V212steady_clock3nowEv() {
  Take(1000);
  return g_monotonic_ns;
}

}  // extern "C"
// NOLINTEND(bugprone-reserved-identifier)
