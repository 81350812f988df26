// What each part of the library does before main. In this order: see start.cc.

#ifndef REENACT_CLOCK_SHIM_PRELOAD_START_H_
#define REENACT_CLOCK_SHIM_PRELOAD_START_H_

namespace reenact::clock_shim {

void PrepareThreads();
void PrepareProcesses();
void PrepareConnections();

}  // namespace reenact::clock_shim

#endif  // REENACT_CLOCK_SHIM_PRELOAD_START_H_
