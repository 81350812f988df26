// Bits: logic, shifts, permutations of bytes, fields.

#include <algorithm>
#include <bit>
#include <cstdint>
#include <string>
#include <type_traits>

#include "tests/local_engine/cuda/ptx/decode.h"
#include "tests/local_engine/cuda/ptx/fault.h"
#include "tests/local_engine/cuda/ptx/lane.h"

namespace reenact::ptx {
namespace {

uint64_t Raw(const Lane& lane, const Instruction& i, int index) {
  return CutTo(lane.registers[i.operands[index]], SizeBytes(i.type));
}

void Store(Lane& lane, const Instruction& i, uint64_t value) {
  lane.registers[i.results[0]] = CutTo(value, SizeBytes(i.type));
}

void And(Lane& lane, const Instruction& i) {
  Store(lane, i, Raw(lane, i, 0) & Raw(lane, i, 1));
}

void Or(Lane& lane, const Instruction& i) {
  Store(lane, i, Raw(lane, i, 0) | Raw(lane, i, 1));
}

void Xor(Lane& lane, const Instruction& i) {
  Store(lane, i, Raw(lane, i, 0) ^ Raw(lane, i, 1));
}

void Not(Lane& lane, const Instruction& i) {
  if (i.type == Type::kPred) {
    lane.registers[i.results[0]] = Raw(lane, i, 0) == 0;
  } else {
    Store(lane, i, ~Raw(lane, i, 0));
  }
}

// Shift counts of the width or more shift everything out.
void ShiftLeft(Lane& lane, const Instruction& i) {
  const uint32_t count = Operand<uint32_t>(lane, i, 1);
  Store(lane, i, count >= 8u * SizeBytes(i.type) ? 0 : Raw(lane, i, 0) << count);
}

void ShiftRight(Lane& lane, const Instruction& i) {
  const uint32_t bits = 8u * SizeBytes(i.type);
  const uint32_t count = Operand<uint32_t>(lane, i, 1);
  if (IsSigned(i.type)) {
    const int64_t value = static_cast<int64_t>(Extended(Raw(lane, i, 0), i.type));
    Store(lane, i, static_cast<uint64_t>(value >> std::min(count, bits - 1)));
  } else {
    Store(lane, i, count >= bits ? 0 : Raw(lane, i, 0) >> count);
  }
}

// The funnel shift of high:low; choice 1 to the right, combine 1 wraps the count.
void FunnelShift(Lane& lane, const Instruction& i) {
  const uint64_t both = Operand<uint32_t>(lane, i, 0) | uint64_t{Operand<uint32_t>(lane, i, 1)}
                                                            << 32;
  uint32_t count = Operand<uint32_t>(lane, i, 2);
  count = i.combine != 0 ? count & 31 : std::min(count, 32u);
  const uint64_t shifted = i.choice != 0 ? both >> count : (both << count) >> 32;
  SetResult(lane, i, static_cast<uint32_t>(shifted));
}

void PermuteBytes(Lane& lane, const Instruction& i) {
  const uint64_t bytes = Operand<uint32_t>(lane, i, 0) | uint64_t{Operand<uint32_t>(lane, i, 1)}
                                                             << 32;
  const uint32_t selectors = Operand<uint32_t>(lane, i, 2);
  uint32_t result = 0;
  for (int at = 0; at < 4; ++at) {
    const uint32_t selector = (selectors >> (4 * at)) & 15;
    uint32_t byte = static_cast<uint32_t>(bytes >> (8 * (selector & 7))) & 0xff;
    if ((selector & 8) != 0) byte = (byte & 0x80) != 0 ? 0xff : 0;
    result |= byte << (8 * at);
  }
  SetResult(lane, i, result);
}

uint64_t FieldMask(uint32_t length) {
  return length >= 64 ? ~uint64_t{0} : (uint64_t{1} << length) - 1;
}

void InsertField(Lane& lane, const Instruction& i) {
  const uint32_t position = Operand<uint32_t>(lane, i, 2) & 255;
  const uint32_t length = Operand<uint32_t>(lane, i, 3) & 255;
  const uint64_t base = Raw(lane, i, 1);
  if (position >= 8u * SizeBytes(i.type)) return Store(lane, i, base);
  const uint64_t mask = FieldMask(length) << position;
  Store(lane, i, (base & ~mask) | ((Raw(lane, i, 0) << position) & mask));
}

void ExtractField(Lane& lane, const Instruction& i) {
  const uint32_t bits = 8u * SizeBytes(i.type);
  const uint32_t position = Operand<uint32_t>(lane, i, 1) & 255;
  const uint32_t length = Operand<uint32_t>(lane, i, 2) & 255;
  const uint64_t value = Raw(lane, i, 0);
  uint64_t field = position >= bits ? 0 : (value >> position) & FieldMask(length);
  if (IsSigned(i.type) && length != 0) {
    const uint32_t sign_at = std::min(position + length - 1, bits - 1);
    const bool negative = ((value >> sign_at) & 1) != 0;
    const uint32_t held = sign_at >= position ? sign_at - position + 1 : 0;
    if (negative) field |= ~FieldMask(held);
  }
  Store(lane, i, field);
}

void CountOnes(Lane& lane, const Instruction& i) {
  SetResult(lane, i, static_cast<uint32_t>(std::popcount(Raw(lane, i, 0))));
}

void CountLeadingZeros(Lane& lane, const Instruction& i) {
  const int unused = 64 - 8 * SizeBytes(i.type);
  SetResult(lane, i, static_cast<uint32_t>(std::countl_zero(Raw(lane, i, 0)) - unused));
}

void ReverseBits(Lane& lane, const Instruction& i) {
  uint64_t result = 0;
  const int bits = 8 * SizeBytes(i.type);
  for (int bit = 0; bit < bits; ++bit) result |= ((Raw(lane, i, 0) >> bit) & 1) << (bits - 1 - bit);
  Store(lane, i, result);
}

// Any function of three bits: the table's bit a b c.
void ThreeInputLogic(Lane& lane, const Instruction& i) {
  const uint32_t a = Operand<uint32_t>(lane, i, 0);
  const uint32_t b = Operand<uint32_t>(lane, i, 1);
  const uint32_t c = Operand<uint32_t>(lane, i, 2);
  const uint32_t table = Operand<uint32_t>(lane, i, 3);
  uint32_t result = 0;
  for (int bit = 0; bit < 32; ++bit) {
    const uint32_t row = ((a >> bit) & 1) << 2 | ((b >> bit) & 1) << 1 | ((c >> bit) & 1);
    result |= ((table >> row) & 1) << bit;
  }
  SetResult(lane, i, result);
}

struct Operation {
  const char* name;
  size_t operand_count;
  ExecuteLane execute;
};

constexpr Operation kOperations[] = {
    {"and", 3, And},          {"or", 3, Or},
    {"xor", 3, Xor},          {"not", 2, Not},
    {"shl", 3, ShiftLeft},    {"shr", 3, ShiftRight},
    {"shf", 4, FunnelShift},  {"prmt", 4, PermuteBytes},
    {"bfi", 5, InsertField},  {"bfe", 4, ExtractField},
    {"popc", 2, CountOnes},   {"clz", 2, CountLeadingZeros},
    {"brev", 2, ReverseBits}, {"lop3", 5, ThreeInputLogic},
};

}  // namespace

bool DecodeBits(Draft* draft) {
  for (const Operation& operation : kOperations) {
    if (draft->opcode.name() != operation.name) continue;
    Instruction& instruction = draft->instruction;
    instruction.type = draft->opcode.TakeType();
    if (operation.execute == FunnelShift) {
      instruction.choice = draft->opcode.Take("r");
      if (instruction.choice == 0) draft->opcode.Take("l");
      instruction.combine = draft->opcode.Take("wrap");
      if (instruction.combine == 0) draft->opcode.Take("clamp");
    }
    draft->Expect(operation.operand_count);
    draft->TakeResultAndOperands();
    if (instruction.last_operand_negated) throw Fault("\"!\" in " + draft->opcode.text());
    instruction.execute = operation.execute;
    return true;
  }
  return false;
}

}  // namespace reenact::ptx
