// What the compiler calls before an access, where -fsanitize=thread asked for it. The names are
// those of its runtime library, which is not linked.

#include <cstddef>

#include "tests/local_engine/cuda/emulation/memory_checks.h"

using reenact::cuda_emulation::CheckAccess;

// NOLINTBEGIN: the names are given.
extern "C" {

void __tsan_init() {}

void __tsan_func_entry(void*) {}

void __tsan_func_exit() {}

void __tsan_vptr_update(void**, void*) {}

void __tsan_read1(void* at) {
  CheckAccess(at, 1, false);
}

void __tsan_read2(void* at) {
  CheckAccess(at, 2, false);
}

void __tsan_read4(void* at) {
  CheckAccess(at, 4, false);
}

void __tsan_read8(void* at) {
  CheckAccess(at, 8, false);
}

void __tsan_read16(void* at) {
  CheckAccess(at, 16, false);
}

void __tsan_write1(void* at) {
  CheckAccess(at, 1, true);
}

void __tsan_write2(void* at) {
  CheckAccess(at, 2, true);
}

void __tsan_write4(void* at) {
  CheckAccess(at, 4, true);
}

void __tsan_write8(void* at) {
  CheckAccess(at, 8, true);
}

void __tsan_write16(void* at) {
  CheckAccess(at, 16, true);
}

void __tsan_unaligned_read2(void* at) {
  CheckAccess(at, 2, false, false);
}

void __tsan_unaligned_read4(void* at) {
  CheckAccess(at, 4, false, false);
}

void __tsan_unaligned_read8(void* at) {
  CheckAccess(at, 8, false, false);
}

void __tsan_unaligned_read16(void* at) {
  CheckAccess(at, 16, false, false);
}

void __tsan_unaligned_write2(void* at) {
  CheckAccess(at, 2, true, false);
}

void __tsan_unaligned_write4(void* at) {
  CheckAccess(at, 4, true, false);
}

void __tsan_unaligned_write8(void* at) {
  CheckAccess(at, 8, true, false);
}

void __tsan_unaligned_write16(void* at) {
  CheckAccess(at, 16, true, false);
}

void __tsan_read_range(void* at, size_t size) {
  CheckAccess(at, size, false, false);
}

void __tsan_write_range(void* at, size_t size) {
  CheckAccess(at, size, true, false);
}

}  // extern "C"
// NOLINTEND
