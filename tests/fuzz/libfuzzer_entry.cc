// The libFuzzer side of a target. Seeds and a dictionary come from the test of the same target:
// fuzz_NAME_test --write-seeds DIR.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "tests/fuzz/fault.h"
#include "tests/fuzz/fuzz_target.h"

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  const char* const word = std::getenv("REENACT_FUZZ_PLANT");
  reenact::fuzz::Fault fault = reenact::fuzz::Fault::kNone;
  if (word != nullptr && reenact::fuzz::ParseFault(word, &fault)) reenact::fuzz::Plant(fault);
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  reenact::fuzz::FuzzOne({reinterpret_cast<const char*>(data), size});
  return 0;
}
