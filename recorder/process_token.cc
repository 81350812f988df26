#include "recorder/process_token.h"

#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <new>

namespace reenact::recorder {
namespace {

// The word when there is no such page, and before ArmProcessToken.
constinit std::atomic<uint64_t> g_plain_word{0};
// The last token given, in memory that children inherit: theirs is the next.
constinit std::atomic<uint64_t> g_last_token{0};
constinit std::atomic<bool> g_watching_fork{false};

void ForgetInChild() {
  g_plain_word.store(0);
}

std::atomic<uint64_t>* MakeWipedWord() noexcept {
  const auto size = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  void* page = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return nullptr;
  if (madvise(page, size, MADV_WIPEONFORK) != 0) {
    munmap(page, size);
    return nullptr;
  }
  return new (page) std::atomic<uint64_t>(0);
}

}  // namespace

namespace internal {

constinit std::atomic<std::atomic<uint64_t>*> g_token_word{&g_plain_word};

uint64_t NewProcessToken() noexcept {
  std::atomic<uint64_t>* word = g_token_word.load(std::memory_order_acquire);
  const uint64_t next = g_last_token.load() + 2;
  uint64_t current = 0;
  if (!word->compare_exchange_strong(current, next)) return current;  // Another thread was first.
  g_last_token.store(next);
  return next;
}

}  // namespace internal

void ArmProcessToken() noexcept {
  std::atomic<uint64_t>* expected = &g_plain_word;
  if (internal::g_token_word.load(std::memory_order_acquire) != expected) return;
  if (std::atomic<uint64_t>* word = MakeWipedWord()) {
    // Two threads may race to here: each returns only when one of the pages is in place, so that
    // no token is ever taken from the plain word first.
    if (!internal::g_token_word.compare_exchange_strong(expected, word)) {
      munmap(word, static_cast<size_t>(sysconf(_SC_PAGESIZE)));
    }
    return;
  }
  if (!g_watching_fork.exchange(true)) pthread_atfork(nullptr, nullptr, &ForgetInChild);
}

}  // namespace reenact::recorder
