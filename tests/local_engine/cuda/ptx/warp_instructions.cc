// Exchanges between the lanes of a warp. They run when every lane of the mask has arrived at the
// same instruction.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/local_engine/cuda/ptx/decode.h"
#include "tests/local_engine/cuda/ptx/fault.h"
#include "tests/local_engine/cuda/ptx/lane.h"

namespace reenact::ptx {
namespace {

enum Shuffle : uint8_t { kUp, kDown, kButterfly, kIndex };

enum Reduction : uint8_t { kAdd, kMinimum, kMaximum, kAnd, kOr, kXor };

enum Vote : uint8_t { kBallot, kAll, kAny, kUniform };

// The lane that `lane` reads from, and whether that is within its segment.
// Source: PTX ISA, shfl.sync.
struct ShuffleSource {
  uint32_t lane = 0;
  bool in_segment = false;
};

ShuffleSource SourceOf(const Lane& reader, const Instruction& i, uint32_t lane) {
  const uint32_t by = Operand<uint32_t>(reader, i, 1) & 31;
  const uint32_t clamp_and_mask = Operand<uint32_t>(reader, i, 2);
  const uint32_t clamp = clamp_and_mask & 31;
  const uint32_t segment = (clamp_and_mask >> 8) & 31;
  const int highest = static_cast<int>((lane & segment) | (clamp & ~segment));
  const uint32_t lowest = lane & segment;
  int from = 0;
  bool in_segment = false;
  switch (i.choice) {
    case kUp:
      from = static_cast<int>(lane) - static_cast<int>(by);
      in_segment = from >= highest;
      break;
    case kDown:
      from = static_cast<int>(lane + by);
      in_segment = from <= highest;
      break;
    case kButterfly:
      from = static_cast<int>(lane ^ by);
      in_segment = from <= highest;
      break;
    default:
      from = static_cast<int>(lowest | (by & ~segment));
      in_segment = from <= highest;
  }
  return {in_segment ? static_cast<uint32_t>(from) : lane, in_segment};
}

void ShuffleLanes(Warp& warp, const Instruction& i) {
  std::array<uint32_t, 32> values = {};
  warp.Each([&](uint32_t at, Lane& lane) { values[at] = Operand<uint32_t>(lane, i, 0); });
  warp.Each([&](uint32_t at, Lane& lane) {
    const ShuffleSource source = SourceOf(lane, i, at);
    if (!warp.Has(source.lane)) throw Fault("a shuffle from a lane that takes no part in it");
    SetResult(lane, i, values[source.lane]);
    if (i.results[1] != kNoSlot) lane.registers[i.results[1]] = source.in_segment;
  });
}

uint32_t Reduced(uint8_t reduction, bool is_signed, uint32_t a, uint32_t b) {
  const bool a_smaller = is_signed ? static_cast<int32_t>(a) < static_cast<int32_t>(b) : a < b;
  switch (reduction) {
    case kAdd:
      return a + b;
    case kMinimum:
      return a_smaller ? a : b;
    case kMaximum:
      return a_smaller ? b : a;
    case kAnd:
      return a & b;
    case kOr:
      return a | b;
    default:
      return a ^ b;
  }
}

void ReduceLanes(Warp& warp, const Instruction& i) {
  bool first = true;
  uint32_t total = 0;
  warp.Each([&](uint32_t, Lane& lane) {
    const uint32_t value = Operand<uint32_t>(lane, i, 0);
    total = first ? value : Reduced(i.choice, IsSigned(i.type), total, value);
    first = false;
  });
  warp.Each([&](uint32_t, Lane& lane) { SetResult(lane, i, total); });
}

void VoteOfLanes(Warp& warp, const Instruction& i) {
  uint32_t ballot = 0;
  warp.Each([&](uint32_t at, Lane& lane) {
    const bool value = ((lane.registers[i.operands[0]] & 1) != 0) != (i.combine != 0);
    ballot |= uint32_t{value} << at;
  });
  const bool all = ballot == warp.mask;
  const uint64_t result = i.choice == kBallot ? ballot
                          : i.choice == kAll  ? all
                          : i.choice == kAny  ? ballot != 0
                                              : all || ballot == 0;
  warp.Each([&](uint32_t, Lane& lane) { lane.registers[i.results[0]] = result; });
}

void Synchronise(Warp& /*warp*/, const Instruction& /*i*/) {}

template <size_t kCount>
uint8_t TakeOneOf(Opcode* opcode, const std::array<const char*, kCount>& names) {
  const auto found = std::find_if(names.begin(), names.end(),
                                  [&](const char* name) { return opcode->Take(name); });
  if (found == names.end()) throw Fault("an unknown variant: " + opcode->text());
  return static_cast<uint8_t>(found - names.begin());
}

void DecodeShuffle(Draft* draft) {
  Instruction& instruction = draft->instruction;
  instruction.choice = TakeOneOf<4>(&draft->opcode, {"up", "down", "bfly", "idx"});
  draft->Expect(5);
  const std::vector<std::string> results = SplitOperands(draft->operands[0], '|');
  for (size_t i = 0; i < results.size() && i < 2; ++i) {
    instruction.results[i] = draft->names->SlotOf(results[i]);
  }
  draft->TakeOperands(1);
  instruction.mask = instruction.operands[3];
  instruction.execute_warp = ShuffleLanes;
}

void DecodeVote(Draft* draft) {
  Instruction& instruction = draft->instruction;
  instruction.choice = TakeOneOf<4>(&draft->opcode, {"ballot", "all", "any", "uni"});
  draft->Expect(3);
  instruction.combine = draft->operands[1].front() == '!';
  if (instruction.combine != 0) draft->operands[1].erase(0, 1);
  draft->TakeResultAndOperands();
  instruction.mask = instruction.operands[1];
  instruction.execute_warp = VoteOfLanes;
}

}  // namespace

bool DecodeWarp(Draft* draft) {
  Instruction& instruction = draft->instruction;
  Opcode& opcode = draft->opcode;
  const std::string& name = opcode.name();
  if (name == "bar" && opcode.Take("warp")) {
    opcode.Take("sync");
    draft->Expect(1);
    draft->TakeOperands(0);
    instruction.mask = instruction.operands[0];
    instruction.execute_warp = Synchronise;
    return true;
  }
  if (name != "shfl" && name != "redux" && name != "vote") return false;
  if (!opcode.Take("sync")) throw Fault("without .sync: " + opcode.text());
  instruction.type = opcode.TakeType();
  if (name == "shfl") {
    DecodeShuffle(draft);
  } else if (name == "vote") {
    DecodeVote(draft);
  } else {
    instruction.choice = TakeOneOf<6>(&opcode, {"add", "min", "max", "and", "or", "xor"});
    draft->Expect(3);
    draft->TakeResultAndOperands();
    instruction.mask = instruction.operands[1];
    instruction.execute_warp = ReduceLanes;
  }
  return true;
}

}  // namespace reenact::ptx
