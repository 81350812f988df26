// The system's clocks and its source of random bytes, as the recorder reads them.

#ifndef REENACT_RECORDER_SYSTEM_CLOCK_H_
#define REENACT_RECORDER_SYSTEM_CLOCK_H_

#include <cstdint>

namespace reenact::recorder {

int64_t SystemWallNs() noexcept;  // Unix time.
int64_t MonotonicNs() noexcept;
// Sleeps on, when a signal interrupts it.
void SleepFor(int64_t duration_ns) noexcept;
// From the kernel, so that a forked child never repeats its parent.
void FillRandom(void* bytes, unsigned size) noexcept;
uint64_t Random64() noexcept;
// `deadline_ms` from now, in monotonic ns, without overflow. Negative means now.
int64_t DeadlineAfter(int64_t deadline_ms) noexcept;

}  // namespace reenact::recorder

#endif  // REENACT_RECORDER_SYSTEM_CLOCK_H_
