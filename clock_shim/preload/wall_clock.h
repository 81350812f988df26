// The program's reads, for those of its calls that come as system calls.

#ifndef REENACT_CLOCK_SHIM_PRELOAD_WALL_CLOCK_H_
#define REENACT_CLOCK_SHIM_PRELOAD_WALL_CLOCK_H_

#include <sys/time.h>
#include <time.h>

#include "clock_shim/tape_layout.h"

namespace reenact::clock_shim {

bool IsWallClock(clockid_t clock, ReadKind* kind);
int ReadClock(clockid_t clock, timespec* now);  // As clock_gettime.
timeval ReadTimeval();
time_t ReadSeconds();

}  // namespace reenact::clock_shim

#endif  // REENACT_CLOCK_SHIM_PRELOAD_WALL_CLOCK_H_
