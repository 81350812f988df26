// Functions that give random numbers, and the devices that do. What does not come by here: the
// processor's own instructions (std::random_device, where it uses them), and generators inside
// libraries that mix in other things (OpenSSL's: Node gets its own preload for that).

#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/syscall.h>

#include "clock_shim/preload/random_stream.h"
#include "clock_shim/preload/real_calls.h"
#include "clock_shim/preload/thread_tape.h"

namespace {

using namespace reenact::clock_shim;

bool IsRandomDevice(const char* path) {
  return random_is_frozen() && path != nullptr &&
         (strcmp(path, "/dev/urandom") == 0 || strcmp(path, "/dev/random") == 0);
}

// A file of random bytes in place of the device: who reads more than this from one descriptor meets
// its end.
int OpenRandom(bool close_on_exec) {
  constexpr size_t kFileSize = 1 << 16;
  const int fd = memfd_create("random", close_on_exec ? MFD_CLOEXEC : 0);
  if (fd < 0) return fd;
  char bytes[4096];
  for (size_t written = 0; written < kFileSize; written += sizeof(bytes)) {
    Draw(bytes, sizeof(bytes));
    RawCall(SYS_write, fd, reinterpret_cast<long>(bytes), sizeof(bytes));
  }
  RawCall(SYS_lseek, fd, 0, SEEK_SET);
  return fd;
}

mode_t ModeOf(int flags, va_list list) {
  const bool creates = (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE;
  return creates ? va_arg(list, mode_t) : 0;
}

}  // namespace

REENACT_STANDS_FOR ssize_t getrandom(void* out, size_t size, unsigned flags) {
  if (!random_is_frozen()) return REENACT_NEXT(getrandom)(out, size, flags);
  Draw(out, size);
  return static_cast<ssize_t>(size);
}

REENACT_STANDS_FOR int getentropy(void* out, size_t size) {
  constexpr size_t kMostAtOnce = 256;
  if (!random_is_frozen() || size > kMostAtOnce) return REENACT_NEXT(getentropy)(out, size);
  Draw(out, size);
  return 0;
}

REENACT_STANDS_FOR void arc4random_buf(void* out, size_t size) noexcept {
  if (!random_is_frozen()) return REENACT_NEXT(arc4random_buf)(out, size);
  Draw(out, size);
}

REENACT_STANDS_FOR uint32_t arc4random() noexcept {
  if (!random_is_frozen()) return REENACT_NEXT(arc4random)();
  uint32_t word = 0;
  Draw(&word, sizeof(word));
  return word;
}

REENACT_STANDS_FOR uint32_t arc4random_uniform(uint32_t bound) noexcept {
  if (!random_is_frozen()) return REENACT_NEXT(arc4random_uniform)(bound);
  if (bound < 2) return 0;
  // 2^32 mod bound: below it are the words that would make small results more likely.
  const uint32_t least = -bound % bound;
  uint32_t word = 0;
  do {
    Draw(&word, sizeof(word));
  } while (word < least);
  return word % bound;
}

REENACT_STANDS_FOR int open(const char* path, int flags, ...) {
  if (IsRandomDevice(path)) return OpenRandom((flags & O_CLOEXEC) != 0);
  va_list list;
  va_start(list, flags);
  const mode_t mode = ModeOf(flags, list);
  va_end(list);
  return REENACT_NEXT(open)(path, flags, mode);
}

REENACT_STANDS_FOR int open64(const char* path, int flags, ...) {
  if (IsRandomDevice(path)) return OpenRandom((flags & O_CLOEXEC) != 0);
  va_list list;
  va_start(list, flags);
  const mode_t mode = ModeOf(flags, list);
  va_end(list);
  return REENACT_NEXT(open64)(path, flags, mode);
}

REENACT_STANDS_FOR int openat(int folder, const char* path, int flags, ...) {
  if (IsRandomDevice(path)) return OpenRandom((flags & O_CLOEXEC) != 0);
  va_list list;
  va_start(list, flags);
  const mode_t mode = ModeOf(flags, list);
  va_end(list);
  return REENACT_NEXT(openat)(folder, path, flags, mode);
}

REENACT_STANDS_FOR int openat64(int folder, const char* path, int flags, ...) {
  if (IsRandomDevice(path)) return OpenRandom((flags & O_CLOEXEC) != 0);
  va_list list;
  va_start(list, flags);
  const mode_t mode = ModeOf(flags, list);
  va_end(list);
  return REENACT_NEXT(openat64)(folder, path, flags, mode);
}

REENACT_STANDS_FOR FILE* fopen(const char* path, const char* mode) {
  if (!IsRandomDevice(path)) return REENACT_NEXT(fopen)(path, mode);
  const int fd = OpenRandom(strchr(mode, 'e') != nullptr);
  return fd < 0 ? nullptr : fdopen(fd, mode);
}

REENACT_STANDS_FOR FILE* fopen64(const char* path, const char* mode) {
  if (!IsRandomDevice(path)) return REENACT_NEXT(fopen64)(path, mode);
  const int fd = OpenRandom(strchr(mode, 'e') != nullptr);
  return fd < 0 ? nullptr : fdopen(fd, mode);
}
