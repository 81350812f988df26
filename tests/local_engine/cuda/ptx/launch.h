// Runs a kernel of a module: every block, every thread, to the end.

#ifndef REENACT_TESTS_LOCAL_ENGINE_CUDA_PTX_LAUNCH_H_
#define REENACT_TESTS_LOCAL_ENGINE_CUDA_PTX_LAUNCH_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>
#include <vector>

#include "absl/status/status.h"

#include "tests/local_engine/cuda/ptx/memory.h"
#include "tests/local_engine/cuda/ptx/program.h"

namespace reenact::ptx {

struct Dim {
  uint32_t x = 1;
  uint32_t y = 1;
  uint32_t z = 1;

  uint32_t Count() const { return x * y * z; }
};

struct LaunchSettings {
  Dim grid;
  Dim block;
  size_t dynamic_shared_bytes = 0;
  // In which order blocks, and threads between barriers, run: 0 ascending, 1 descending, others
  // shuffled by it.
  uint64_t schedule = 0;
};

// The bytes of each parameter in order.
using Arguments = std::vector<std::vector<std::byte>>;

template <typename... Values>
Arguments MakeArguments(const Values&... values) {
  static_assert((std::is_trivially_copyable_v<Values> && ...));
  Arguments arguments;
  const auto add = [&arguments](const auto& value) {
    const auto* bytes = reinterpret_cast<const std::byte*>(&value);
    arguments.emplace_back(bytes, bytes + sizeof(value));
  };
  (add(values), ...);
  return arguments;
}

// InvalidArgument for a launch that does not fit the kernel; FailedPrecondition names the kernel,
// block, thread and instruction of what went wrong: an access as in memory.h, threads that wait for
// each other, a division by zero.
absl::Status Launch(const Kernel& kernel, const LaunchSettings& settings,
                    const Arguments& arguments, GlobalMemory* memory);

// Makes the variables of a module readable in a launch.
void AddVariables(const Module& module, GlobalMemory* memory);

}  // namespace reenact::ptx

#endif  // REENACT_TESTS_LOCAL_ENGINE_CUDA_PTX_LAUNCH_H_
