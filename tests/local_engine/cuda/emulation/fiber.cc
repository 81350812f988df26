#include "tests/local_engine/cuda/emulation/fiber.h"

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

// Saves what a call must preserve, changes stacks, restores it from there. ucontext does the same
// with two system calls, which would be most of the time of a kernel.
extern "C" void reenact_change_stack(void** save, void* to);

#if defined(__x86_64__)
asm(R"(
.text
.type reenact_change_stack,@function
reenact_change_stack:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  popq %rcx
  jmp *%rcx
.size reenact_change_stack,.-reenact_change_stack
)");
#elif defined(__aarch64__)
asm(R"(
.text
.type reenact_change_stack,%function
reenact_change_stack:
  sub sp, sp, #160
  stp x19, x20, [sp]
  stp x21, x22, [sp, #16]
  stp x23, x24, [sp, #32]
  stp x25, x26, [sp, #48]
  stp x27, x28, [sp, #64]
  stp x29, x30, [sp, #80]
  stp d8, d9, [sp, #96]
  stp d10, d11, [sp, #112]
  stp d12, d13, [sp, #128]
  stp d14, d15, [sp, #144]
  mov x9, sp
  str x9, [x0]
  mov sp, x1
  ldp x19, x20, [sp]
  ldp x21, x22, [sp, #16]
  ldp x23, x24, [sp, #32]
  ldp x25, x26, [sp, #48]
  ldp x27, x28, [sp, #64]
  ldp x29, x30, [sp, #80]
  ldp d8, d9, [sp, #96]
  ldp d10, d11, [sp, #112]
  ldp d12, d13, [sp, #128]
  ldp d14, d15, [sp, #144]
  add sp, sp, #160
  ret
.size reenact_change_stack,.-reenact_change_stack
)");
#else
#error "the emulator needs a change of stacks for this processor"
#endif

namespace reenact::cuda_emulation {
namespace {

constexpr size_t kGuardBytes = 4096;

Fiber* entered = nullptr;

// A stack from which reenact_change_stack goes to `begin`, aligned as after a call.
void* FreshStack(char* top, void (*begin)()) {
#if defined(__x86_64__)
  constexpr size_t kSavedRegisters = 6;
  auto* slots = reinterpret_cast<void**>(top) - 1;
  *slots = nullptr;
  *--slots = reinterpret_cast<void*>(begin);
  for (size_t i = 0; i < kSavedRegisters; ++i) *--slots = nullptr;
  return slots;
#else
  constexpr size_t kSavedBytes = 160;
  constexpr size_t kLinkRegister = 88;
  char* saved = top - kSavedBytes;
  std::memset(saved, 0, kSavedBytes);
  std::memcpy(saved + kLinkRegister, &begin, sizeof(begin));
  return saved;
#endif
}

}  // namespace

Fiber::Fiber() {
  // The lowest page stays out of reach: a stack that overflows ends the program.
  void* memory =
      mmap(nullptr, kStackBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED || mprotect(memory, kGuardBytes, PROT_NONE) != 0) {
    std::perror("a stack for an emulated thread");
    std::abort();
  }
  stack_ = static_cast<char*>(memory);
}

Fiber::~Fiber() {
  munmap(stack_, kStackBytes);
}

void Fiber::Reset(void (*body)()) {
  body_ = body;
  shadow_ = nullptr;
#if defined(__SANITIZE_ADDRESS__)
  // Frames that were left for good are still marked.
  __asan_unpoison_memory_region(stack_ + kGuardBytes, kStackBytes - kGuardBytes);
#endif
  saved_ = FreshStack(stack_ + kStackBytes, &Fiber::Begin);
}

void Fiber::Begin() {
  Fiber* fiber = entered;
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(nullptr, &fiber->host_stack_, &fiber->host_stack_bytes_);
#endif
  fiber->body_();
  std::abort();  // body_ leaves for good.
}

void Fiber::Enter() {
  entered = this;
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_start_switch_fiber(&shadow_of_host_, stack_, kStackBytes);
#endif
  reenact_change_stack(&saved_of_host_, saved_);
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(shadow_of_host_, nullptr, nullptr);
#endif
}

void Fiber::Leave(bool for_good) {
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_start_switch_fiber(for_good ? nullptr : &shadow_, host_stack_, host_stack_bytes_);
#else
  (void)for_good;
#endif
  reenact_change_stack(&saved_, saved_of_host_);
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(shadow_, &host_stack_, &host_stack_bytes_);
#endif
}

}  // namespace reenact::cuda_emulation
