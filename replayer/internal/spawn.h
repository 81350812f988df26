// Starts a program that has the filter of the network guard before its first instruction.

#ifndef REENACT_REPLAYER_INTERNAL_SPAWN_H_
#define REENACT_REPLAYER_INTERNAL_SPAWN_H_

#include <sys/types.h>

#include <string>

#include "absl/status/statusor.h"

#include "replayer/guarded_process.h"

namespace reenact::replayer {

// The descriptors are the caller's.
struct Spawned {
  pid_t pid = -1;
  int process = -1;   // A pidfd; -1 before Linux 5.3.
  int listener = -1;  // Of the filter; -1: the program is not guarded.
  std::string why_not_guarded;
};

// The program leads a process group of its own, and dies when the calling thread ends.
// Errors: NotFound (no such program), Unavailable. When the kernel refuses the filter it runs
// unguarded only if `require_guard` is false.
absl::StatusOr<Spawned> Spawn(const CommandOptions& options, bool require_guard);

}  // namespace reenact::replayer

#endif  // REENACT_REPLAYER_INTERNAL_SPAWN_H_
