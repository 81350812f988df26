#include "tests/local_engine/cuda/ptx/interpreted_device.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <memory>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "tests/local_engine/cuda/device_code.h"
#include "tests/local_engine/cuda/ptx/fault.h"
#include "tests/local_engine/cuda/ptx/parser.h"

namespace reenact::ptx {
namespace {

constexpr size_t kAlignment = 256;
constexpr std::byte kPoison{0xff};
constexpr size_t kSharedBytesUnasked = size_t{48} << 10;
constexpr size_t kSharedBytesAtMost = size_t{227} << 10;  // Of an sm_90.

}  // namespace

InterpretedDevice& InterpretedDevice::TheOnlyOne() {
  static InterpretedDevice device;
  return device;
}

InterpretedDevice::InterpretedDevice() {
  const char* files = std::getenv("REENACT_DEVICE_CODE");
  std::istringstream paths(files == nullptr ? "" : files);
  for (std::string path; std::getline(paths, path, ':');) {
    const absl::StatusOr<std::string> bytes = device_code::ReadFile(path);
    if (!bytes.ok()) {
      Report(std::string(bytes.status().message()));
      continue;
    }
    for (std::string_view text : device_code::PtxTexts(*bytes)) Add(text);
  }
}

void InterpretedDevice::Add(std::string_view text) {
  absl::StatusOr<Module> module = ParseModule(text);
  if (!module.ok()) return Report(std::string(module.status().message()));
  modules_.push_back(*std::move(module));
  AddVariables(modules_.back(), &memory_);
}

void InterpretedDevice::Report(const std::string& what) {
  if (report_.empty()) report_ = what;
}

std::string InterpretedDevice::TakeReport() {
  return std::exchange(report_, "");
}

void InterpretedDevice::Register(const void* host_function, const std::string& device_name) {
  device_names_[host_function] = device_name;
}

const Kernel* InterpretedDevice::KernelOf(const void* host_function) {
  const auto name = device_names_.find(host_function);
  if (name == device_names_.end()) {
    Report("a launch of a function that is no kernel");
    return nullptr;
  }
  for (const Module& module : modules_) {
    const auto found = module.kernels.find(name->second);
    if (found != module.kernels.end()) return &found->second;
  }
  Report("no PTX for the kernel " + name->second);
  return nullptr;
}

void* InterpretedDevice::Allocate(size_t size_bytes) {
  Allocation allocation;
  allocation.bytes = std::make_unique<std::byte[]>(size_bytes + kAlignment);
  const auto address = reinterpret_cast<uintptr_t>(allocation.bytes.get());
  allocation.begin = allocation.bytes.get() + (kAlignment - address % kAlignment) % kAlignment;
  allocation.size_bytes = size_bytes;
  std::fill_n(allocation.begin, size_bytes, kPoison);
  memory_.Add(allocation.begin, size_bytes, false);
  bytes_in_use_ += size_bytes;
  void* begin = allocation.begin;
  allocations_[begin] = std::move(allocation);
  return begin;
}

bool InterpretedDevice::Free(void* memory) {
  const auto found = allocations_.find(memory);
  if (found == allocations_.end()) return false;
  bytes_in_use_ -= found->second.size_bytes;
  memory_.Remove(memory);
  allocations_.erase(found);
  return true;
}

bool InterpretedDevice::IsDeviceMemory(const void* memory) const {
  const auto after = allocations_.upper_bound(memory);
  if (after == allocations_.begin()) return false;
  const Allocation& allocation = std::prev(after)->second;
  return memory < allocation.begin + allocation.size_bytes;
}

bool InterpretedDevice::Copy(void* to, const void* from, size_t size_bytes) {
  const auto at = [](const void* begin, size_t offset) {
    return reinterpret_cast<uint64_t>(begin) + offset;
  };
  try {
    if (IsDeviceMemory(from)) memory_.CheckPlace(at(from, 0), size_bytes);
    for (size_t i = 0; i < size_bytes && IsDeviceMemory(to); ++i) memory_.Write(at(to, i), 1, 0);
  } catch (const Fault& fault) {
    Report(std::string("a copy: ") + fault.what());
    return false;
  }
  memory_.EndLaunch();
  std::memmove(to, from, size_bytes);
  return true;
}

bool InterpretedDevice::Fill(void* to, int byte, size_t size_bytes) {
  const std::string bytes(size_bytes, static_cast<char>(byte));
  return IsDeviceMemory(to) && Copy(to, bytes.data(), size_bytes);
}

void InterpretedDevice::AllowSharedBytes(const void* host_function, size_t size_bytes) {
  allowed_shared_bytes_[host_function] = size_bytes;
}

bool InterpretedDevice::Launch(const void* host_function, LaunchSettings settings,
                               void** arguments) {
  if (!report_.empty()) return false;
  const Kernel* kernel = KernelOf(host_function);
  if (kernel == nullptr) return false;
  const auto allowed = allowed_shared_bytes_.find(host_function);
  const size_t shared_bytes = kernel->shared_bytes + settings.dynamic_shared_bytes;
  const size_t most = allowed == allowed_shared_bytes_.end()
                          ? kSharedBytesUnasked
                          : std::max(kSharedBytesUnasked, kernel->shared_bytes + allowed->second);
  if (shared_bytes > std::min(most, kSharedBytesAtMost)) {
    Report(kernel->name + ": more shared memory than it asked for, or than there is");
    return false;
  }
  Arguments values;
  for (size_t i = 0; i < kernel->parameters.size(); ++i) {
    const auto* bytes = static_cast<const std::byte*>(arguments[i]);
    values.emplace_back(bytes, bytes + kernel->parameters[i].size_bytes);
  }
  settings.schedule = schedule_;
  ++launch_count_;
  const absl::Status status = ptx::Launch(*kernel, settings, values, &memory_);
  if (!status.ok()) Report(std::string(status.message()));
  return status.ok();
}

}  // namespace reenact::ptx
