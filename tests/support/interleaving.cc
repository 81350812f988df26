#include "tests/support/interleaving.h"

#include <ucontext.h>

#include <cstddef>
#include <utility>

namespace reenact::testing {
namespace {

constexpr size_t kStackBytes = 256 * 1024;

Interleaving* running = nullptr;

}  // namespace

struct Interleaving::Thread {
  ucontext_t context{};
  std::vector<char> stack;
  std::function<void()> body;
  bool ended = false;
  int depth = 0;  // Of functions of the code under test.
};

Interleaving::Interleaving(uint64_t seed)
    : random_(seed),
      // From a switch at almost every step to long stretches with few of them.
      switch_period_(uint32_t{2} << (random_() % 7)),
      main_(std::make_unique<Thread>()) {}

Interleaving::~Interleaving() = default;

void Interleaving::Add(std::function<void()> body) {
  auto thread = std::make_unique<Thread>();
  thread->stack.resize(kStackBytes);
  thread->body = std::move(body);
  getcontext(&thread->context);
  thread->context.uc_stack.ss_sp = thread->stack.data();
  thread->context.uc_stack.ss_size = thread->stack.size();
  thread->context.uc_link = &main_->context;
  makecontext(&thread->context, &Interleaving::Enter, 0);
  threads_.push_back(std::move(thread));
}

void Interleaving::Observe(uint32_t period, std::function<void()> observer) {
  observe_period_ = period;
  observer_ = std::move(observer);
}

uint64_t Interleaving::Run() {
  running = this;
  current_ = main_.get();
  // Here after each end of a thread; switches between threads do not come by.
  for (;;) {
    std::vector<Thread*> alive;
    for (const auto& thread : threads_) {
      if (!thread->ended) alive.push_back(thread.get());
    }
    if (alive.empty()) break;
    current_ = main_.get();
    SwitchTo(alive[random_() % alive.size()]);
  }
  current_ = nullptr;
  running = nullptr;
  return steps_;
}

void Interleaving::Enter() {
  Thread* const self = running->current_;
  self->body();
  self->ended = true;
}

void Interleaving::SwitchTo(Thread* next) {
  Thread* const from = std::exchange(current_, next);
  if (from != next) swapcontext(&from->context, &next->context);
}

Interleaving::Thread* Interleaving::Running() {
  if (running == nullptr || running->observing_) return nullptr;
  return running->current_ == running->main_.get() ? nullptr : running->current_;
}

void Interleaving::Step() noexcept {
  const Thread* const thread = Running();
  if (thread != nullptr && thread->depth > 0) running->TakeStep();
}

void Interleaving::EnterFunction() noexcept {
  if (Thread* const thread = Running()) ++thread->depth;
  Step();
}

void Interleaving::LeaveFunction() noexcept {
  if (Thread* const thread = Running()) --thread->depth;
}

void Interleaving::TakeStep() {
  ++steps_;
  if (observe_period_ != 0 && random_() % observe_period_ == 0) {
    observing_ = true;
    observer_();
    observing_ = false;
  }
  if (random_() % switch_period_ != 0) return;
  Thread* const next = threads_[random_() % threads_.size()].get();
  if (!next->ended) SwitchTo(next);
}

}  // namespace reenact::testing

// --- what the compiler calls for -fsanitize=thread ----------------------------------------------

using reenact::testing::Interleaving;

extern "C" {

void __tsan_init() {}

void __tsan_func_entry(void*) {
  Interleaving::EnterFunction();
}

void __tsan_func_exit() {
  Interleaving::LeaveFunction();
}

void __tsan_vptr_update(void**, void*) {}

void __tsan_read_range(void*, size_t) {}

void __tsan_write_range(void*, size_t) {
  Interleaving::Step();
}

void __tsan_atomic_thread_fence(int) {
  Interleaving::Step();
}

void __tsan_atomic_signal_fence(int) {}

#define ACCESS(size)                         \
  void __tsan_read##size(void*) {}           \
  void __tsan_unaligned_read##size(void*) {} \
  void __tsan_write##size(void*) {           \
    Interleaving::Step();                    \
  }                                          \
  void __tsan_unaligned_write##size(void*) { \
    Interleaving::Step();                    \
  }
ACCESS(1)
ACCESS(2)
ACCESS(4)
ACCESS(8)
ACCESS(16)
#undef ACCESS

// The linker sends copies here. Half a copy can be seen, as half a memset can.
void* __real_memcpy(void* to, const void* from, size_t size);
void* __real_memset(void* to, int value, size_t size);

void* __wrap_memcpy(void* to, const void* from, size_t size) {
  const size_t half = size / 2;
  Interleaving::Step();
  __real_memcpy(to, from, half);
  Interleaving::Step();
  __real_memcpy(static_cast<char*>(to) + half, static_cast<const char*>(from) + half, size - half);
  return to;
}

void* __wrap_memset(void* to, int value, size_t size) {
  const size_t half = size / 2;
  Interleaving::Step();
  __real_memset(to, value, half);
  Interleaving::Step();
  __real_memset(static_cast<char*>(to) + half, value, size - half);
  return to;
}

// The step comes first: what happens between two of them happens at once.
#define CHANGE(bits, name, builtin)                                                      \
  uint##bits##_t __tsan_atomic##bits##_##name(volatile void* p, uint##bits##_t v, int) { \
    Interleaving::Step();                                                                \
    return builtin(static_cast<volatile uint##bits##_t*>(p), v, __ATOMIC_SEQ_CST);       \
  }
#define EXCHANGE_IF(bits, name)                                                                    \
  int __tsan_atomic##bits##_##name(volatile void* p, void* expected, uint##bits##_t v, int, int) { \
    Interleaving::Step();                                                                          \
    return __atomic_compare_exchange_n(static_cast<volatile uint##bits##_t*>(p),                   \
                                       static_cast<uint##bits##_t*>(expected), v, false,           \
                                       __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);                        \
  }
#define ATOMIC(bits)                                                                          \
  uint##bits##_t __tsan_atomic##bits##_load(const volatile void* p, int) {                    \
    Interleaving::Step();                                                                     \
    return __atomic_load_n(static_cast<const volatile uint##bits##_t*>(p), __ATOMIC_SEQ_CST); \
  }                                                                                           \
  void __tsan_atomic##bits##_store(volatile void* p, uint##bits##_t v, int) {                 \
    Interleaving::Step();                                                                     \
    __atomic_store_n(static_cast<volatile uint##bits##_t*>(p), v, __ATOMIC_SEQ_CST);          \
  }                                                                                           \
  CHANGE(bits, exchange, __atomic_exchange_n)                                                 \
  CHANGE(bits, fetch_add, __atomic_fetch_add)                                                 \
  CHANGE(bits, fetch_sub, __atomic_fetch_sub)                                                 \
  CHANGE(bits, fetch_and, __atomic_fetch_and)                                                 \
  CHANGE(bits, fetch_or, __atomic_fetch_or)                                                   \
  CHANGE(bits, fetch_xor, __atomic_fetch_xor)                                                 \
  EXCHANGE_IF(bits, compare_exchange_strong)                                                  \
  EXCHANGE_IF(bits, compare_exchange_weak)
ATOMIC(8)
ATOMIC(16)
ATOMIC(32)
ATOMIC(64)
#undef ATOMIC
#undef EXCHANGE_IF
#undef CHANGE

}  // extern "C"
