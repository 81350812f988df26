// The wall clock that the program sees, and what its deadlines mean on the real one.
//
// While recording it is the real clock. While replaying, read j of a thread gives the recorded
// value, and nothing else moves that clock: a program that is answered at once gets through an hour
// of recorded time in a second. A deadline is a point on the program's clock; it was made from a
// reading, by adding. So a wait until it is a wait of (deadline - that reading) since that reading
// was made, on the monotonic clock, which is real. Which reading it was cannot be known; it is
// taken to be
//   the thread's own last one, if that is fresh, because "now() + timeout, wait" is what is written
//   everywhere;
//   else the last one of any thread, if it is later on both clocks and not past the deadline: a
//   deadline that was handed from thread to thread, after the thread's own reading had grown old.
// The first keeps a wait from ending early where other threads are ahead on their tapes, the second
// from hanging for recorded hours that are over.

#ifndef REENACT_CLOCK_SHIM_PRELOAD_VIRTUAL_CLOCK_H_
#define REENACT_CLOCK_SHIM_PRELOAD_VIRTUAL_CLOCK_H_

#include <time.h>

#include <cstdint>

#include "clock_shim/tape_layout.h"

namespace reenact::clock_shim {

// Where time stands before the first read.
void StartVirtualClock(int64_t wall_ns);

// A read that gave `real_ns` on the real clock: what the program is to see.
int64_t Read(ReadKind kind, int64_t real_ns);

// An absolute deadline of CLOCK_REALTIME, as the kernel must be told it. One that is no valid time
// stays as it is, so that the call fails as it should.
class Deadline {
 public:
  explicit Deadline(const timespec* program);

  // Null where the program gave null.
  const timespec* real() const { return real_; }

 private:
  timespec translated_{};
  const timespec* real_;
};

}  // namespace reenact::clock_shim

#endif  // REENACT_CLOCK_SHIM_PRELOAD_VIRTUAL_CLOCK_H_
