// cvt: between integers; from integers to binary32, rounded to nearest; from binary32 to integers;
// exact widening of binary16 and bfloat16. Narrowing floats is written with integers in profile n1,
// and refused here.

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>

#include "local_engine/numerics/narrow_floats.h"
#include "tests/local_engine/cuda/ptx/decode.h"
#include "tests/local_engine/cuda/ptx/fault.h"
#include "tests/local_engine/cuda/ptx/lane.h"

namespace reenact::ptx {
namespace {

enum ToInteger : uint8_t { kTruncate, kNearest, kDown, kUp };

// Sign or zero extended from the source, cut to the result, and extended again where the register
// is wider.
void BetweenIntegers(Lane& lane, const Instruction& i) {
  const uint64_t source = Extended(lane.registers[i.operands[0]], i.source_type);
  lane.registers[i.results[0]] = CutTo(Extended(source, i.type), i.result_bytes);
}

void IntegerToFloat(Lane& lane, const Instruction& i) {
  const uint64_t source = Extended(lane.registers[i.operands[0]], i.source_type);
  SetResult(lane, i,
            IsSigned(i.source_type) ? static_cast<float>(static_cast<int64_t>(source))
                                    : static_cast<float>(source));
}

double Rounded(float value, uint8_t choice) {
  switch (choice) {
    case kNearest:
      return std::nearbyint(value);
    case kDown:
      return std::floor(value);
    case kUp:
      return std::ceil(value);
    default:
      return std::trunc(value);
  }
}

// What does not fit becomes the nearest value that does; NaN becomes 0.
template <typename T>
T Clamped(double value) {
  if (std::isnan(value)) return 0;
  if (value <= static_cast<double>(std::numeric_limits<T>::min()))
    return std::numeric_limits<T>::min();
  if (value >= static_cast<double>(std::numeric_limits<T>::max()))
    return std::numeric_limits<T>::max();
  return static_cast<T>(value);
}

template <typename T>
void FloatToInteger(Lane& lane, const Instruction& i) {
  SetResult(lane, i, Clamped<T>(Rounded(Operand<float>(lane, i, 0), i.choice)));
}

void WidenF16(Lane& lane, const Instruction& i) {
  SetResult(lane, i, local_engine::widen_fp16(Operand<uint16_t>(lane, i, 0)));
}

void WidenBf16(Lane& lane, const Instruction& i) {
  SetResult(lane, i, uint32_t{Operand<uint16_t>(lane, i, 0)} << 16);
}

ExecuteLane ToIntegerOf(Type type) {
  switch (type) {
    case Type::kS32:
      return FloatToInteger<int32_t>;
    case Type::kU32:
      return FloatToInteger<uint32_t>;
    case Type::kS64:
      return FloatToInteger<int64_t>;
    case Type::kU64:
      return FloatToInteger<uint64_t>;
    default:
      return nullptr;
  }
}

ExecuteLane ToFloat(Draft* draft, Type source) {
  if (source == Type::kF16) return WidenF16;
  if (source == Type::kBf16) return WidenBf16;
  return !IsFloat(source) && draft->opcode.Take("rn") ? IntegerToFloat : nullptr;
}

ExecuteLane Conversion(Draft* draft, Type type, Type source) {
  if (type == Type::kF32) return ToFloat(draft, source);
  if (!IsFloat(type) && !IsFloat(source)) return BetweenIntegers;
  if (source != Type::kF32 || IsFloat(type)) return nullptr;
  Opcode& opcode = draft->opcode;
  uint8_t& choice = draft->instruction.choice;
  if (opcode.Take("rni"))
    choice = kNearest;
  else if (opcode.Take("rmi"))
    choice = kDown;
  else if (opcode.Take("rpi"))
    choice = kUp;
  else if (opcode.Take("rzi"))
    choice = kTruncate;
  else
    return nullptr;
  return ToIntegerOf(type);
}

}  // namespace

bool DecodeConversion(Draft* draft) {
  if (draft->opcode.name() != "cvt") return false;
  Instruction& instruction = draft->instruction;
  instruction.source_type = draft->opcode.TakeType();
  instruction.type = draft->opcode.TakeType();
  draft->Expect(2);
  draft->TakeResultAndOperands();
  instruction.execute = Conversion(draft, instruction.type, instruction.source_type);
  if (instruction.execute == nullptr) {
    throw Fault("a conversion that profile n1 does not have: " + draft->opcode.text());
  }
  return true;
}

}  // namespace reenact::ptx
