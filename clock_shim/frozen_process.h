// A program whose wall clock is on a tape: recorded while it runs for the first time, given back
// when it runs again. The work is done inside the program, by a preloaded library (preload/); this
// is its other end: the scratch folder that both know, the environment that brings the library in,
// and the tape as components of a run.
//
// What the library cannot reach is never guessed at: FrozenReport says whether it came up in the
// program, and which programs that one started it did not.

#ifndef REENACT_CLOCK_SHIM_FROZEN_PROCESS_H_
#define REENACT_CLOCK_SHIM_FROZEN_PROCESS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

#include "schema/record.h"

namespace reenact::clock_shim {

// One thread of the program, by ordinal: its place in the tree of who started whom ("0" is the main
// thread, "0.2" what it started third: a thread or a process).
struct ThreadReads {
  std::string ordinal;
  uint64_t recorded = 0;  // Reads on the tape.
  // Replay only.
  uint64_t replayed = 0;         // Of those, given back.
  uint64_t past_tape = 0;        // Further reads, which got the last one plus monotonic time.
  uint64_t kind_mismatches = 0;  // Given back to another function than had read it.
  uint64_t in_signal = 0;        // Made by a signal handler inside a read: not on the tape.
  uint64_t lost = 0;             // Not recorded: the disk was full.
};

struct FrozenReport {
  bool reached = false;  // The library came up in the program itself.
  std::vector<ThreadReads> threads;
  // Programs that were started and that the library could not enter: "/usr/bin/busybox (statically
  // linked)". The first 100.
  std::vector<std::string> unreached;
  // Record only, as libc was asked by the programs that the library entered: addresses with their
  // port, names that were looked up. Each once; the first 1000. A program's own loopback as well.
  std::vector<std::string> peers;
  std::vector<std::string> names;

  // Every recorded read was given back, to the same function, and no other was made.
  bool equal() const;
};

class FrozenProcess {
 public:
  // For a first run. `random`: getrandom and its kin as well, and Node's Math.random and crypto:
  // from here on they draw from a stream whose seed is recorded.
  // Errors: Unavailable, naming the folder.
  static absl::StatusOr<std::unique_ptr<FrozenProcess>> Record(bool random);
  // For a run again. `run`: with the components that TakeTape gave when it was recorded; others are
  // passed over. Errors: Unavailable; DataLoss, where a tape is damaged or was redacted.
  static absl::StatusOr<std::unique_ptr<FrozenProcess>> Replay(const schema::RecordedRun& run);
  ~FrozenProcess();  // Removes the folder.

  // What the program must find in its environment. Call just before it starts: LD_PRELOAD and
  // NODE_OPTIONS continue those of this process. PYTHONHASHSEED stays as it is where it is set.
  std::vector<std::pair<std::string, std::string>> Environment() const;

  // What was read so far: after Record, as components of the run, to be added to it before it ends.
  // Call when the program and all it started have ended. A long tape is several components of one
  // name, in this order.
  std::vector<schema::Component> TakeTape() const;

  FrozenReport report() const;
  const std::string& folder() const;

 private:
  struct Impl;
  FrozenProcess();
  std::unique_ptr<Impl> impl_;
};

// A component that TakeTape made.
bool IsTape(const schema::Component& component);

}  // namespace reenact::clock_shim

#endif  // REENACT_CLOCK_SHIM_FROZEN_PROCESS_H_
