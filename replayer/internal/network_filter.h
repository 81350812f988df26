// The seccomp filter of the network guard, and the judgement of one notified system call.
//
// What reaches the network without being named here is what needs no address: bytes on a socket
// that was connected before. Such sockets come from connect, which is judged, or from outside.

#ifndef REENACT_REPLAYER_INTERNAL_NETWORK_FILTER_H_
#define REENACT_REPLAYER_INTERNAL_NETWORK_FILTER_H_

#include <linux/filter.h>
#include <linux/seccomp.h>

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace reenact::replayer {

// The program for seccomp(2): connect, socket, sendmsg, sendmmsg and sendto with an address are
// notified; io_uring_setup fails with ENOSYS (programs fall back to system calls); calls of another
// architecture (32-bit) kill the process, since they would pass by unseen.
// Errors: Unavailable, where libseccomp or the kernel cannot.
absl::StatusOr<std::vector<sock_filter>> BuildNetworkFilter();

struct Judgement {
  enum class Kind : uint8_t {
    kContinue,  // Not to the network.
    kLoopback,  // To this machine: continued, and counted.
    kRefuse,    // To the network: fails with `error`, and counted.
    kProbe,     // Refused, not counted: a datagram socket asking for a route, see below.
    kStale,     // The caller is gone or was interrupted; there is nobody to answer.
  } kind = Kind::kContinue;
  int error = 0;
  std::string call;     // "connect", "sendto", "socket(AF_PACKET)"
  std::string address;  // "203.0.113.7:443"
};

// Decides on a notification that was received from `listener`. Reads the memory of the caller, and
// checks afterwards that it was still the caller's.
//
// Datagram sockets: connect on them sends nothing, but what is sent on them later needs no address
// and cannot be seen, so it is refused and counted like any other. The exception is port 0, to
// which nothing can be sent: resolvers ask so for their own address (kProbe). Whatever cannot be
// read or is of an unknown family is refused.
Judgement Judge(int listener, const seccomp_notif& notification);

}  // namespace reenact::replayer

#endif  // REENACT_REPLAYER_INTERNAL_NETWORK_FILTER_H_
