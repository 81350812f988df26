// The whole of `reenact replay`: starts the server, starts the program under the guard, starts the
// run again, waits, and reports.

#ifndef REENACT_REPLAYER_REPLAY_RUNNER_H_
#define REENACT_REPLAYER_REPLAY_RUNNER_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include "replayer/guarded_process.h"
#include "replayer/replay_session.h"
#include "schema/recorded_command.h"

namespace reenact::replayer {

// What the clients of a recorded command are pointed at in the place of the answer server: a fork's
// proxy, which passes on what goes live.
class CommandDoor {
 public:
  virtual ~CommandDoor() = default;
  // Its URL. The run has begun; the session outlives the program.
  virtual absl::StatusOr<std::string> Open(ReplaySession* session,
                                           const schema::RecordedCommand& command) = 0;
  // Answers nothing more: what is under way has `grace_ms` to end. Called once or more, before the
  // session ends.
  virtual void Close(int64_t grace_ms) = 0;
};

struct RunnerOptions {
  // The program, as it runs in production. Empty: of a recorded command, the command itself.
  std::vector<std::string> argv;
  std::string drive_url;  // Loopback URL to which the recorded input is sent; empty: OnReplay
                          // handlers, or the program starts the run by itself.
  ReplayOptions replay;
  int64_t timeout_ms = 120'000;  // For the whole replay.
  bool require_guard = false;
  bool recorded_pace = false;   // Recorded commands: answers take as long as they took.
  CommandDoor* door = nullptr;  // Recorded commands. Null: all is the tape's.
  bool guard = true;  // False: the program may reach the network; the level stays at most R1.
  // Asked every few milliseconds, on the caller's thread: true ends the replay as if its time were
  // up, and with it the program. Empty: nobody interrupts.
  std::function<bool()> interrupted;
};

struct RunnerResult {
  Verdict verdict = Verdict::kInconclusive;
  ReplayReport report;
  GuardReport network;
  std::string
      note;  // Why it is inconclusive: "the program ended before it began the run ...", "timeout".
  int exit_status = 0;  // Of the program, as waitpid gives it.
  int64_t elapsed_ns = 0;
};

// The program finds REENACT_MODE=replay and REENACT_REPLAY_SOCKET in its environment. A service is
// stopped when the run has ended; a program that starts the run by itself may end by itself.
// Errors: as GuardedProcess::Start; InvalidArgument for a drive URL that is not loopback;
// FailedPrecondition when something listens there before the program is started, or when the input
// that should be sent was cut.
absl::StatusOr<RunnerResult> RunReplay(schema::RecordedRun tape, const RunnerOptions& options);

}  // namespace reenact::replayer

#endif  // REENACT_REPLAYER_REPLAY_RUNNER_H_
