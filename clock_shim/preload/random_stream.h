// Random numbers from a recorded seed: ChaCha20, keyed by the seed, at a place of the stream that
// the thread's ordinal and the number of its draw give. Recording and replaying do the same, so
// that nothing but the seed is on the tape; and a thread that draws more shifts no other.

#ifndef REENACT_CLOCK_SHIM_PRELOAD_RANDOM_STREAM_H_
#define REENACT_CLOCK_SHIM_PRELOAD_RANDOM_STREAM_H_

#include <cstddef>

namespace reenact::clock_shim {

// The calling thread's next draw. Only where random_is_frozen(). Safe in a signal handler.
void Draw(void* out, size_t size);

}  // namespace reenact::clock_shim

#endif  // REENACT_CLOCK_SHIM_PRELOAD_RANDOM_STREAM_H_
