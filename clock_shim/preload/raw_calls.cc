// syscall(2): libstdc++ waits on futexes by it, and some runtimes read the clock and draw random
// numbers by it. Calls that are none of these go on untouched.

#include <linux/futex.h>
#include <stdarg.h>
#include <sys/syscall.h>

#include "clock_shim/preload/random_stream.h"
#include "clock_shim/preload/real_calls.h"
#include "clock_shim/preload/thread_tape.h"
#include "clock_shim/preload/virtual_clock.h"
#include "clock_shim/preload/wall_clock.h"

namespace {

using namespace reenact::clock_shim;

struct Arguments {
  long at[6];

  template <typename T>
  T* Pointer(int index) const {
    return reinterpret_cast<T*>(at[index]);
  }
};

long WithErrno(long result) {
  if (result >= 0 || result < -4095) return result;
  errno = static_cast<int>(-result);
  return -1;
}

// Futex waits with a deadline take it from the wall clock when they say so.
bool HasWallDeadline(long operation) {
  const long command = operation & FUTEX_CMD_MASK;
  if (command == FUTEX_LOCK_PI) return true;
  return (operation & FUTEX_CLOCK_REALTIME) != 0 &&
         (command == FUTEX_WAIT_BITSET || command == FUTEX_WAIT_REQUEUE_PI);
}

long Forward(long number, const Arguments& a) {
  return WithErrno(RawCall(number, a.at[0], a.at[1], a.at[2], a.at[3], a.at[4], a.at[5]));
}

long Call(long number, Arguments a) {
  switch (number) {
    case SYS_clock_gettime:
      if (a.at[1] == 0) return Forward(number, a);
      return ReadClock(static_cast<clockid_t>(a.at[0]), a.Pointer<timespec>(1));
    case SYS_gettimeofday:
      if (a.at[0] != 0) *a.Pointer<timeval>(0) = ReadTimeval();
      return 0;
#ifdef SYS_time
    case SYS_time: {
      const time_t now = ReadSeconds();
      if (a.at[0] != 0) *a.Pointer<time_t>(0) = now;
      return now;
    }
#endif
    case SYS_getrandom:
      if (!random_is_frozen()) return Forward(number, a);
      Draw(a.Pointer<void>(0), static_cast<size_t>(a.at[1]));
      return a.at[1];
    case SYS_clock_nanosleep: {
      const bool wall = a.at[0] == CLOCK_REALTIME && (a.at[1] & TIMER_ABSTIME) != 0;
      if (!wall) return Forward(number, a);
      const Deadline until(a.Pointer<const timespec>(2));
      a.at[2] = reinterpret_cast<long>(until.real());
      return Forward(number, a);
    }
    case SYS_futex: {
      if (!HasWallDeadline(a.at[1]) || a.at[3] == 0) return Forward(number, a);
      const Deadline until(a.Pointer<const timespec>(3));
      a.at[3] = reinterpret_cast<long>(until.real());
      return Forward(number, a);
    }
    default:
      return Forward(number, a);
  }
}

}  // namespace

REENACT_STANDS_FOR long syscall(long number, ...) noexcept {
  Arguments arguments;
  va_list list;
  va_start(list, number);
  // No call takes more; what the program did not give is not looked at.
  for (long& argument : arguments.at) argument = va_arg(list, long);
  va_end(list);
  return Call(number, arguments);
}
