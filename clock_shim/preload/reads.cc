// Functions that read the wall clock. Monotonic and CPU clocks are none of our business.
//
// What reads it and does not come by here: the vDSO called directly (Go), a system call made in
// assembly, a static program, and libc itself (syslog's stamps).

#include <sys/timeb.h>

#include "clock_shim/preload/real_calls.h"
#include "clock_shim/preload/thread_tape.h"
#include "clock_shim/preload/virtual_clock.h"
#include "clock_shim/preload/wall_clock.h"

namespace reenact::clock_shim {

bool IsWallClock(clockid_t clock, ReadKind* kind) {
  switch (clock) {
    case CLOCK_REALTIME:
    case CLOCK_REALTIME_ALARM:
      *kind = ReadKind::kRealtime;
      return true;
    case CLOCK_REALTIME_COARSE:
      *kind = ReadKind::kCoarse;
      return true;
    case CLOCK_TAI:
      *kind = ReadKind::kTai;
      return true;
    default:
      return false;
  }
}

int ReadClock(clockid_t clock, timespec* now) {
  const int result = RealClockGetTime(clock, now);
  ReadKind kind{};
  if (result == 0 && IsWallClock(clock, &kind)) *now = ToTimespec(Read(kind, ToNs(*now)));
  return result;
}

timeval ReadTimeval() {
  const timespec now = ToTimespec(Read(ReadKind::kMicroseconds, RealNs(CLOCK_REALTIME)));
  return {now.tv_sec, now.tv_nsec / 1000};
}

time_t ReadSeconds() {
  return ToTimespec(Read(ReadKind::kSeconds, RealNs(CLOCK_REALTIME))).tv_sec;
}

}  // namespace reenact::clock_shim

using namespace reenact::clock_shim;

REENACT_STANDS_FOR int clock_gettime(clockid_t clock, timespec* now) noexcept {
  return ReadClock(clock, now);
}

// The time zone of the kernel is zeros, as it has been since there are files of them.
REENACT_STANDS_FOR int gettimeofday(timeval* now, void* zone) noexcept {
  if (zone != nullptr) *static_cast<struct timezone*>(zone) = {};
  *now = ReadTimeval();
  return 0;
}

REENACT_STANDS_FOR time_t time(time_t* now) noexcept {
  const time_t seconds = ReadSeconds();
  if (now != nullptr) *now = seconds;
  return seconds;
}

REENACT_STANDS_FOR int timespec_get(timespec* now, int base) noexcept {
  if (base != TIME_UTC) return REENACT_NEXT(timespec_get)(now, base);
  return ReadClock(CLOCK_REALTIME, now) == 0 ? base : 0;
}

REENACT_STANDS_FOR int ftime(timeb* now) {
  const timespec read = ToTimespec(Read(ReadKind::kMilliseconds, RealNs(CLOCK_REALTIME)));
  *now = timeb();
  now->time = read.tv_sec;
  now->millitm = static_cast<unsigned short>(read.tv_nsec / 1'000'000);
  return 0;
}
