#include "replayer/internal/process_group.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <mutex>

namespace reenact::replayer {
namespace {

// As waitpid would have given it.
int WaitStatus(const siginfo_t& info) {
  if (info.si_code == CLD_EXITED) return info.si_status << 8;
  return info.si_status | (info.si_code == CLD_DUMPED ? 0x80 : 0);
}

}  // namespace

ProcessGroup::ProcessGroup(pid_t leader, int process) : leader_(leader), process_(process) {}

ProcessGroup::~ProcessGroup() {
  if (process_ >= 0) close(process_);
}

// Sees the end of the program and leaves it unreaped: as long as it is, no other process can get
// its number, and its group can be signalled.
bool ProcessGroup::SeeEnd() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (ended_) return true;
  siginfo_t info{};
  if (waitid(P_PID, static_cast<id_t>(leader_), &info, WEXITED | WNOHANG | WNOWAIT) != 0) {
    ended_ = errno == ECHILD;  // The host ignores SIGCHLD: how it ended is not known.
    reaped_ = ended_;
    return ended_;
  }
  if (info.si_pid == 0) return false;
  status_ = WaitStatus(info);
  ended_ = true;
  return true;
}

bool ProcessGroup::Wait(int64_t timeout_ms) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(timeout_ms);
  while (!SeeEnd()) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        deadline - std::chrono::steady_clock::now());
    if (left.count() <= 0) return false;
    // Without a pidfd (before Linux 5.3) this is a wait in steps.
    constexpr int64_t kStepMs = 20;
    constexpr int64_t kLongestMs = 1 << 30;
    pollfd end = {process_, POLLIN, 0};
    const int64_t wait_ms = std::min(left.count(), process_ >= 0 ? kLongestMs : kStepMs);
    poll(&end, process_ >= 0 ? 1 : 0, static_cast<int>(wait_ms));
  }
  return true;
}

void ProcessGroup::Reap() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!ended_ || reaped_) return;
  waitpid(leader_, nullptr, 0);
  reaped_ = true;
}

void ProcessGroup::Signal(int signal_number) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!reaped_) kill(-leader_, signal_number);
}

void ProcessGroup::Stop(int64_t grace_ms) {
  if (grace_ms > 0 && !SeeEnd()) {
    Signal(SIGTERM);
    Wait(grace_ms);
  }
  // The rest of the group too, whether or not its leader has gone.
  Signal(SIGKILL);
  constexpr int64_t kKillMs = 10'000;  // A process in an uninterruptible wait is left behind.
  Wait(kKillMs);
  Reap();
}

int ProcessGroup::status() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return status_;
}

}  // namespace reenact::replayer
