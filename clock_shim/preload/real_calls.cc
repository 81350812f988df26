#include "clock_shim/preload/real_calls.h"

#include <sys/syscall.h>

namespace reenact::clock_shim {

#if defined(__x86_64__)
long RawCall(long number, long a, long b, long c, long d, long e, long f) {
  long result;
  register long r10 asm("r10") = d;
  register long r8 asm("r8") = e;
  register long r9 asm("r9") = f;
  asm volatile("syscall"
               : "=a"(result)
               : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
               : "rcx", "r11", "memory");
  return result;
}
#elif defined(__aarch64__)
long RawCall(long number, long a, long b, long c, long d, long e, long f) {
  register long x8 asm("x8") = number;
  register long x0 asm("x0") = a;
  register long x1 asm("x1") = b;
  register long x2 asm("x2") = c;
  register long x3 asm("x3") = d;
  register long x4 asm("x4") = e;
  register long x5 asm("x5") = f;
  asm volatile("svc 0"
               : "+r"(x0)
               : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
               : "memory");
  return x0;
}
#else
#error "system calls of this architecture are not known here"
#endif

namespace {

using ClockGetTime = int (*)(clockid_t, timespec*);

ClockGetTime next_clock_gettime;

}  // namespace

void LookUpReads() {
  auto found = reinterpret_cast<ClockGetTime>(dlsym(RTLD_NEXT, "clock_gettime"));
  __atomic_store_n(&next_clock_gettime, found, __ATOMIC_RELEASE);
}

int RealClockGetTime(clockid_t clock, timespec* now) {
  const ClockGetTime next = __atomic_load_n(&next_clock_gettime, __ATOMIC_ACQUIRE);
  if (next != nullptr) return next(clock, now);
  // Another library's constructor, before ours.
  const long result = RawCall(SYS_clock_gettime, clock, reinterpret_cast<long>(now));
  if (result >= 0) return 0;
  errno = static_cast<int>(-result);
  return -1;
}

int64_t RealNs(clockid_t clock) {
  timespec now{};
  RealClockGetTime(clock, &now);
  return ToNs(now);
}

}  // namespace reenact::clock_shim
