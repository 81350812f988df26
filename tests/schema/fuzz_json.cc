#include <cstddef>
#include <cstdint>
#include <cstdio>

#include "untrusted_input.h"

// A broken rule is a crash, with its words on stderr.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto broken = reenact::schema::CheckJson({reinterpret_cast<const char*>(data), size});
  if (broken) {
    std::fprintf(stderr, "%s\n", broken->c_str());
    __builtin_trap();
  }
  return 0;
}
