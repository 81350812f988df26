// A thread, its warp and its block while a launch runs: what instructions act on.

#ifndef REENACT_TESTS_LOCAL_ENGINE_CUDA_PTX_LANE_H_
#define REENACT_TESTS_LOCAL_ENGINE_CUDA_PTX_LANE_H_

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "tests/local_engine/cuda/ptx/memory.h"
#include "tests/local_engine/cuda/ptx/program.h"

namespace reenact::ptx {

// What all threads of a block share.
struct Block {
  const Kernel* kernel = nullptr;
  GlobalMemory* global = nullptr;
  SharedMemory* shared = nullptr;
  std::span<const std::byte> parameters;
  uint32_t index = 0;    // In the launch.
  uint32_t barrier = 1;  // Barriers of the launch so far, and one.
};

enum class LaneState : uint8_t { kRunning, kAtBarrier, kAtWarp, kEnded };

// A copy from global to shared memory that was begun and not yet waited for.
struct PendingCopy {
  uint64_t to = 0;
  uint64_t from = 0;
  uint8_t size_bytes = 0;
  uint8_t copied_bytes = 0;  // The rest is zeros.
};

struct Lane {
  uint64_t* registers = nullptr;
  Block* block = nullptr;
  uint32_t next = 0;  // Instruction.
  LaneState state = LaneState::kRunning;
  uint32_t barrier = 0;    // That it waits at.
  uint32_t thread = 0;     // In the block.
  uint32_t warp_sync = 0;  // Synchronisations of its warp so far.
  std::span<std::byte> local;
  std::span<std::byte> local_written;
  std::vector<PendingCopy> open_copies;               // Of no group yet.
  std::vector<std::vector<PendingCopy>> copy_groups;  // The oldest first.

  Moment Now() const { return {thread, block->barrier, warp_sync}; }
};

// The lanes of a warp that arrived at an instruction of theirs together.
struct Warp {
  std::span<Lane> lanes;
  uint32_t mask = 0;

  bool Has(uint32_t lane) const { return ((mask >> lane) & 1) != 0; }

  template <typename Do>
  void Each(Do&& act) {
    for (uint32_t lane = 0; lane < lanes.size(); ++lane) {
      if (Has(lane)) act(lane, lanes[lane]);
    }
  }
};

// Operands as the type that an instruction gives them.
template <typename T>
T As(uint64_t bits) {
  if constexpr (sizeof(T) == 8) {
    return std::bit_cast<T>(bits);
  } else if constexpr (sizeof(T) == 4) {
    return std::bit_cast<T>(static_cast<uint32_t>(bits));
  } else if constexpr (sizeof(T) == 2) {
    return std::bit_cast<T>(static_cast<uint16_t>(bits));
  } else {
    return std::bit_cast<T>(static_cast<uint8_t>(bits));
  }
}

template <typename T>
uint64_t Bits(T value) {
  if constexpr (sizeof(T) == 8) {
    return std::bit_cast<uint64_t>(value);
  } else if constexpr (sizeof(T) == 4) {
    return std::bit_cast<uint32_t>(value);
  } else if constexpr (sizeof(T) == 2) {
    return std::bit_cast<uint16_t>(value);
  } else {
    return std::bit_cast<uint8_t>(value);
  }
}

template <typename T>
T Operand(const Lane& lane, const Instruction& instruction, int index) {
  return As<T>(lane.registers[instruction.operands[index]]);
}

template <typename T>
void SetResult(Lane& lane, const Instruction& instruction, T value, int index = 0) {
  lane.registers[instruction.results[index]] = Bits(value);
}

// A value as a register of `bytes` holds it: sign or zero extended from its own type, cut to the
// width.
inline uint64_t CutTo(uint64_t value, int bytes) {
  return bytes == 8 ? value : value & ((uint64_t{1} << (8 * bytes)) - 1);
}

inline uint64_t Extended(uint64_t value, Type type) {
  switch (type) {
    case Type::kS8:
      return static_cast<uint64_t>(int64_t{As<int8_t>(value)});
    case Type::kS16:
      return static_cast<uint64_t>(int64_t{As<int16_t>(value)});
    case Type::kS32:
      return static_cast<uint64_t>(int64_t{As<int32_t>(value)});
    default:
      return CutTo(value, SizeBytes(type));
  }
}

}  // namespace reenact::ptx

#endif  // REENACT_TESTS_LOCAL_ENGINE_CUDA_PTX_LANE_H_
