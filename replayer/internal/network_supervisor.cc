#include "replayer/internal/network_supervisor.h"

#include <errno.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <mutex>
#include <string>
#include <utility>

namespace reenact::replayer {
namespace {

constexpr size_t kKeptAttempts = 100;

}  // namespace

NetworkSupervisor::NetworkSupervisor(int listener, std::string why_not) : listener_(listener) {
  report_.guarded = listener >= 0;
  report_.why_not = std::move(why_not);
}

NetworkSupervisor::~NetworkSupervisor() {
  if (listener_ >= 0) close(listener_);
}

void NetworkSupervisor::Serve(int stop_event) {
  while (true) {
    pollfd wanted[2] = {{stop_event, POLLIN, 0}, {listener_, POLLIN, 0}};
    const nfds_t count = listener_ >= 0 ? 2 : 1;
    if (poll(wanted, count, -1) < 0) {
      if (errno == EINTR) continue;
      return;
    }
    if (wanted[0].revents != 0) return;
    if ((wanted[1].revents & POLLIN) != 0) {
      AnswerOne();
    } else if ((wanted[1].revents & (POLLHUP | POLLERR)) != 0) {
      // Nobody is left to ask. Stay all the same: the program dies with this thread.
      close(listener_);
      listener_ = -1;
    }
  }
}

void NetworkSupervisor::AnswerOne() {
  seccomp_notif notification{};
  // Fails when the caller was killed in the meantime.
  if (ioctl(listener_, SECCOMP_IOCTL_NOTIF_RECV, &notification) != 0) return;
  const Judgement judgement = Judge(listener_, notification);
  if (judgement.kind == Judgement::Kind::kStale) return;
  seccomp_notif_resp response{};
  response.id = notification.id;
  const bool refused =
      judgement.kind == Judgement::Kind::kRefuse || judgement.kind == Judgement::Kind::kProbe;
  if (refused) {
    response.error = -judgement.error;
  } else {
    response.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
  }
  // Counted first, so that whoever sees the program end sees the count. A caller that a signal took
  // away from its call before our answer makes the call again, and is counted then.
  Count(judgement, static_cast<pid_t>(notification.pid));
  if (ioctl(listener_, SECCOMP_IOCTL_NOTIF_SEND, &response) != 0) TakeBack(judgement);
}

void NetworkSupervisor::Count(const Judgement& judgement, pid_t caller) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (judgement.kind == Judgement::Kind::kLoopback) ++report_.loopback;
  if (judgement.kind != Judgement::Kind::kRefuse) return;
  ++report_.refused;
  if (report_.attempts.size() < kKeptAttempts) {
    report_.attempts.push_back({caller, judgement.call, judgement.address});
  }
}

void NetworkSupervisor::TakeBack(const Judgement& judgement) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (judgement.kind == Judgement::Kind::kLoopback) --report_.loopback;
  if (judgement.kind != Judgement::Kind::kRefuse) return;
  if (report_.attempts.size() == static_cast<size_t>(report_.refused)) report_.attempts.pop_back();
  --report_.refused;
}

GuardReport NetworkSupervisor::report() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return report_;
}

}  // namespace reenact::replayer
