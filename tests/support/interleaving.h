// Several threads of control on one real thread, switched where a seed says: the same seed gives
// the same execution, whatever the machine does meanwhile.
//
// Switches happen in code compiled with -fsanitize=thread -fno-builtin-memcpy -fno-builtin-memset.
// Its calls to the sanitizer's runtime, before each atomic operation, each write and on entry to
// each function, come here instead, and the linker sends memcpy and memset here (--wrap); the
// runtime itself must not be linked. Executions are sequentially consistent: what a weaker memory
// order would allow is for the thread sanitizer itself to find.

#ifndef REENACT_TESTS_SUPPORT_INTERLEAVING_H_
#define REENACT_TESTS_SUPPORT_INTERLEAVING_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <vector>

namespace reenact::testing {

class Interleaving {
 public:
  explicit Interleaving(uint64_t seed);
  ~Interleaving();
  Interleaving(const Interleaving&) = delete;
  Interleaving& operator=(const Interleaving&) = delete;

  // Must not wait for another one by any means but atomic operations.
  void Add(std::function<void()> body);
  // Called now and then between two steps, about once in `period` of them; switches nothing. What
  // is in memory then is what a process leaves that is killed there.
  void Observe(uint32_t period, std::function<void()> observer);
  // Runs all to their ends. Returns the number of steps.
  uint64_t Run();

  // For the hooks: one step, if the code under test runs on one of the threads; and where that
  // code begins and ends.
  static void Step() noexcept;
  static void EnterFunction() noexcept;
  static void LeaveFunction() noexcept;

 private:
  struct Thread;

  void SwitchTo(Thread* next);
  void TakeStep();
  static void Enter();
  // The one that runs; null outside of Run, and in it between two of them.
  static Thread* Running();

  std::mt19937_64 random_;
  uint32_t switch_period_;  // Steps between two switches, on average.
  uint64_t steps_ = 0;
  uint32_t observe_period_ = 0;
  std::function<void()> observer_;
  bool observing_ = false;
  std::vector<std::unique_ptr<Thread>> threads_;
  std::unique_ptr<Thread> main_;
  Thread* current_ = nullptr;
};

}  // namespace reenact::testing

#endif  // REENACT_TESTS_SUPPORT_INTERLEAVING_H_
