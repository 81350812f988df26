#include "tests/local_engine/cuda/emulation/memory_checks.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/local_engine/cuda/emulation/execution.h"

extern "C" const char __executable_start;  // NOLINT: the linker's name.
extern "C" const char _end;

namespace reenact::cuda_emulation {
namespace {

constexpr size_t kWord = 4;
constexpr int kPoison = 0xff;  // NaN in every floating-point type.
constexpr size_t kDeviceAlignment = 256;

// A phase is the time between two meetings of a whole block; they are counted over all blocks. Of
// two accesses of different threads in one phase neither waits for the other, unless their warp met
// in between.
struct Access {
  uint32_t phase = 0;  // 0: never.
  uint32_t warp_phase = 0;
  int16_t thread = 0;
  int16_t warp = 0;
  uint8_t bytes = 0xf;  // Of the word, one bit each; of a write.
};

constexpr int16_t kSeveral = -1;

struct Word {
  Access write;
  Access read;          // The last one; thread and warp are kSeveral where there were others.
  bool atomic = false;  // The write was.
};

struct Region {
  const char* begin = nullptr;
  size_t size_bytes = 0;
  std::vector<Word> words;  // Made when a hook first asks.

  bool Holds(const void* address, size_t size) const {
    const auto* at = static_cast<const char*>(address);
    return at >= begin && at + size <= begin + size_bytes;
  }

  Word* WordsAt(const void* address) {
    if (words.empty()) words.resize((size_bytes + kWord - 1) / kWord);
    return &words[static_cast<size_t>(static_cast<const char*>(address) - begin) / kWord];
  }
};

struct FreeMemory {
  void operator()(char* memory) const { std::free(memory); }
};

struct Allocation : Region {
  std::unique_ptr<char, FreeMemory> memory;
};

uint32_t phase = 1;  // Host writes are of phase 1.
uint32_t first_phase_of_block = 2;
uint32_t first_phase_of_grid = 2;
std::vector<uint32_t> warp_phases;
std::map<const char*, Allocation> allocations;
Allocation* last_found = nullptr;
std::unique_ptr<char, FreeMemory> shared_memory;
Region shared;
int64_t bytes_in_use = 0;
int64_t bytes_at_most = int64_t{1} << 30;
int64_t checked = 0;

std::unique_ptr<char, FreeMemory> Poisoned(size_t size_bytes) {
  // Exactly so many bytes, so that AddressSanitizer sees the first one too many.
  void* memory = nullptr;
  if (posix_memalign(&memory, kDeviceAlignment, size_bytes) != 0) return nullptr;
  std::memset(memory, kPoison, size_bytes);
  return std::unique_ptr<char, FreeMemory>(static_cast<char*>(memory));
}

Allocation* Find(const void* address, size_t size_bytes) {
  if (last_found != nullptr && last_found->Holds(address, size_bytes)) return last_found;
  auto after = allocations.upper_bound(static_cast<const char*>(address));
  if (after == allocations.begin()) return nullptr;
  Allocation& found = std::prev(after)->second;
  if (!found.Holds(address, size_bytes)) return nullptr;
  return last_found = &found;
}

bool WaitsFor(const Access& before, int16_t thread, int16_t warp) {
  if (before.phase != phase || before.thread == thread) return true;
  return before.warp == warp && warp_phases[static_cast<size_t>(warp)] > before.warp_phase;
}

bool OfAnotherBlock(const Access& access) {
  return access.phase >= first_phase_of_grid && access.phase < first_phase_of_block;
}

Access Now(int16_t thread, int16_t warp) {
  return {phase, warp_phases[static_cast<size_t>(warp)], thread, warp};
}

void CheckRead(Word* word, bool is_shared, int16_t thread, int16_t warp) {
  if (word->write.phase < (is_shared ? first_phase_of_block : 1)) {
    Fail(std::string("reads ") + (is_shared ? "shared" : "device") + " memory that nobody wrote");
  }
  if (!is_shared && OfAnotherBlock(word->write)) Fail("reads what another block wrote");
  if (!WaitsFor(word->write, thread, warp)) {
    Fail("reads what thread " + std::to_string(word->write.thread) +
         " wrote, without a barrier between");
  }
  const bool first = word->read.phase != phase || word->read.thread == thread;
  const bool one_warp = first || word->read.warp == warp;
  word->read = Now(thread, warp);
  if (!first) word->read.thread = kSeveral;
  if (!one_warp) word->read.warp = kSeveral;
}

// Which bytes of the word at `word` are in [address, address + size).
uint8_t BytesOfWord(uintptr_t word, uintptr_t address, size_t size) {
  uint8_t bytes = 0;
  for (uintptr_t i = 0; i < kWord; ++i) {
    if (word + i >= address && word + i < address + size) bytes |= static_cast<uint8_t>(1u << i);
  }
  return bytes;
}

void CheckWrite(Word* word, bool is_shared, uint8_t bytes, const Access& now) {
  const bool overlaps = (word->write.bytes & bytes) != 0;
  if (!is_shared && overlaps && OfAnotherBlock(word->write))
    Fail("writes what another block wrote");
  if (!is_shared && OfAnotherBlock(word->read)) Fail("writes what another block read");
  const bool waits = WaitsFor(word->write, now.thread, now.warp);
  if (overlaps && !waits) {
    Fail("writes what thread " + std::to_string(word->write.thread) +
         " wrote, without a barrier between");
  }
  if (!WaitsFor(word->read, now.thread, now.warp)) {
    Fail("writes what another thread read, without a barrier between");
  }
  const Access before = std::exchange(word->write, now);
  word->write.bytes = bytes;
  if (!waits) {  // Another part of the word.
    word->write.bytes |= before.bytes;
    word->write.thread = word->write.warp = kSeveral;
  }
  word->atomic = false;
}

// The thread's own stack, its index, its arguments or a constant.
bool IsPrivate(const void* address, bool write) {
  const auto* at = static_cast<const char*>(address);
  const char here = 0;
  const auto distance = reinterpret_cast<intptr_t>(at) - reinterpret_cast<intptr_t>(&here);
  if (std::abs(distance) < (128 << 10)) return true;
  const auto* thread = reinterpret_cast<const char*>(current_thread);
  if (at >= thread && at < thread + sizeof(*current_thread)) return true;
  return !write && at >= &__executable_start && at < &_end;
}

}  // namespace

void BeginGrid() {
  first_phase_of_grid = phase + 1;
}

void BeginBlock(size_t shared_bytes) {
  first_phase_of_block = ++phase;
  warp_phases.assign(32, 0);
  if (shared.size_bytes != shared_bytes || shared_memory == nullptr) {
    shared_memory = Poisoned(std::max<size_t>(shared_bytes, 1));
    shared = {};
    shared.begin = shared_memory.get();
    shared.size_bytes = shared_bytes;
  } else {
    std::memset(shared_memory.get(), kPoison, shared_bytes);
  }
}

void* SharedMemoryBegin() {
  return shared_memory.get();
}

void EndPhase() {
  ++phase;
}

void EndWarpPhase(unsigned warp) {
  ++warp_phases[warp];
}

int64_t CheckedAccesses() {
  return checked;
}

void* AllocateDevice(size_t size_bytes) {
  if (bytes_in_use + static_cast<int64_t>(size_bytes) > bytes_at_most) return nullptr;
  Allocation allocation;
  allocation.memory = Poisoned(size_bytes);
  if (allocation.memory == nullptr) return nullptr;
  allocation.begin = allocation.memory.get();
  allocation.size_bytes = size_bytes;
  bytes_in_use += static_cast<int64_t>(size_bytes);
  void* memory = allocation.memory.get();
  allocations.emplace(allocation.begin, std::move(allocation));
  return memory;
}

bool FreeDevice(void* memory) {
  const auto found = allocations.find(static_cast<const char*>(memory));
  if (found == allocations.end()) return false;
  bytes_in_use -= static_cast<int64_t>(found->second.size_bytes);
  last_found = nullptr;
  allocations.erase(found);
  return true;
}

int64_t DeviceBytesInUse() {
  return bytes_in_use;
}

void LimitDeviceBytes(int64_t size_bytes) {
  bytes_at_most = size_bytes;
}

int64_t MostDeviceBytes() {
  return bytes_at_most;
}

bool HostAccess(const void* begin, size_t size_bytes, bool write) {
  Allocation* found = Find(begin, size_bytes);
  if (found == nullptr) return false;
  if (!write) return true;
  Word* word = found->WordsAt(begin);
  for (size_t at = 0; at < size_bytes; at += kWord) (word++)->write = {.phase = 1};
  return true;
}

bool IsDeviceMemory(const void* address) {
  return Find(address, 1) != nullptr;
}

void CheckAccess(const void* address, size_t size_bytes, bool write, bool aligned) {
  if (current_thread == nullptr) return;
  ++checked;
  const bool is_shared = shared.Holds(address, size_bytes);
  Region* region = is_shared ? &shared : Find(address, size_bytes);
  if (region == nullptr) {
    if (IsPrivate(address, write)) return;
    Fail(std::string(write ? "writes " : "reads ") + std::to_string(size_bytes) +
         " bytes out of bounds");
  }
  if (aligned && reinterpret_cast<uintptr_t>(address) % size_bytes != 0) {
    Fail("a misaligned access of " + std::to_string(size_bytes) + " bytes");
  }
  const auto thread = static_cast<int16_t>(current_thread->linear);
  const auto warp = static_cast<int16_t>(thread / 32);
  Word* word = region->WordsAt(address);
  const auto first = reinterpret_cast<uintptr_t>(address);
  for (size_t at = 0; at < size_bytes; at += kWord, ++word) {
    if (write) {
      const uint8_t bytes = size_bytes % kWord == 0 && aligned
                                ? uint8_t{0xf}
                                : BytesOfWord((first + at) / kWord * kWord, first, size_bytes);
      CheckWrite(word, is_shared, bytes, Now(thread, warp));
    } else {
      CheckRead(word, is_shared, thread, warp);
    }
  }
}

void CheckAtomic(const void* address, size_t size_bytes) {
  if (current_thread == nullptr) return;
  Allocation* found = Find(address, size_bytes);
  if (found == nullptr) Fail("an atomic operation out of bounds");
  Word* word = found->WordsAt(address);
  if (!word->atomic && (OfAnotherBlock(word->write) || OfAnotherBlock(word->read))) {
    Fail("an atomic operation beside another block's plain one");
  }
  word->atomic = true;
}

}  // namespace reenact::cuda_emulation
