// A child that leads a process group of its own: awaits its end, and stops the whole group.

#ifndef REENACT_REPLAYER_INTERNAL_PROCESS_GROUP_H_
#define REENACT_REPLAYER_INTERNAL_PROCESS_GROUP_H_

#include <sys/types.h>

#include <cstdint>
#include <mutex>

namespace reenact::replayer {

// Any thread may use it at any time.
class ProcessGroup {
 public:
  // Takes `process`, the pidfd of the leader; -1: it has none.
  ProcessGroup(pid_t leader, int process);
  ~ProcessGroup();
  ProcessGroup(const ProcessGroup&) = delete;
  ProcessGroup& operator=(const ProcessGroup&) = delete;

  // Awaits the end of the leader. False: still running after `timeout_ms`.
  bool Wait(int64_t timeout_ms);
  // SIGTERM to the group, SIGKILL after `grace_ms`; 0: at once.
  void Stop(int64_t grace_ms);

  pid_t leader() const { return leader_; }

  // Of the leader, as waitpid gives it; 0 before its end, and where it cannot be told.
  int status() const;

 private:
  bool SeeEnd();
  void Reap();
  void Signal(int signal_number);

  const pid_t leader_;
  const int process_;
  mutable std::mutex mutex_;  // Guards all that follows.
  bool ended_ = false;
  bool reaped_ = false;
  int status_ = 0;
};

}  // namespace reenact::replayer

#endif  // REENACT_REPLAYER_INTERNAL_PROCESS_GROUP_H_
