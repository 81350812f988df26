// The replay of a recorded command (`reenact record -- CMD`): the same program, its clients pointed
// at the tape, its clock frozen, the network guarded.

#ifndef REENACT_REPLAYER_INTERNAL_COMMAND_REPLAY_H_
#define REENACT_REPLAYER_INTERNAL_COMMAND_REPLAY_H_

#include "absl/status/statusor.h"

#include "replayer/replay_runner.h"
#include "schema/recorded_command.h"

namespace reenact::replayer {

// `command`: of `tape`. Errors: as RunReplay; DataLoss for a clock tape that is damaged.
absl::StatusOr<RunnerResult> ReplayCommand(schema::RecordedRun tape,
                                           schema::RecordedCommand command,
                                           const RunnerOptions& options);

}  // namespace reenact::replayer

#endif  // REENACT_REPLAYER_INTERNAL_COMMAND_REPLAY_H_
