// Where threads come from: each is named by who started it, and as which of his.

#include <stdlib.h>

#include "clock_shim/preload/real_calls.h"
#include "clock_shim/preload/start.h"
#include "clock_shim/preload/thread_tape.h"

namespace {

using namespace reenact::clock_shim;

struct ThreadStart {
  Ordinal ordinal;
  void* (*routine)(void*);
  thrd_start_t c11_routine;  // One of the two.
  void* argument;
};

pthread_key_t end_of_thread;
bool has_end_of_thread = false;

void* RunThread(void* argument) {
  const ThreadStart start = *static_cast<ThreadStart*>(argument);
  free(argument);
  BecomeThread(start.ordinal);
  // Any value but null, so that the key's function is called. It runs after the program's own.
  if (has_end_of_thread) pthread_setspecific(end_of_thread, &end_of_thread);
  if (start.routine != nullptr) return start.routine(start.argument);
  return reinterpret_cast<void*>(static_cast<intptr_t>(start.c11_routine(start.argument)));
}

// The block that RunThread frees; null when there is no memory.
ThreadStart* Plan(void* (*routine)(void*), thrd_start_t c11_routine, void* argument) {
  auto* start = static_cast<ThreadStart*>(malloc(sizeof(ThreadStart)));
  if (start == nullptr) return nullptr;
  ThreadTape* tape = ThisThread();
  *start = {tape->ordinal.Child(tape->children++), routine, c11_routine, argument};
  return start;
}

}  // namespace

namespace reenact::clock_shim {

void PrepareThreads() {
  has_end_of_thread = pthread_key_create(&end_of_thread, [](void*) { CloseThread(); }) == 0;
}

}  // namespace reenact::clock_shim

REENACT_STANDS_FOR int pthread_create(pthread_t* thread, const pthread_attr_t* attributes,
                                      void* (*routine)(void*), void* argument) noexcept {
  const auto next = REENACT_NEXT(pthread_create);
  if (mode() == Mode::kOff) return next(thread, attributes, routine, argument);
  ThreadStart* start = Plan(routine, nullptr, argument);
  if (start == nullptr) return EAGAIN;
  const int result = next(thread, attributes, RunThread, start);
  if (result != 0) free(start);
  return result;
}

REENACT_STANDS_FOR int thrd_create(thrd_t* thread, thrd_start_t routine, void* argument) {
  if (mode() == Mode::kOff) return REENACT_NEXT(thrd_create)(thread, routine, argument);
  ThreadStart* start = Plan(nullptr, routine, argument);
  if (start == nullptr) return thrd_nomem;
  const int result = REENACT_NEXT(pthread_create)(thread, nullptr, RunThread, start);
  if (result == 0) return thrd_success;
  free(start);
  return result == EAGAIN || result == ENOMEM ? thrd_nomem : thrd_error;
}
