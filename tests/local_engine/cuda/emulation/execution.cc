#include "tests/local_engine/cuda/emulation/execution.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "tests/local_engine/cuda/emulation/fiber.h"
#include "tests/local_engine/cuda/emulation/memory_checks.h"

namespace reenact::cuda_emulation {

Thread* current_thread = nullptr;
Index3 current_block_index;
Index3 current_block_shape;
Index3 current_grid_shape;

namespace {

constexpr size_t kMostThreads = 1024;
constexpr size_t kSharedBytesUnasked = size_t{48} << 10;
constexpr size_t kSharedBytesAtMost = size_t{227} << 10;
constexpr unsigned kLanes = 32;

enum class State { kReady, kAtBarrier, kInWarpStep, kDone };

struct FiberThread : Thread {
  State state = State::kReady;
  Fiber fiber;
};

struct Warp {
  unsigned arrived = 0;
  WarpStep step = WarpStep::kNone;
  unsigned generation = 0;
  // A lane may be one step ahead of one that has not read the last step's values yet.
  alignas(16) unsigned char values[2][kLanes][kLaneBytes] = {};
};

struct Block {
  std::vector<std::unique_ptr<FiberThread>> threads;  // As many as were ever needed.
  std::vector<Warp> warps;
  std::vector<unsigned> order;
  unsigned thread_count = 0;
  unsigned at_barrier = 0;
  unsigned done = 0;
  const Grid* grid = nullptr;
  bool failed = false;
};

Block block;
uint64_t schedule = 0;
std::string report;
Counters counters;
std::map<const void*, size_t> allowed_shared_bytes;

FiberThread& Current() {
  return *static_cast<FiberThread*>(current_thread);
}

std::string Where() {
  const auto text = [](const Index3& at) {
    return std::to_string(at.x) + "," + std::to_string(at.y) + "," + std::to_string(at.z);
  };
  return "block " + text(current_block_index) +
         (current_thread == nullptr ? "" : " thread " + text(current_thread->index)) + ": ";
}

void KeepReport(const std::string& what) {
  if (report.empty()) report = Where() + what;
  block.failed = true;
}

// Lets others run until this thread is ready again.
void Wait(State state) {
  FiberThread& thread = Current();
  thread.state = state;
  thread.fiber.Leave(false);
}

void RunThread() {
  block.grid->run_thread(block.grid->call);
  FiberThread& thread = Current();
  if (block.at_barrier > 0) Fail("a thread ends while others wait at a barrier of the block");
  thread.state = State::kDone;
  ++block.done;
  thread.fiber.Leave(true);
}

// What each thread that is left waits for, when none can go on.
std::string Deadlock() {
  unsigned barrier = 0, warp = 0;
  for (unsigned i = 0; i < block.thread_count; ++i) {
    barrier += block.threads[i]->state == State::kAtBarrier;
    warp += block.threads[i]->state == State::kInWarpStep;
  }
  return "no thread can go on: " + std::to_string(barrier) + " wait at a barrier of the block, " +
         std::to_string(warp) + " in a step of their warp, " + std::to_string(block.done) +
         " have ended";
}

void RunBlock() {
  block.at_barrier = 0;
  block.done = 0;
  block.failed = false;
  block.warps.assign((block.thread_count + kLanes - 1) / kLanes, {});
  const Index3 shape = current_block_shape;
  for (unsigned i = 0; i < block.thread_count; ++i) {
    FiberThread& thread = *block.threads[i];
    thread.index = {i % shape.x, i / shape.x % shape.y, i / (shape.x * shape.y)};
    thread.linear = i;
    thread.lane = i % kLanes;
    thread.state = State::kReady;
    thread.fiber.Reset(RunThread);
  }
  BeginBlock(block.grid->shared_bytes);
  while (block.done < block.thread_count) {
    bool went_on = false;
    for (unsigned i : block.order) {
      FiberThread& thread = *block.threads[i];
      if (thread.state != State::kReady) continue;
      went_on = true;
      current_thread = &thread;
      thread.fiber.Enter();
      current_thread = nullptr;
      if (block.failed) return;
    }
    if (!went_on) return KeepReport(Deadlock());
  }
}

// 0 ... count - 1 as the schedule has them; `salt` makes another permutation of each seed.
std::vector<unsigned> Order(unsigned count, uint64_t salt) {
  std::vector<unsigned> order(count);
  std::iota(order.begin(), order.end(), 0u);
  if (schedule == 1) {
    for (unsigned i = 0; i < count; ++i) order[i] = count - 1 - i;
  }
  uint64_t state = schedule * 0x9e3779b97f4a7c15u + salt;
  for (unsigned i = count; schedule > 1 && i > 1; --i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    std::swap(order[i - 1], order[(state >> 33) % i]);
  }
  return order;
}

size_t Product(const Index3& shape) {
  return size_t{shape.x} * shape.y * shape.z;
}

bool Fits(const Grid& grid) {
  const size_t threads = Product(grid.block);
  if (threads == 0 || threads > kMostThreads || threads % kLanes != 0 || Product(grid.grid) == 0) {
    KeepReport("a block of " + std::to_string(threads) + " threads, a grid of " +
               std::to_string(Product(grid.grid)) + " blocks");
    return false;
  }
  if (grid.grid.y > 65535 || grid.grid.z > 65535) {
    KeepReport("a grid of more than 65535 blocks in y or z");
    return false;
  }
  const auto allowed = allowed_shared_bytes.find(grid.kernel);
  const size_t most = allowed == allowed_shared_bytes.end() ? kSharedBytesUnasked : allowed->second;
  if (grid.shared_bytes <= most) return true;
  KeepReport(std::to_string(grid.shared_bytes) + " bytes of shared memory, of " +
             std::to_string(most) + " allowed");
  return false;
}

}  // namespace

void SetSchedule(uint64_t seed) {
  schedule = seed;
}

std::span<const uint64_t> SchedulesToTry() {
  static constexpr uint64_t kForwardsBackwardsShuffled[] = {0, 1, 20261130};
  return kForwardsBackwardsShuffled;
}

std::string TakeReport() {
  return std::exchange(report, {});
}

const Counters& CountersSoFar() {
  counters.accesses = CheckedAccesses();
  return counters;
}

bool RunGrid(const Grid& grid) {
  if (!report.empty()) return false;
  current_block_index = {};
  if (!Fits(grid)) return false;
  current_grid_shape = grid.grid;
  current_block_shape = grid.block;
  block.grid = &grid;
  block.thread_count = static_cast<unsigned>(Product(grid.block));
  while (block.threads.size() < block.thread_count) {
    block.threads.push_back(std::make_unique<FiberThread>());
  }
  ++counters.grids;
  BeginGrid();
  block.order = Order(block.thread_count, 1);
  for (unsigned i : Order(static_cast<unsigned>(Product(grid.grid)), 2)) {
    current_block_index = {i % grid.grid.x, i / grid.grid.x % grid.grid.y,
                           i / (grid.grid.x * grid.grid.y)};
    ++counters.blocks;
    RunBlock();
    if (!report.empty()) return false;
  }
  return true;
}

void* ParameterMemory(size_t size_bytes) {
  alignas(16) static unsigned char memory[4096];  // As much as a kernel can be given.
  if (size_bytes > sizeof(memory)) std::abort();
  return memory;
}

void AllowSharedBytes(const void* kernel, size_t size_bytes) {
  if (size_bytes <= kSharedBytesAtMost) allowed_shared_bytes[kernel] = size_bytes;
}

void* SharedMemoryOf(size_t size_bytes) {
  if (size_bytes > block.grid->shared_bytes) {
    Fail(std::to_string(size_bytes) + " bytes of shared memory are used, " +
         std::to_string(block.grid->shared_bytes) + " were asked for");
  }
  return SharedMemoryBegin();
}

void BlockBarrier() {
  if (block.done > 0) Fail("a barrier of the block that ended threads do not reach");
  ++block.at_barrier;
  if (block.at_barrier < block.thread_count) return Wait(State::kAtBarrier);
  block.at_barrier = 0;
  ++counters.barriers;
  EndPhase();
  for (unsigned i = 0; i < block.thread_count; ++i) block.threads[i]->state = State::kReady;
}

// The values of all lanes when the last of them has arrived.
static const unsigned char (*Meet(uint32_t lanes, WarpStep step, const void* value,
                                  size_t size_bytes))[kLaneBytes] {
  FiberThread& thread = Current();
  Warp& warp = block.warps[thread.linear / kLanes];
  if (lanes != 0xffffffffu) Fail("a step of some lanes of a warp, which no kernel here needs");
  if (warp.arrived == 0) warp.step = step;
  if (warp.step != step) Fail("lanes of a warp are in different steps");
  const unsigned generation = warp.generation;
  std::memcpy(warp.values[generation % 2][thread.lane], value, size_bytes);
  if (++warp.arrived < kLanes) {
    Wait(State::kInWarpStep);
  } else {
    warp.arrived = 0;
    ++warp.generation;
    ++counters.warp_steps;
    if (step == WarpStep::kBarrier) EndWarpPhase(thread.linear / kLanes);
    const unsigned first = thread.linear - thread.lane;
    for (unsigned i = first; i < first + kLanes; ++i) block.threads[i]->state = State::kReady;
  }
  return warp.values[generation % 2];
}

void WarpBarrier(uint32_t lanes) {
  const char nothing = 0;
  Meet(lanes, WarpStep::kBarrier, &nothing, sizeof(nothing));
}

void ExchangeBytes(uint32_t lanes, WarpStep step, int from, void* value, size_t size_bytes) {
  const auto* values = Meet(lanes, step, value, size_bytes);
  std::memcpy(value, values[from], size_bytes);
}

int AtomicMin(int* at, int value) {
  CheckAtomic(at, sizeof(*at));
  const int before = *at;
  if (value < before) *at = value;
  return before;
}

void Fail(const std::string& what) {
  KeepReport(what);
  Current().fiber.Leave(true);
  std::abort();
}

}  // namespace reenact::cuda_emulation
