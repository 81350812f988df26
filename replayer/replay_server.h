// The local socket in front of a ReplaySession: a Unix socket in a folder of its own (0700), a
// thread a connection. Serves the SDK in replay mode, of processes of this user only.
//
// The folder is made in $XDG_RUNTIME_DIR, or in /tmp where that is not set, not usable, or too long
// for a socket's path.

#ifndef REENACT_REPLAYER_REPLAY_SERVER_H_
#define REENACT_REPLAYER_REPLAY_SERVER_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"

#include "replayer/replay_session.h"

namespace reenact::replayer {

struct ReplayServerOptions {
  // Calls the handler that is registered for the tape's entry, once, the first one to come. False:
  // something else starts the run again, and handlers are told to go home.
  bool drive_handlers = true;
};

class ReplayServer {
 public:
  // `session` must outlive the server. Errors: Unavailable, naming the path.
  static absl::StatusOr<std::unique_ptr<ReplayServer>> Start(
      ReplaySession* session, const ReplayServerOptions& options = {});
  ~ReplayServer();  // Stops, and removes the socket.

  const std::string& socket_path() const;
  // Waits until a handler registered with reenact_on_replay has been called and returned, or until
  // the run has finished. False: `timeout_ms` passed.
  bool WaitDone(int64_t timeout_ms);
  // Waits until the run has finished.
  bool WaitFinished(int64_t timeout_ms);
  // A handler for the tape's entry is waiting or was called.
  bool handler_registered() const;
  int64_t connections() const;  // Accepted so far.

 private:
  struct Impl;
  ReplayServer();
  std::unique_ptr<Impl> impl_;
};

}  // namespace reenact::replayer

#endif  // REENACT_REPLAYER_REPLAY_SERVER_H_
