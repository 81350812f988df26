// setp and selp.

#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>

#include "tests/local_engine/cuda/ptx/decode.h"
#include "tests/local_engine/cuda/ptx/fault.h"
#include "tests/local_engine/cuda/ptx/lane.h"

namespace reenact::ptx {
namespace {

enum Comparison : uint8_t {
  kEqual,
  kNotEqual,
  kLess,
  kLessEqual,
  kGreater,
  kGreaterEqual,
  kOrdered,
  kUnordered
};

enum Combine : uint8_t { kAlone, kAnd, kOr, kXor };

// With "u" after it: also true when an operand is NaN.
constexpr uint8_t kOrUnordered = 16;

struct ComparisonName {
  std::string_view text;
  uint8_t choice;
};

constexpr ComparisonName kNames[] = {
    {"eq", kEqual},
    {"ne", kNotEqual},
    {"lt", kLess},
    {"le", kLessEqual},
    {"gt", kGreater},
    {"ge", kGreaterEqual},
    {"lo", kLess},
    {"ls", kLessEqual},
    {"hi", kGreater},
    {"hs", kGreaterEqual},
    {"equ", kEqual | kOrUnordered},
    {"neu", kNotEqual | kOrUnordered},
    {"ltu", kLess | kOrUnordered},
    {"leu", kLessEqual | kOrUnordered},
    {"gtu", kGreater | kOrUnordered},
    {"geu", kGreaterEqual | kOrUnordered},
    {"num", kOrdered},
    {"nan", kUnordered},
};

template <typename T>
bool Holds(uint8_t choice, T a, T b) {
  switch (choice) {
    case kEqual:
      return a == b;
    case kNotEqual:
      return a != b;
    case kLess:
      return a < b;
    case kLessEqual:
      return a <= b;
    case kGreater:
      return a > b;
    case kGreaterEqual:
      return a >= b;
    default:
      return choice == kOrdered;
  }
}

template <typename T>
bool Compare(uint8_t choice, T a, T b) {
  if constexpr (std::is_same_v<T, float>) {
    const uint8_t plain = static_cast<uint8_t>(choice & ~kOrUnordered);
    if (std::isnan(a) || std::isnan(b)) return choice != plain || choice == kUnordered;
    return Holds(plain, a, b);
  } else {
    return Holds(choice, a, b);
  }
}

bool Combined(bool result, const Lane& lane, const Instruction& i) {
  if (i.combine == kAlone) return result;
  const bool other = ((lane.registers[i.operands[2]] & 1) != 0) != i.last_operand_negated;
  if (i.combine == kAnd) return result && other;
  return i.combine == kOr ? result || other : result != other;
}

template <typename T>
void SetPredicate(Lane& lane, const Instruction& i) {
  const bool holds = Compare(i.choice, Operand<T>(lane, i, 0), Operand<T>(lane, i, 1));
  lane.registers[i.results[0]] = Combined(holds, lane, i);
  if (i.results[1] != kNoSlot) lane.registers[i.results[1]] = Combined(!holds, lane, i);
}

ExecuteLane SetPredicateOf(Type type) {
  switch (type) {
    case Type::kS16:
      return SetPredicate<int16_t>;
    case Type::kU16:
    case Type::kB16:
      return SetPredicate<uint16_t>;
    case Type::kS32:
      return SetPredicate<int32_t>;
    case Type::kU32:
    case Type::kB32:
      return SetPredicate<uint32_t>;
    case Type::kS64:
      return SetPredicate<int64_t>;
    case Type::kU64:
    case Type::kB64:
      return SetPredicate<uint64_t>;
    case Type::kF32:
      return SetPredicate<float>;
    default:
      return nullptr;
  }
}

void Select(Lane& lane, const Instruction& i) {
  const bool first = ((lane.registers[i.operands[2]] & 1) != 0) != i.last_operand_negated;
  lane.registers[i.results[0]] =
      CutTo(lane.registers[i.operands[first ? 0 : 1]], SizeBytes(i.type));
}

bool DecodeSetp(Draft* draft) {
  Instruction& instruction = draft->instruction;
  Opcode& opcode = draft->opcode;
  instruction.type = opcode.TakeType();
  instruction.combine = opcode.Take("and")   ? kAnd
                        : opcode.Take("or")  ? kOr
                        : opcode.Take("xor") ? kXor
                                             : kAlone;
  bool known = false;
  for (const ComparisonName& name : kNames) {
    if (known || !opcode.Take(name.text)) continue;
    instruction.choice = name.choice;
    known = true;
  }
  instruction.execute = known ? SetPredicateOf(instruction.type) : nullptr;
  if (instruction.execute == nullptr) throw Fault("an unknown comparison: " + opcode.text());
  draft->Expect(instruction.combine == kAlone ? 3 : 4);
  const std::vector<std::string> results = SplitOperands(draft->operands[0], '|');
  for (size_t i = 0; i < results.size() && i < 2; ++i) {
    instruction.results[i] = draft->names->SlotOf(results[i]);
  }
  draft->TakeOperands(1);
  return true;
}

}  // namespace

bool DecodeComparison(Draft* draft) {
  if (draft->opcode.name() == "setp") return DecodeSetp(draft);
  if (draft->opcode.name() != "selp") return false;
  draft->instruction.type = draft->opcode.TakeType();
  draft->Expect(4);
  draft->TakeResultAndOperands();
  draft->instruction.execute = Select;
  return true;
}

}  // namespace reenact::ptx
