#include "store/format/sqlite_mutex.h"

#include <pthread.h>
#include <sched.h>
#include <sqlite3.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <new>

// SQLite's name for the type that an implementation of mutexes defines.
struct sqlite3_mutex {
  std::atomic<uint64_t> holder{0};  // 0: free. Else the process and thread, see ThisThread.
  int depth = 0;                    // The holder's; every mutex may be entered again by its holder.
};

namespace reenact::store {
namespace {

constexpr int kThreadBits = 42;
constexpr int kStaticMutexes = 16;  // SQLite 3.40 asks for 12.

// The process in the upper bits, the thread's control block in the lower ones: 22 bits hold every
// pid, and user addresses have 47 bits, of which the lowest 6 say nothing.
uint64_t ThisThread() noexcept {
  const auto thread = static_cast<uint64_t>(pthread_self());
  return (static_cast<uint64_t>(getpid()) << kThreadBits) |
         ((thread >> 6) & ((uint64_t{1} << kThreadBits) - 1));
}

bool SameProcess(uint64_t left, uint64_t right) noexcept {
  return left >> kThreadBits == right >> kThreadBits;
}

int Try(sqlite3_mutex* mutex) noexcept {
  const uint64_t self = ThisThread();
  uint64_t holder = mutex->holder.load(std::memory_order_acquire);
  if (holder == self) {
    ++mutex->depth;
    return SQLITE_OK;
  }
  if (holder != 0 && SameProcess(holder, self)) return SQLITE_BUSY;
  if (!mutex->holder.compare_exchange_strong(holder, self, std::memory_order_acquire)) {
    return SQLITE_BUSY;
  }
  mutex->depth = 1;
  return SQLITE_OK;
}

void Enter(sqlite3_mutex* mutex) noexcept {
  // Held for a few instructions, and seldom wanted by two: one writer thread a recorder.
  while (Try(mutex) != SQLITE_OK) sched_yield();
}

void Leave(sqlite3_mutex* mutex) noexcept {
  if (--mutex->depth == 0) mutex->holder.store(0, std::memory_order_release);
}

sqlite3_mutex* Allocate(int type) noexcept {
  static std::array<sqlite3_mutex, kStaticMutexes> fixed;
  if (type == SQLITE_MUTEX_FAST || type == SQLITE_MUTEX_RECURSIVE) {
    return new (std::nothrow) sqlite3_mutex;
  }
  const int index = type - SQLITE_MUTEX_STATIC_MASTER;
  return index >= 0 && index < kStaticMutexes ? &fixed[static_cast<size_t>(index)] : nullptr;
}

int Configure() noexcept {
  sqlite3_mutex_methods methods{};
  methods.xMutexInit = [] { return SQLITE_OK; };
  methods.xMutexEnd = [] { return SQLITE_OK; };
  methods.xMutexAlloc = Allocate;
  methods.xMutexFree = [](sqlite3_mutex* mutex) { delete mutex; };
  methods.xMutexEnter = Enter;
  methods.xMutexTry = Try;
  methods.xMutexLeave = Leave;
  // Refused once SQLite is in use, as in a program that opened a database of its own before; then
  // its own mutexes stay, which is right everywhere but in a forked child.
  const int code = sqlite3_config(SQLITE_CONFIG_MUTEX, &methods);
  sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
  return code;
}

}  // namespace

void UseForkSafeSqliteMutexes() noexcept {
  static const int configured = Configure();
  static_cast<void>(configured);
}

}  // namespace reenact::store
