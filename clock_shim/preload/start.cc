// The beginning of the library in a process. Other libraries' constructors may have read the clock
// before: they got the real one, on no tape, and do so again on replay.

#include "clock_shim/preload/start.h"

#include "clock_shim/preload/real_calls.h"
#include "clock_shim/preload/thread_tape.h"

namespace {

__attribute__((constructor(101))) void Begin() {
  using namespace reenact::clock_shim;
  LookUpReads();
  ReadEnvironment();
  if (mode() == Mode::kOff) return;
  PrepareThreads();
  PrepareProcesses();
  PrepareConnections();
}

}  // namespace
