// Faults that are planted to see that they are reported.

#ifndef REENACT_TESTS_FUZZ_FAULT_H_
#define REENACT_TESTS_FUZZ_FAULT_H_

#include <atomic>
#include <cstdint>
#include <string_view>

namespace reenact::fuzz {

enum class Fault : uint8_t { kNone, kCrash, kHang, kRule, kMemory };

// "crash", "hang", "rule", "memory"; false for any other word.
bool ParseFault(std::string_view word, Fault* fault);

// What Reached does from now on.
void Plant(Fault fault);

// Where Reached counts.
void CountReachedIn(std::atomic<uint64_t>* counter);

}  // namespace reenact::fuzz

#endif  // REENACT_TESTS_FUZZ_FAULT_H_
