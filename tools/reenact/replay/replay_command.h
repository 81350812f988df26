// What `replay` and `fixture` share: how a program is run against a tape, and what is kept of it.

#ifndef REENACT_TOOLS_REENACT_REPLAY_REPLAY_COMMAND_H_
#define REENACT_TOOLS_REENACT_REPLAY_REPLAY_COMMAND_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "replayer/replay_runner.h"
#include "schema/record.h"
#include "tools/reenact/verb.h"

namespace CLI {
class App;
}

namespace reenact::tools {

// As typed.
struct ReplayFlags {
  std::string drive_url;
  std::vector<std::string> overrides;
  std::string timeout = "120s";
  bool no_guard = false;
  bool require_guard = false;
  bool pace = false;
};

void AddReplayFlags(CLI::App* verb, ReplayFlags* flags);

// `run`: what is to be replayed; without a command it must be a recorded command's.
// Errors: InvalidArgument: no command, an override or a timeout that cannot be read, a file of an
// override (`=@FILE`) that is not there.
absl::StatusOr<replayer::RunnerOptions> ToRunnerOptions(const ReplayFlags& flags,
                                                        const Context& context,
                                                        const schema::Run& run);

// Runs the program against the tape. Its standard output goes to standard error, so that a report
// on standard output is the report alone. Ctrl-C ends the program, and then this process.
// Errors: FailedPrecondition for a run that cannot be replayed; as CheckOverrides; as RunReplay.
absl::StatusOr<replayer::RunnerResult> ReplayOnce(const schema::RecordedRun& tape,
                                                  const replayer::RunnerOptions& options);

// A replay that served and checked nothing proves nothing, whatever else it says.
bool ComparedNothing(const replayer::RunnerResult& result);
// 0 reproduced, 1 diverged, 3 inconclusive.
int ExitCodeOf(const replayer::RunnerResult& result);

// The command line that runs this replay again.
std::string ReproducingCommand(const std::string& store, const std::string& verb_and_subject,
                               const ReplayFlags& flags, const std::vector<std::string>& command);

}  // namespace reenact::tools

#endif  // REENACT_TOOLS_REENACT_REPLAY_REPLAY_COMMAND_H_
