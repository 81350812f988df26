// Waits until a point of the wall clock: the point is moved to where it lies on the real one, see
// virtual_clock.h. Waits for a length of time need nothing.

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include "clock_shim/preload/path_text.h"
#include "clock_shim/preload/real_calls.h"
#include "clock_shim/preload/thread_tape.h"
#include "clock_shim/preload/virtual_clock.h"
#include "clock_shim/preload/wall_clock.h"

namespace {

using namespace reenact::clock_shim;

// Where glibc keeps which clock a condition variable goes by. Not documented, so that Probe looks
// before it is relied on.
constexpr unsigned kMonotonicBit = 2;

unsigned FlagsOf(const pthread_cond_t* cond) {
  return cond->__data.__wrefs;
}

bool Probe() {
  pthread_cond_t plain;
  pthread_cond_t monotonic;
  pthread_condattr_t attributes;
  if (pthread_condattr_init(&attributes) != 0) return false;
  pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
  pthread_cond_init(&plain, nullptr);
  pthread_cond_init(&monotonic, &attributes);
  const bool known =
      (FlagsOf(&plain) & kMonotonicBit) == 0 && (FlagsOf(&monotonic) & kMonotonicBit) != 0;
  pthread_cond_destroy(&plain);
  pthread_cond_destroy(&monotonic);
  pthread_condattr_destroy(&attributes);
  return known;
}

bool GoesByWallClock(const pthread_cond_t* cond) {
  static int known = 0;  // 1 yes, 2 no. Set twice by two threads at worst, to the same.
  int found = __atomic_load_n(&known, __ATOMIC_RELAXED);
  if (found == 0) {
    found = Probe() ? 1 : 2;
    __atomic_store_n(&known, found, __ATOMIC_RELAXED);
    if (found == 2) NoteUnreached("pthread_cond_timedwait", "another libc than is known");
  }
  return found == 1 && (FlagsOf(cond) & kMonotonicBit) == 0;
}

// The deadline as the kernel must be told it, if `clock` is the wall clock.
class DeadlineOf {
 public:
  DeadlineOf(clockid_t clock, const timespec* program)
      : translated_(clock == CLOCK_REALTIME ? program : nullptr),
        real_(clock == CLOCK_REALTIME ? translated_.real() : program) {}

  const timespec* real() const { return real_; }

 private:
  const Deadline translated_;
  const timespec* real_;
};

// libc keeps old versions of these for programs of the last century, and dlsym may find those.
#if defined(__x86_64__)
constexpr char kCondVersion[] = "GLIBC_2.3.2";
#else
constexpr char kCondVersion[] = "GLIBC_2.17";
#endif

bool IsWallTimer(int fd) {
  PathText path("/proc/self/fdinfo/");
  path.AddNumber(static_cast<uint64_t>(fd));
  const long info =
      RawCall(SYS_openat, AT_FDCWD, reinterpret_cast<long>(path.text()), O_RDONLY | O_CLOEXEC, 0);
  if (info < 0) return false;
  char text[512];
  const long size = RawCall(SYS_read, info, reinterpret_cast<long>(text), sizeof(text) - 1);
  RawCall(SYS_close, info);
  if (size <= 0) return false;
  text[size] = '\0';
  const char* clock = strstr(text, "clockid:");
  if (clock == nullptr) return false;
  const long id = strtol(clock + strlen("clockid:"), nullptr, 10);
  return id == CLOCK_REALTIME || id == CLOCK_REALTIME_ALARM;
}

// Timers of timer_create that go by the wall clock. More of them than places are left untranslated.
constexpr size_t kMostTimers = 1024;
timer_t wall_timers[kMostTimers];
bool timer_used[kMostTimers];

void NoteTimer(timer_t timer) {
  for (size_t i = 0; i < kMostTimers; ++i) {
    bool free = false;
    if (__atomic_compare_exchange_n(&timer_used[i], &free, true, false, __ATOMIC_ACQ_REL,
                                    __ATOMIC_RELAXED)) {
      __atomic_store_n(&wall_timers[i], timer, __ATOMIC_RELEASE);
      return;
    }
  }
}

size_t FindTimer(timer_t timer) {
  size_t i = 0;
  while (i < kMostTimers && !(__atomic_load_n(&timer_used[i], __ATOMIC_ACQUIRE) &&
                              __atomic_load_n(&wall_timers[i], __ATOMIC_ACQUIRE) == timer)) {
    ++i;
  }
  return i;
}

}  // namespace

REENACT_STANDS_FOR int pthread_cond_timedwait(pthread_cond_t* cond, pthread_mutex_t* mutex,
                                              const timespec* deadline) {
  static constinit Next next("pthread_cond_timedwait", kCondVersion);
  const DeadlineOf until(GoesByWallClock(cond) ? CLOCK_REALTIME : CLOCK_MONOTONIC, deadline);
  return reinterpret_cast<decltype(&::pthread_cond_timedwait)>(next.Find())(cond, mutex,
                                                                            until.real());
}

REENACT_STANDS_FOR int pthread_cond_clockwait(pthread_cond_t* cond, pthread_mutex_t* mutex,
                                              clockid_t clock, const timespec* deadline) {
  return REENACT_NEXT(pthread_cond_clockwait)(cond, mutex, clock,
                                              DeadlineOf(clock, deadline).real());
}

REENACT_STANDS_FOR int cnd_timedwait(cnd_t* cond, mtx_t* mutex, const timespec* deadline) {
  return REENACT_NEXT(cnd_timedwait)(cond, mutex, Deadline(deadline).real());
}

REENACT_STANDS_FOR int pthread_mutex_timedlock(pthread_mutex_t* mutex,
                                               const timespec* deadline) noexcept {
  return REENACT_NEXT(pthread_mutex_timedlock)(mutex, Deadline(deadline).real());
}

REENACT_STANDS_FOR int pthread_mutex_clocklock(pthread_mutex_t* mutex, clockid_t clock,
                                               const timespec* deadline) noexcept {
  return REENACT_NEXT(pthread_mutex_clocklock)(mutex, clock, DeadlineOf(clock, deadline).real());
}

REENACT_STANDS_FOR int mtx_timedlock(mtx_t* mutex, const timespec* deadline) {
  return REENACT_NEXT(mtx_timedlock)(mutex, Deadline(deadline).real());
}

REENACT_STANDS_FOR int pthread_rwlock_timedrdlock(pthread_rwlock_t* lock,
                                                  const timespec* deadline) noexcept {
  return REENACT_NEXT(pthread_rwlock_timedrdlock)(lock, Deadline(deadline).real());
}

REENACT_STANDS_FOR int pthread_rwlock_timedwrlock(pthread_rwlock_t* lock,
                                                  const timespec* deadline) noexcept {
  return REENACT_NEXT(pthread_rwlock_timedwrlock)(lock, Deadline(deadline).real());
}

REENACT_STANDS_FOR int pthread_rwlock_clockrdlock(pthread_rwlock_t* lock, clockid_t clock,
                                                  const timespec* deadline) noexcept {
  return REENACT_NEXT(pthread_rwlock_clockrdlock)(lock, clock, DeadlineOf(clock, deadline).real());
}

REENACT_STANDS_FOR int pthread_rwlock_clockwrlock(pthread_rwlock_t* lock, clockid_t clock,
                                                  const timespec* deadline) noexcept {
  return REENACT_NEXT(pthread_rwlock_clockwrlock)(lock, clock, DeadlineOf(clock, deadline).real());
}

REENACT_STANDS_FOR int pthread_timedjoin_np(pthread_t thread, void** result,
                                            const timespec* deadline) {
  return REENACT_NEXT(pthread_timedjoin_np)(thread, result, Deadline(deadline).real());
}

REENACT_STANDS_FOR int pthread_clockjoin_np(pthread_t thread, void** result, clockid_t clock,
                                            const timespec* deadline) {
  return REENACT_NEXT(pthread_clockjoin_np)(thread, result, clock,
                                            DeadlineOf(clock, deadline).real());
}

REENACT_STANDS_FOR int sem_timedwait(sem_t* semaphore, const timespec* deadline) {
  return REENACT_NEXT(sem_timedwait)(semaphore, Deadline(deadline).real());
}

REENACT_STANDS_FOR int sem_clockwait(sem_t* semaphore, clockid_t clock, const timespec* deadline) {
  return REENACT_NEXT(sem_clockwait)(semaphore, clock, DeadlineOf(clock, deadline).real());
}

REENACT_STANDS_FOR ssize_t mq_timedreceive(mqd_t queue, char* message, size_t size,
                                           unsigned* priority, const timespec* deadline) {
  return REENACT_NEXT(mq_timedreceive)(queue, message, size, priority, Deadline(deadline).real());
}

REENACT_STANDS_FOR int mq_timedsend(mqd_t queue, const char* message, size_t size,
                                    unsigned priority, const timespec* deadline) {
  return REENACT_NEXT(mq_timedsend)(queue, message, size, priority, Deadline(deadline).real());
}

REENACT_STANDS_FOR int clock_nanosleep(clockid_t clock, int flags, const timespec* time,
                                       timespec* left) {
  const bool absolute = (flags & TIMER_ABSTIME) != 0;
  const DeadlineOf until(absolute ? clock : CLOCK_MONOTONIC, time);
  return REENACT_NEXT(clock_nanosleep)(clock, flags, until.real(), left);
}

REENACT_STANDS_FOR int timerfd_settime(int fd, int flags, const itimerspec* wanted,
                                       itimerspec* old) noexcept {
  if ((flags & TFD_TIMER_ABSTIME) == 0 || wanted == nullptr || mode() != Mode::kReplay ||
      !IsWallTimer(fd)) {
    return REENACT_NEXT(timerfd_settime)(fd, flags, wanted, old);
  }
  itimerspec moved = *wanted;
  const bool armed = wanted->it_value.tv_sec != 0 || wanted->it_value.tv_nsec != 0;
  if (armed) moved.it_value = *Deadline(&wanted->it_value).real();
  return REENACT_NEXT(timerfd_settime)(fd, flags, &moved, old);
}

REENACT_STANDS_FOR int timer_create(clockid_t clock, sigevent* event, timer_t* timer) noexcept {
  const int result = REENACT_NEXT(timer_create)(clock, event, timer);
  if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_ALARM)) NoteTimer(*timer);
  return result;
}

REENACT_STANDS_FOR int timer_delete(timer_t timer) noexcept {
  if (const size_t i = FindTimer(timer); i < kMostTimers) {
    __atomic_store_n(&timer_used[i], false, __ATOMIC_RELEASE);
  }
  return REENACT_NEXT(timer_delete)(timer);
}

REENACT_STANDS_FOR int timer_settime(timer_t timer, int flags, const itimerspec* wanted,
                                     itimerspec* old) noexcept {
  if ((flags & TIMER_ABSTIME) == 0 || wanted == nullptr || FindTimer(timer) == kMostTimers) {
    return REENACT_NEXT(timer_settime)(timer, flags, wanted, old);
  }
  itimerspec moved = *wanted;
  const bool armed = wanted->it_value.tv_sec != 0 || wanted->it_value.tv_nsec != 0;
  if (armed) moved.it_value = *Deadline(&wanted->it_value).real();
  return REENACT_NEXT(timer_settime)(timer, flags, &moved, old);
}
