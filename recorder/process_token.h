// Tells a process from the children it forked, at the cost of one load: a word on a page that the
// kernel hands to children as zeros (MADV_WIPEONFORK), so that fork by any system call is seen.
// Where the kernel lacks that, a pthread_atfork handler stands in.

#ifndef REENACT_RECORDER_PROCESS_TOKEN_H_
#define REENACT_RECORDER_PROCESS_TOKEN_H_

#include <atomic>
#include <cstdint>

namespace reenact::recorder {

// Makes the page. Called by reenact_open, before any token is asked for. Any thread, many times.
void ArmProcessToken() noexcept;

namespace internal {
extern std::atomic<std::atomic<uint64_t>*> g_token_word;
uint64_t NewProcessToken() noexcept;
}  // namespace internal

// An even number, never 0, that differs between a process and each of its ancestors.
inline uint64_t ProcessToken() noexcept {
  const uint64_t token =
      internal::g_token_word.load(std::memory_order_acquire)->load(std::memory_order_relaxed);
  return token != 0 ? token : internal::NewProcessToken();
}

}  // namespace reenact::recorder

#endif  // REENACT_RECORDER_PROCESS_TOKEN_H_
