// A stack of its own for each thread of a block, and the change from one to another.

#ifndef REENACT_TESTS_LOCAL_ENGINE_CUDA_EMULATION_FIBER_H_
#define REENACT_TESTS_LOCAL_ENGINE_CUDA_EMULATION_FIBER_H_

#include <cstddef>

namespace reenact::cuda_emulation {

class Fiber {
 public:
  Fiber();
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  // The next Enter begins `body` on an empty stack; what was on it is forgotten. `body` ends with
  // Leave(true).
  void Reset(void (*body)());

  // Runs the fiber until it leaves. Called by whoever is on no fiber.
  void Enter();

  // Back to Enter, from the fiber itself. `for_good`: it will be reset before it runs again.
  void Leave(bool for_good);

  bool Holds(const void* address) const {
    return address >= stack_ && address < static_cast<const char*>(stack_) + kStackBytes;
  }

 private:
  static constexpr size_t kStackBytes = size_t{128} << 10;

  char* stack_ = nullptr;
  void* saved_ = nullptr;  // The fiber's stack pointer while it waits.
  void* saved_of_host_ = nullptr;
  // What AddressSanitizer is told when stacks change.
  void* shadow_ = nullptr;
  void* shadow_of_host_ = nullptr;
  const void* host_stack_ = nullptr;
  size_t host_stack_bytes_ = 0;

  static void Begin();
  void (*body_)() = nullptr;
};

}  // namespace reenact::cuda_emulation

#endif  // REENACT_TESTS_LOCAL_ENGINE_CUDA_EMULATION_FIBER_H_
