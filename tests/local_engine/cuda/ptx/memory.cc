#include "tests/local_engine/cuda/ptx/memory.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <iterator>
#include <string>

#include "tests/local_engine/cuda/ptx/fault.h"

namespace reenact::ptx {
namespace {

constexpr std::byte kPoison{0xff};
constexpr uint32_t kBeforeLaunch = 1;

std::string At(uint64_t address, size_t size_bytes) {
  char hexadecimal[20];
  std::snprintf(hexadecimal, sizeof(hexadecimal), "0x%llx",
                static_cast<unsigned long long>(address));
  return std::to_string(size_bytes) + " bytes at " + hexadecimal;
}

void CheckAlignment(uint64_t address, size_t size_bytes) {
  if (address % size_bytes != 0) throw Fault("misaligned: " + At(address, size_bytes));
}

// Whether two accesses have an order that the program wrote.
bool Ordered(const Moment& earlier, const Moment& later) {
  if (earlier.thread == later.thread || earlier.barrier != later.barrier) return true;
  return earlier.thread / 32 == later.thread / 32 && earlier.warp_sync != later.warp_sync;
}

std::string Race(const char* what, uint64_t address, const Moment& one, const Moment& other) {
  return std::string("a race in shared memory: ") + what + " at " + std::to_string(address) +
         " by threads " + std::to_string(one.thread) + " and " + std::to_string(other.thread) +
         " with no barrier between";
}

}  // namespace

void GlobalMemory::Add(void* data, size_t size_bytes, bool initialised) {
  const uint64_t begin = reinterpret_cast<uint64_t>(data);
  buffers_[begin] = {begin, size_bytes,
                     std::vector<uint32_t>(size_bytes, initialised ? kBeforeLaunch : 0)};
  last_ = nullptr;
}

void GlobalMemory::Remove(const void* data) {
  buffers_.erase(reinterpret_cast<uint64_t>(data));
  last_ = nullptr;
}

void GlobalMemory::CheckPlace(uint64_t address, size_t size_bytes) {
  BufferOf(address, size_bytes);
}

GlobalMemory::Buffer& GlobalMemory::BufferOf(uint64_t address, size_t size_bytes) {
  const auto holds = [&](const Buffer& buffer) {
    return address >= buffer.begin && address + size_bytes <= buffer.begin + buffer.size_bytes;
  };
  if (last_ != nullptr && holds(*last_)) return *last_;
  auto after = buffers_.upper_bound(address);
  if (after == buffers_.begin() || !holds(std::prev(after)->second)) {
    throw Fault("outside every buffer: " + At(address, size_bytes));
  }
  last_ = &std::prev(after)->second;
  return *last_;
}

const std::byte* GlobalMemory::Read(uint64_t address, size_t size_bytes, uint32_t block,
                                    bool read_only) {
  CheckAlignment(address, size_bytes);
  const Buffer& buffer = BufferOf(address, size_bytes);
  const uint32_t* writers = buffer.written_by.data() + (address - buffer.begin);
  for (size_t i = 0; i < size_bytes; ++i) {
    if (writers[i] == kBeforeLaunch || (writers[i] == block + 2 && !read_only)) continue;
    if (writers[i] == 0) throw Fault("read before it was written: " + At(address, size_bytes));
    throw Fault(read_only
                    ? "read as constant, but written in this launch: " + At(address, size_bytes)
                    : "written by another block of this launch: " + At(address, size_bytes));
  }
  return reinterpret_cast<const std::byte*>(address);
}

std::byte* GlobalMemory::Write(uint64_t address, size_t size_bytes, uint32_t block) {
  CheckAlignment(address, size_bytes);
  Buffer& buffer = BufferOf(address, size_bytes);
  uint32_t* writers = buffer.written_by.data() + (address - buffer.begin);
  for (size_t i = 0; i < size_bytes; ++i) {
    if (writers[i] > kBeforeLaunch && writers[i] != block + 2) {
      throw Fault("two blocks of a launch write the same place: " + At(address, size_bytes));
    }
    writers[i] = block + 2;
  }
  return reinterpret_cast<std::byte*>(address);
}

std::byte* GlobalMemory::Update(uint64_t address, size_t size_bytes) {
  CheckAlignment(address, size_bytes);
  const Buffer& buffer = BufferOf(address, size_bytes);
  const uint32_t* writers = buffer.written_by.data() + (address - buffer.begin);
  if (std::find(writers, writers + size_bytes, 0u) != writers + size_bytes) {
    throw Fault("updated before it was written: " + At(address, size_bytes));
  }
  return reinterpret_cast<std::byte*>(address);
}

void GlobalMemory::EndLaunch() {
  for (auto& [begin, buffer] : buffers_) {
    for (uint32_t& writer : buffer.written_by) writer = std::min(writer, kBeforeLaunch);
  }
}

SharedMemory::SharedMemory(size_t size_bytes) : bytes_(size_bytes), history_(size_bytes) {}

void SharedMemory::BeginBlock(uint32_t barrier) {
  first_barrier_ = barrier;
  std::fill(bytes_.begin(), bytes_.end(), kPoison);
}

void SharedMemory::CheckPlace(uint64_t address, size_t size_bytes) const {
  if (address + size_bytes > bytes_.size() || address > bytes_.size()) {
    throw Fault("outside shared memory of " + std::to_string(bytes_.size()) +
                " bytes: " + At(address, size_bytes));
  }
  CheckAlignment(address, size_bytes);
}

const std::byte* SharedMemory::Read(uint64_t address, size_t size_bytes, const Moment& moment) {
  CheckPlace(address, size_bytes);
  for (size_t i = 0; i < size_bytes; ++i) {
    History& history = history_[address + i];
    if (history.write.barrier < first_barrier_) {
      throw Fault("shared memory read before it was written: " + At(address, size_bytes));
    }
    if (!Ordered(history.write, moment)) {
      throw Fault(Race("a write and a read", address, history.write, moment));
    }
    const bool same_interval = history.read.barrier == moment.barrier;
    history.read_by_other_warps = same_interval && (history.read_by_other_warps ||
                                                    history.read.thread / 32 != moment.thread / 32);
    history.read = moment;
  }
  return bytes_.data() + address;
}

void SharedMemory::NoteWrite(uint64_t address, size_t size_bytes, const Moment& moment,
                             bool atomic) {
  CheckPlace(address, size_bytes);
  for (size_t i = 0; i < size_bytes; ++i) {
    History& history = history_[address + i];
    if (!Ordered(history.write, moment) && !(atomic && history.atomic)) {
      throw Fault(Race("two writes", address, history.write, moment));
    }
    const bool read_elsewhere =
        history.read_by_other_warps && history.read.barrier == moment.barrier;
    if (read_elsewhere || !Ordered(history.read, moment)) {
      throw Fault(Race("a read and a write", address, history.read, moment));
    }
    history.write = moment;
    history.atomic = atomic;
  }
}

std::byte* SharedMemory::Write(uint64_t address, size_t size_bytes, const Moment& moment) {
  NoteWrite(address, size_bytes, moment, false);
  return bytes_.data() + address;
}

std::byte* SharedMemory::Update(uint64_t address, size_t size_bytes, const Moment& moment) {
  CheckPlace(address, size_bytes);
  if (history_[address].write.barrier < first_barrier_) {
    throw Fault("shared memory updated before it was written: " + At(address, size_bytes));
  }
  NoteWrite(address, size_bytes, moment, true);
  return bytes_.data() + address;
}

}  // namespace reenact::ptx
