// A device that is the interpreter: what stands behind interpreted_runtime.cc. Objects that nvcc
// compiled for a GPU link with that in place of NVIDIA's runtime, and every launch runs the PTX of
// the same source.
//
// One process has one device; one operating-system thread at a time uses it.

#ifndef REENACT_TESTS_LOCAL_ENGINE_CUDA_PTX_INTERPRETED_DEVICE_H_
#define REENACT_TESTS_LOCAL_ENGINE_CUDA_PTX_INTERPRETED_DEVICE_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tests/local_engine/cuda/ptx/launch.h"
#include "tests/local_engine/cuda/ptx/memory.h"
#include "tests/local_engine/cuda/ptx/program.h"

namespace reenact::ptx {

class InterpretedDevice {
 public:
  static InterpretedDevice& TheOnlyOne();

  // The PTX comes from the objects and archives that the environment variable REENACT_DEVICE_CODE
  // names, with ":" between them. A kernel that is in none of them fails where it is launched.
  void Register(const void* host_function, const std::string& device_name);

  void* Allocate(size_t size_bytes);
  bool Free(void* memory);
  bool IsDeviceMemory(const void* memory) const;

  // The host's own accesses, checked against the buffers like a kernel's.
  bool Copy(void* to, const void* from, size_t size_bytes);
  bool Fill(void* to, int byte, size_t size_bytes);

  // `arguments[i]` points at parameter i, as the runtime gets them. False when it failed; the
  // report says how.
  bool Launch(const void* host_function, LaunchSettings settings, void** arguments);

  void AllowSharedBytes(const void* host_function, size_t size_bytes);

  void SetSchedule(uint64_t schedule) { schedule_ = schedule; }

  // What went wrong first since the last call; empty when nothing did. Launches after it are
  // refused.
  std::string TakeReport();

  size_t bytes_in_use() const { return bytes_in_use_; }

  int64_t launch_count() const { return launch_count_; }

 private:
  InterpretedDevice();

  void Add(std::string_view text);
  const Kernel* KernelOf(const void* host_function);
  void Report(const std::string& what);

  struct Allocation {
    std::unique_ptr<std::byte[]> bytes;
    std::byte* begin = nullptr;  // Aligned as the runtime aligns.
    size_t size_bytes = 0;
  };

  std::vector<Module> modules_;
  std::map<const void*, std::string> device_names_;
  std::map<const void*, size_t> allowed_shared_bytes_;
  std::map<const void*, Allocation> allocations_;
  GlobalMemory memory_;
  std::string report_;
  uint64_t schedule_ = 0;
  size_t bytes_in_use_ = 0;
  int64_t launch_count_ = 0;
};

}  // namespace reenact::ptx

#endif  // REENACT_TESTS_LOCAL_ENGINE_CUDA_PTX_INTERPRETED_DEVICE_H_
