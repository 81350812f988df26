#include "tests/recorder/failing_allocator.h"

#include <cerrno>
#include <cstddef>

extern "C" {
void* __libc_malloc(size_t size);
void* __libc_calloc(size_t count, size_t size);
void* __libc_realloc(void* memory, size_t size);
}

namespace {

thread_local long t_fail_from = 0;
thread_local long t_seen = 0;

bool Fails() noexcept {
  ++t_seen;
  if (t_fail_from == 0 || t_seen < t_fail_from) return false;
  errno = ENOMEM;
  return true;
}

}  // namespace

extern "C" {

void* malloc(size_t size) {
  return Fails() ? nullptr : __libc_malloc(size);
}

void* calloc(size_t count, size_t size) {
  return Fails() ? nullptr : __libc_calloc(count, size);
}

void* realloc(void* memory, size_t size) {
  return Fails() ? nullptr : __libc_realloc(memory, size);
}

}  // extern "C"

namespace reenact::testing {

void FailAllocationsFrom(long count) noexcept {
  t_seen = 0;
  t_fail_from = count;
}

long AllocationsSeen() noexcept {
  return t_seen;
}

}  // namespace reenact::testing
