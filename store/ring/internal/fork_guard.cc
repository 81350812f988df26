#include "store/ring/internal/fork_guard.h"

#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>

namespace reenact::store {
namespace {

std::atomic<uint64_t> fork_generation{0};

void CountFork() {
  fork_generation.fetch_add(1, std::memory_order_relaxed);
}

size_t PageSize() {
  return static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

}  // namespace

ForkGuard::ForkGuard() noexcept {
  void* page =
      mmap(nullptr, PageSize(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page != MAP_FAILED && madvise(page, PageSize(), MADV_WIPEONFORK) == 0) {
    page_ = static_cast<volatile uint8_t*>(page);
    *page_ = 1;
    return;
  }
  if (page != MAP_FAILED) munmap(page, PageSize());
  static const int registered = pthread_atfork(nullptr, nullptr, CountFork);
  static_cast<void>(registered);
  generation_ = fork_generation.load(std::memory_order_relaxed);
}

ForkGuard::~ForkGuard() {
  if (page_ != nullptr) munmap(const_cast<uint8_t*>(page_), PageSize());
}

bool ForkGuard::GenerationChanged() const noexcept {
  return generation_ != fork_generation.load(std::memory_order_relaxed);
}

}  // namespace reenact::store
