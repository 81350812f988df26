// pthread_cancel must not unwind through the library: its functions are noexcept, and a half-told
// record helps nobody. Scopes that may reach a cancellation point (files, sockets, sleep) hold one
// of these; a pending cancellation takes effect in the host, later.

#ifndef REENACT_RECORDER_CANCELLATION_H_
#define REENACT_RECORDER_CANCELLATION_H_

#include <pthread.h>

namespace reenact::recorder {

class NoCancellation {
 public:
  NoCancellation() noexcept { pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before_); }

  ~NoCancellation() { pthread_setcancelstate(before_, nullptr); }

  NoCancellation(const NoCancellation&) = delete;
  NoCancellation& operator=(const NoCancellation&) = delete;

 private:
  int before_ = PTHREAD_CANCEL_ENABLE;
};

}  // namespace reenact::recorder

#endif  // REENACT_RECORDER_CANCELLATION_H_
