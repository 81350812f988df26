// Answers the system calls that the filter of the network guard holds up, and counts them.

#ifndef REENACT_REPLAYER_INTERNAL_NETWORK_SUPERVISOR_H_
#define REENACT_REPLAYER_INTERNAL_NETWORK_SUPERVISOR_H_

#include <sys/types.h>

#include <mutex>
#include <string>

#include "replayer/guarded_process.h"
#include "replayer/internal/network_filter.h"

namespace reenact::replayer {

class NetworkSupervisor {
 public:
  // Takes `listener`, the filter's; -1: nothing is guarded, and `why_not` says why.
  NetworkSupervisor(int listener, std::string why_not);
  // What is still under the filter gets ENOSYS for its calls from here on: never the network.
  ~NetworkSupervisor();
  NetworkSupervisor(const NetworkSupervisor&) = delete;
  NetworkSupervisor& operator=(const NetworkSupervisor&) = delete;

  // Returns when `stop_event` is readable. One thread.
  void Serve(int stop_event);
  // Any thread.
  GuardReport report() const;

 private:
  void AnswerOne();
  void Count(const Judgement& judgement, pid_t caller);
  void TakeBack(const Judgement& judgement);

  int listener_;
  mutable std::mutex mutex_;
  GuardReport report_;  // Under mutex_.
};

}  // namespace reenact::replayer

#endif  // REENACT_REPLAYER_INTERNAL_NETWORK_SUPERVISOR_H_
