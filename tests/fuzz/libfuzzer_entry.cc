// The libFuzzer side. The program's own name says which target it runs: fuzz_NAME is a link to
// fuzz_targets. Seeds and a dictionary come from fuzz_test NAME --write-seeds DIR.

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>

#include "tests/fuzz/fault.h"
#include "tests/fuzz/fuzz_target.h"

namespace {

const reenact::fuzz::Target* target = nullptr;

}  // namespace

extern "C" int LLVMFuzzerInitialize(int*, char*** argv) {
  const std::string program = std::filesystem::path((*argv)[0]).filename();
  constexpr std::string_view kPrefix = "fuzz_";
  if (program.starts_with(kPrefix)) {
    target = reenact::fuzz::FindTarget(std::string_view(program).substr(kPrefix.size()));
  }
  if (target == nullptr) {
    std::fprintf(stderr, "%s: no target has this name; run one of the links fuzz_NAME\n",
                 program.c_str());
    std::exit(2);
  }
  const char* const word = std::getenv("REENACT_FUZZ_PLANT");
  reenact::fuzz::Fault fault = reenact::fuzz::Fault::kNone;
  if (word != nullptr && reenact::fuzz::ParseFault(word, &fault)) reenact::fuzz::Plant(fault);
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  target->fuzz_one({reinterpret_cast<const char*>(data), size});
  return 0;
}
