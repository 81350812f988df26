// Runs a grid of blocks on the processor, one block after the other and in each block one thread at
// a time, in an order that a seed chooses. What a real device leaves to chance is checked instead:
// a barrier that not all threads reach, a warp whose lanes do different things, and, in kernels
// that are built with the compiler's access hooks (memory_checks.h), races, reads of what nobody
// wrote and accesses out of bounds.
//
// One process has one device; one operating-system thread at a time uses it.

#ifndef REENACT_TESTS_LOCAL_ENGINE_CUDA_EMULATION_EXECUTION_H_
#define REENACT_TESTS_LOCAL_ENGINE_CUDA_EMULATION_EXECUTION_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>

namespace reenact::cuda_emulation {

struct Index3 {
  unsigned x = 0, y = 0, z = 0;
};

// A thread of the block that is running.
struct Thread {
  Index3 index;
  unsigned linear = 0;
  unsigned lane = 0;
};

// What kernels read. Null outside of a kernel.
extern Thread* current_thread;
extern Index3 current_block_index;
extern Index3 current_block_shape;
extern Index3 current_grid_shape;

struct Grid {
  Index3 grid;
  Index3 block;
  size_t shared_bytes = 0;
  const void* kernel = nullptr;
  const void* call = nullptr;
  void (*run_thread)(const void* call) = nullptr;
};

// Threads and blocks run in order (0), backwards (1) or in a permutation that the seed makes.
void SetSchedule(uint64_t seed);

// The orders in which a test runs the same work. One, where races are found in any order or nobody
// can choose one.
std::span<const uint64_t> SchedulesToTry();

// What the first kernel that went wrong did, with its block and thread; empty when none did. The
// kernels after it are not run until somebody has taken the report.
std::string TakeReport();

struct Counters {
  int64_t grids = 0;
  int64_t blocks = 0;
  int64_t barriers = 0;    // Of whole blocks.
  int64_t warp_steps = 0;  // Exchanges and barriers of a warp.
  int64_t accesses = 0;    // That were checked.
};

const Counters& CountersSoFar();

// False when a report is waiting. Shared memory is filled with NaN.
bool RunGrid(const Grid& grid);

// For the arguments of the next grid.
void* ParameterMemory(size_t size_bytes);

// A larger block of shared memory than a kernel was given by default, once it has asked for it.
void AllowSharedBytes(const void* kernel, size_t size_bytes);

// From within a kernel.

void* SharedMemoryOf(size_t size_bytes);
void BlockBarrier();
void WarpBarrier(uint32_t lanes);
int AtomicMin(int* at, int value);

// Ends the grid; the kernel's thread does not come back.
[[noreturn]] void Fail(const std::string& what);

enum class WarpStep { kNone, kBarrier, kOfLane, kOfLaneXor };

inline constexpr size_t kLaneBytes = 16;  // That a lane can give in one exchange.

// Waits until every lane has given its value; the value of lane `from`.
void ExchangeBytes(uint32_t lanes, WarpStep step, int from, void* value, size_t size_bytes);

template <typename T>
T Exchange(uint32_t lanes, T value, WarpStep step, int from) {
  static_assert(sizeof(T) <= kLaneBytes);
  ExchangeBytes(lanes, step, from, &value, sizeof(T));
  return value;
}

}  // namespace reenact::cuda_emulation

#endif  // REENACT_TESTS_LOCAL_ENGINE_CUDA_EMULATION_EXECUTION_H_
