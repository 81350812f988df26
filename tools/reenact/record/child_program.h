// A program that runs in the foreground in the place of this one: its terminal, its signals, its
// exit status. Only its output may be copied on the way.

#ifndef REENACT_TOOLS_REENACT_RECORD_CHILD_PROGRAM_H_
#define REENACT_TOOLS_REENACT_RECORD_CHILD_PROGRAM_H_

#include <signal.h>
#include <sys/types.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include "schema/recorded_command.h"

namespace reenact::tools {

// As shells and env have it, for a program that did not start, or that a signal ended: its number
// is added.
inline constexpr int kExitCannotRun = 126;
inline constexpr int kExitNotFound = 127;
inline constexpr int kExitSignalled = 128;

// Blocks the signals that are for the program in this thread, and in all that it starts while this
// lives: make one before any other thread. One at a time.
class ForwardedSignals {
 public:
  ForwardedSignals();
  ~ForwardedSignals();
  ForwardedSignals(const ForwardedSignals&) = delete;
  ForwardedSignals& operator=(const ForwardedSignals&) = delete;

  const sigset_t& set() const { return set_; }

  const sigset_t& before() const { return before_; }

 private:
  sigset_t set_;
  sigset_t before_;
};

struct ChildOptions {
  std::vector<std::string> argv;
  schema::Tags environment;  // All of it.
  bool capture_output = false;
};

// Runs it to its end. A signal that was sent to this process goes on to the program; one of the
// terminal's it has got already. Errors: NotFound, PermissionDenied, Unavailable: it did not start.
absl::StatusOr<schema::CommandEnd> RunChild(const ChildOptions& options,
                                            const ForwardedSignals& signals);

// What `argv` prints, where it ends with status 0. For questions to programs that may be missing.
std::optional<std::string> OutputOf(const std::vector<std::string>& argv);

}  // namespace reenact::tools

#endif  // REENACT_TOOLS_REENACT_RECORD_CHILD_PROGRAM_H_
