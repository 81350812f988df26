#include "tests/local_engine/cuda/ptx/launch.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"

#include "tests/local_engine/cuda/ptx/fault.h"
#include "tests/local_engine/cuda/ptx/lane.h"

namespace reenact::ptx {
namespace {

constexpr uint32_t kWarpLanes = 32;

// An order of `count` things that follows the schedule alone.
std::vector<uint32_t> OrderOf(uint32_t count, uint64_t schedule) {
  std::vector<uint32_t> order(count);
  std::iota(order.begin(), order.end(), 0u);
  if (schedule == 1) std::reverse(order.begin(), order.end());
  if (schedule < 2) return order;
  uint64_t state = schedule;
  for (uint32_t left = count; left > 1; --left) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    std::swap(order[left - 1], order[(state >> 33) % left]);
  }
  return order;
}

class GridRun {
 public:
  GridRun(const Kernel& kernel, const LaunchSettings& settings,
          std::span<const std::byte> parameters, GlobalMemory* memory)
      : kernel_(kernel),
        settings_(settings),
        thread_count_(settings.block.Count()),
        shared_(kernel.shared_bytes + settings.dynamic_shared_bytes),
        registers_(size_t{thread_count_} * kernel.first_registers.size()),
        local_(2 * kernel.local_bytes * thread_count_),
        lanes_(thread_count_),
        order_(OrderOf(thread_count_, settings.schedule)) {
    block_ = {.kernel = &kernel, .global = memory, .shared = &shared_, .parameters = parameters};
  }

  void Run() {
    for (uint32_t index : OrderOf(settings_.grid.Count(), settings_.schedule)) RunBlock(index);
  }

  // The thread that ran last, for messages.
  std::string Where() const {
    const Lane& lane = lanes_[running_];
    const size_t at = std::min<size_t>(lane.next, kernel_.code.size() - 1);
    const size_t executing = lane.state == LaneState::kRunning && at > 0 ? at - 1 : at;
    return kernel_.name + ", block " + std::to_string(block_.index) + ", thread " +
           std::to_string(running_) + ", \"" + kernel_.code[executing].text + "\"";
  }

 private:
  void RunBlock(uint32_t index) {
    block_.index = index;
    ++block_.barrier;
    shared_.BeginBlock(block_.barrier);
    std::fill(local_.begin(), local_.end(), std::byte{0});
    for (uint32_t thread = 0; thread < thread_count_; ++thread) BeginLane(thread);
    while (!AllEnded()) {
      for (uint32_t thread : order_) RunLane(thread);
      bool progress = false;
      for (uint32_t first = 0; first < thread_count_; first += kWarpLanes) {
        progress = RunWarp(first) || progress;
      }
      if (!progress && !AllEnded()) PassBarrier();
    }
  }

  void BeginLane(uint32_t thread) {
    const size_t register_count = kernel_.first_registers.size();
    uint64_t* registers = registers_.data() + register_count * thread;
    std::copy(kernel_.first_registers.begin(), kernel_.first_registers.end(), registers);
    for (const auto& [slot, special] : kernel_.specials) registers[slot] = ValueOf(special, thread);
    Lane& lane = lanes_[thread];
    lane = Lane{.registers = registers, .block = &block_, .thread = thread};
    const size_t local_bytes = kernel_.local_bytes;
    const std::span<std::byte> local = std::span(local_).subspan(2 * local_bytes * thread);
    lane.local = local.first(local_bytes);
    lane.local_written = local.subspan(local_bytes, local_bytes);
  }

  uint32_t ValueOf(Special special, uint32_t thread) const {
    const Dim& block = settings_.block;
    const Dim& grid = settings_.grid;
    switch (special) {
      case Special::kThreadX:
        return thread % block.x;
      case Special::kThreadY:
        return thread / block.x % block.y;
      case Special::kThreadZ:
        return thread / (block.x * block.y);
      case Special::kBlockDimX:
        return block.x;
      case Special::kBlockDimY:
        return block.y;
      case Special::kBlockDimZ:
        return block.z;
      case Special::kBlockX:
        return block_.index % grid.x;
      case Special::kBlockY:
        return block_.index / grid.x % grid.y;
      case Special::kBlockZ:
        return block_.index / (grid.x * grid.y);
      case Special::kGridDimX:
        return grid.x;
      case Special::kGridDimY:
        return grid.y;
      case Special::kGridDimZ:
        return grid.z;
      case Special::kLane:
        return thread % kWarpLanes;
    }
    return 0;
  }

  // Until it waits or ends.
  void RunLane(uint32_t thread) {
    running_ = thread;
    Lane& lane = lanes_[thread];
    while (lane.state == LaneState::kRunning) {
      const Instruction& instruction = kernel_.code[lane.next];
      ++lane.next;
      if (instruction.guard != kNoSlot &&
          ((lane.registers[instruction.guard] & 1) != 0) == instruction.guard_negated) {
        continue;
      }
      if (instruction.execute != nullptr) {
        instruction.execute(lane, instruction);
      } else {
        --lane.next;
        lane.state = LaneState::kAtWarp;
      }
    }
  }

  // Runs one instruction of the warp for which all lanes of the mask have come. False when there is
  // none.
  bool RunWarp(uint32_t first) {
    const uint32_t lane_count = std::min(kWarpLanes, thread_count_ - first);
    Warp warp{std::span(lanes_).subspan(first, lane_count), 0};
    for (uint32_t at = 0; at < lane_count; ++at) {
      const Lane& lane = warp.lanes[at];
      if (lane.state != LaneState::kAtWarp) continue;
      running_ = first + at;
      const Instruction& instruction = kernel_.code[lane.next];
      warp.mask = MaskOf(lane, instruction, at);
      if (!AllHaveCome(warp, lane)) continue;
      instruction.execute_warp(warp, instruction);
      for (Lane& passed : warp.lanes) ++passed.warp_sync;
      warp.Each([](uint32_t, Lane& member) {
        member.state = LaneState::kRunning;
        ++member.next;
      });
      return true;
    }
    return false;
  }

  static uint32_t MaskOf(const Lane& lane, const Instruction& instruction, uint32_t at) {
    const uint32_t mask = static_cast<uint32_t>(lane.registers[instruction.mask]);
    if (((mask >> at) & 1) == 0) throw Fault("a lane that is not in its own mask");
    return mask;
  }

  // The mask may name lanes that a smaller block does not have: these never come.
  static bool AllHaveCome(const Warp& warp, const Lane& first) {
    for (uint32_t at = 0; at < kWarpLanes; ++at) {
      if (!warp.Has(at)) continue;
      if (at >= warp.lanes.size() || warp.lanes[at].state != LaneState::kAtWarp ||
          warp.lanes[at].next != first.next) {
        return false;
      }
    }
    return true;
  }

  // All threads that have not ended wait at the same barrier, or the launch hangs.
  void PassBarrier() {
    const Lane* first = nullptr;
    for (const Lane& lane : lanes_) {
      if (lane.state == LaneState::kEnded) continue;
      running_ = lane.thread;
      if (lane.state != LaneState::kAtBarrier) {
        throw Fault("lanes of a warp wait for others that never come");
      }
      if (first != nullptr && (lane.barrier != first->barrier || lane.next != first->next)) {
        throw Fault("threads of a block wait at different barriers");
      }
      if (first == nullptr) first = &lane;
    }
    for (Lane& lane : lanes_) {
      if (lane.state == LaneState::kAtBarrier) lane.state = LaneState::kRunning;
    }
    ++block_.barrier;
  }

  bool AllEnded() const {
    return std::all_of(lanes_.begin(), lanes_.end(),
                       [](const Lane& lane) { return lane.state == LaneState::kEnded; });
  }

  const Kernel& kernel_;
  const LaunchSettings& settings_;
  const uint32_t thread_count_;
  SharedMemory shared_;
  std::vector<uint64_t> registers_;
  std::vector<std::byte> local_;
  std::vector<Lane> lanes_;
  std::vector<uint32_t> order_;
  Block block_;
  uint32_t running_ = 0;
};

absl::Status CheckFit(const Kernel& kernel, const LaunchSettings& settings,
                      const Arguments& arguments) {
  if (settings.block.Count() == 0 || settings.grid.Count() == 0) {
    return absl::InvalidArgumentError(kernel.name + ": an empty launch");
  }
  if (settings.block.Count() > kernel.max_threads) {
    return absl::InvalidArgumentError(kernel.name + ": " + std::to_string(settings.block.Count()) +
                                      " threads, compiled for " +
                                      std::to_string(kernel.max_threads));
  }
  if (arguments.size() != kernel.parameters.size()) {
    return absl::InvalidArgumentError(kernel.name + ": another number of arguments");
  }
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i].size() != kernel.parameters[i].size_bytes) {
      return absl::InvalidArgumentError(kernel.name + ": argument " + std::to_string(i) +
                                        " has another size");
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status Launch(const Kernel& kernel, const LaunchSettings& settings,
                    const Arguments& arguments, GlobalMemory* memory) {
  if (absl::Status fit = CheckFit(kernel, settings, arguments); !fit.ok()) return fit;
  std::vector<std::byte> parameters(kernel.parameter_bytes);
  for (size_t i = 0; i < arguments.size(); ++i) {
    std::copy(arguments[i].begin(), arguments[i].end(),
              parameters.begin() + static_cast<std::ptrdiff_t>(kernel.parameters[i].offset));
  }
  GridRun run(kernel, settings, parameters, memory);
  absl::Status status;
  try {
    run.Run();
  } catch (const Fault& fault) {
    status = absl::FailedPreconditionError(run.Where() + ": " + fault.what());
  }
  memory->EndLaunch();
  return status;
}

void AddVariables(const Module& module, GlobalMemory* memory) {
  for (const auto& [name, variable] : module.variables) {
    memory->Add(variable.bytes.get(), variable.size_bytes, true);
  }
}

}  // namespace reenact::ptx
