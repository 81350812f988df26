#include "tests/fuzz/fault.h"

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "tests/fuzz/fuzz_target.h"

namespace reenact::fuzz {
namespace {

Fault planted = Fault::kNone;
std::atomic<uint64_t> own_counter{0};
std::atomic<uint64_t>* reached = &own_counter;

}  // namespace

bool ParseFault(std::string_view word, Fault* fault) {
  constexpr std::string_view kWords[] = {"none", "crash", "hang", "rule", "memory"};
  for (size_t i = 1; i < std::size(kWords); ++i) {
    if (word != kWords[i]) continue;
    *fault = static_cast<Fault>(i);
    return true;
  }
  return false;
}

void Plant(Fault fault) {
  planted = fault;
}

void CountReachedIn(std::atomic<uint64_t>* counter) {
  reached = counter;
}

void Reached() {
  reached->fetch_add(1, std::memory_order_relaxed);
  switch (planted) {
    case Fault::kNone:
      return;
    case Fault::kCrash: {
      volatile char* const nowhere = nullptr;
      *nowhere = 1;
      return;
    }
    case Fault::kHang:
      while (true) reached->fetch_add(0, std::memory_order_relaxed);
    case Fault::kRule:
      Broken("the planted rule");
    case Fault::kMemory:
      // More than any machine gives: the size of a length that was believed.
      std::vector<char>(size_t{1} << 46).back() = 1;
      return;
  }
}

void Broken(const std::string& rule) {
  std::fprintf(stderr, "broken rule: %s\n", rule.c_str());
  std::fflush(stderr);
  std::abort();
}

}  // namespace reenact::fuzz
