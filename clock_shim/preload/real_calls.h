// The functions that this library stands in front of, and system calls that stand behind them.

#ifndef REENACT_CLOCK_SHIM_PRELOAD_REAL_CALLS_H_
#define REENACT_CLOCK_SHIM_PRELOAD_REAL_CALLS_H_

#include <dlfcn.h>
#include <errno.h>
#include <mqueue.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

#include <cstdint>

// What the program sees; all else is hidden.
#define REENACT_STANDS_FOR extern "C" __attribute__((visibility("default")))

namespace reenact::clock_shim {

inline constexpr int64_t kNsPerSecond = 1'000'000'000;

// One system call, past every wrapper: the result, or minus errno. Leaves errno alone.
long RawCall(long number, long a = 0, long b = 0, long c = 0, long d = 0, long e = 0, long f = 0);

// The next definition of a name, found once; null where libc has none. `version` picks one where
// there are several.
// Safe in a signal handler once Find was called outside of one: LookUpReads does so for those that
// read the clock.
class Next {
 public:
  constexpr explicit Next(const char* name, const char* version = nullptr)
      : name_(name), version_(version) {}

  void* Find() {
    void* found = __atomic_load_n(&found_, __ATOMIC_ACQUIRE);
    if (found != nullptr) return found;
    if (version_ != nullptr) found = dlvsym(RTLD_NEXT, name_, version_);
    if (found == nullptr) found = dlsym(RTLD_NEXT, name_);
    __atomic_store_n(&found_, found, __ATOMIC_RELEASE);
    return found;
  }

  template <typename Function>
  Function* As() {
    return reinterpret_cast<Function*>(Find());
  }

 private:
  const char* name_;
  const char* version_;
  void* found_ = nullptr;
};

// The next definition of `name` as a function of the same type.
#define REENACT_NEXT(name)                                         \
  ([]() -> decltype(&::name) {                                     \
    static constinit ::reenact::clock_shim::Next following(#name); \
    return reinterpret_cast<decltype(&::name)>(following.Find());  \
  }())

// Real readings, whatever the program is shown. Through the vDSO once LookUpReads was called.
int RealClockGetTime(clockid_t clock, timespec* now);
int64_t RealNs(clockid_t clock);
void LookUpReads();

inline int64_t ToNs(const timespec& time) {
  return time.tv_sec * kNsPerSecond + time.tv_nsec;
}

inline timespec ToTimespec(int64_t ns) {
  timespec time{};
  time.tv_sec = ns / kNsPerSecond;
  time.tv_nsec = ns % kNsPerSecond;
  if (time.tv_nsec < 0) {
    --time.tv_sec;
    time.tv_nsec += kNsPerSecond;
  }
  return time;
}

}  // namespace reenact::clock_shim

#endif  // REENACT_CLOCK_SHIM_PRELOAD_REAL_CALLS_H_
