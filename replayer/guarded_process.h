// Runs a command so that it and everything it starts cannot reach the network: seccomp user
// notification on connect and its kin, loopback and Unix sockets allowed, the rest refused and
// counted, below libc. A guard against accidents, not a sandbox: a program that works against it
// (by changing an address while it is being read) can get past it.
//
// The command inherits the environment, gets a process group of its own, gains no privileges by
// set-user-id files, and dies with this process. It may not read a terminal. 32-bit programs are
// killed.

#ifndef REENACT_REPLAYER_GUARDED_PROCESS_H_
#define REENACT_REPLAYER_GUARDED_PROCESS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

namespace reenact::replayer {

struct NetworkAttempt {
  int64_t pid = 0;
  std::string call;     // "connect", "sendto", "socket(AF_PACKET)".
  std::string address;  // "203.0.113.7:443", "[2001:db8::1]:443".
};

struct GuardReport {
  bool guarded = false;
  std::string why_not;  // When not guarded.
  // A connect on a datagram socket sends nothing, and counts all the same, because what would be
  // sent on it next is not seen. Port 0 is refused and not counted: resolvers ask so for their own
  // address.
  int64_t refused = 0;
  int64_t loopback = 0;                  // Connections to loopback addresses: allowed, and counted.
  std::vector<NetworkAttempt> attempts;  // Refused ones; the first 100.
};

struct CommandOptions {
  std::vector<std::string> argv;
  std::vector<std::pair<std::string, std::string>> set_environment;
  bool guard = true;
  std::string directory;  // Where it runs; empty: here. A relative program is searched for there.
  // Descriptors that become its standard output and error; -1: ours.
  int standard_output = -1;
  int standard_error = -1;
};

class GuardedProcess {
 public:
  // Errors: NotFound (no such program), Unavailable. When the kernel refuses the filter the command
  // runs unguarded only if `require_guard` is false; the report says so.
  static absl::StatusOr<std::unique_ptr<GuardedProcess>> Start(const CommandOptions& options,
                                                               bool require_guard);
  ~GuardedProcess();  // Stops it.

  // False: still running after `timeout_ms`.
  bool Wait(int64_t timeout_ms);
  // SIGTERM to its process group, SIGKILL after `grace_ms`. What left the group stays, and stays
  // guarded: its calls fail with ENOSYS once this object is gone.
  void Stop(int64_t grace_ms);
  int64_t pid() const;
  // As waitpid gives it, 0 where that cannot be told (SIGCHLD is ignored); valid after Wait
  // returned true or Stop.
  int status() const;
  GuardReport report() const;

 private:
  struct Impl;
  GuardedProcess();
  std::unique_ptr<Impl> impl_;
};

}  // namespace reenact::replayer

#endif  // REENACT_REPLAYER_GUARDED_PROCESS_H_
