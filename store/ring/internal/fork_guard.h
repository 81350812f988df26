// Tells a process from the children that it forked, without a system call: a page that the kernel
// hands to children as zeros (MADV_WIPEONFORK), so that vfork, clone and fork from a signal
// handler are seen as well. Where the kernel lacks that, a pthread_atfork handler stands in.

#ifndef REENACT_STORE_RING_INTERNAL_FORK_GUARD_H_
#define REENACT_STORE_RING_INTERNAL_FORK_GUARD_H_

#include <cstdint>

namespace reenact::store {

class ForkGuard {
 public:
  ForkGuard() noexcept;
  ~ForkGuard();
  ForkGuard(const ForkGuard&) = delete;
  ForkGuard& operator=(const ForkGuard&) = delete;

  // True in every process but the one that made the guard. Any thread.
  bool InForkedChild() const noexcept {
    return page_ != nullptr ? *page_ == 0 : GenerationChanged();
  }

 private:
  bool GenerationChanged() const noexcept;

  volatile uint8_t* page_ = nullptr;
  uint64_t generation_ = 0;  // Used only without a page.
};

}  // namespace reenact::store

#endif  // REENACT_STORE_RING_INTERNAL_FORK_GUARD_H_
