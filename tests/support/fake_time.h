// Time that a test moves. The program is linked with --wrap for clock_gettime,
// std::chrono::steady_clock::now, pthread_cond_clockwait, nanosleep and usleep, so that code in
// static libraries reads this clock; a wait is over at once, and the clock has moved to its end.
//
// One thread only. Reading takes a microsecond.

#ifndef REENACT_TESTS_SUPPORT_FAKE_TIME_H_
#define REENACT_TESTS_SUPPORT_FAKE_TIME_H_

#include <cstdint>

namespace reenact::testing {

class FakeTime {
 public:
  // Both clocks move.
  static void Advance(int64_t ns);
  // Somebody sets the wall clock.
  static void StepWall(int64_t ns);
};

}  // namespace reenact::testing

#endif  // REENACT_TESTS_SUPPORT_FAKE_TIME_H_
