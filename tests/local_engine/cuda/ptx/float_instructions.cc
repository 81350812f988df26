// Arithmetic in binary32, by the host's own instructions: a host rounds to nearest even and keeps
// subnormals, as the launch checks. NaN results are the host's, not the device's; profile n1 never
// looks at their bits.

#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "local_engine/numerics/operations.h"
#include "tests/local_engine/cuda/ptx/decode.h"
#include "tests/local_engine/cuda/ptx/fault.h"
#include "tests/local_engine/cuda/ptx/lane.h"

namespace reenact::ptx {
namespace {

using local_engine::add_rn;
using local_engine::div_rn;
using local_engine::fma_rn;
using local_engine::mul_rn;
using local_engine::sqrt_rn;
using local_engine::sub_rn;

template <float (*kOperation)(float, float)>
void Binary(Lane& lane, const Instruction& i) {
  SetResult(lane, i, kOperation(Operand<float>(lane, i, 0), Operand<float>(lane, i, 1)));
}

void Fma(Lane& lane, const Instruction& i) {
  SetResult(
      lane, i,
      fma_rn(Operand<float>(lane, i, 0), Operand<float>(lane, i, 1), Operand<float>(lane, i, 2)));
}

void Sqrt(Lane& lane, const Instruction& i) {
  SetResult(lane, i, sqrt_rn(Operand<float>(lane, i, 0)));
}

void Negate(Lane& lane, const Instruction& i) {
  SetResult(lane, i, Operand<uint32_t>(lane, i, 0) ^ 0x80000000u);
}

void Absolute(Lane& lane, const Instruction& i) {
  SetResult(lane, i, Operand<uint32_t>(lane, i, 0) & 0x7fffffffu);
}

// Of a value and +0, which is exactly a > 0 ? a : 0, NaN too.
void LargerThanZero(Lane& lane, const Instruction& i) {
  const float value = Operand<float>(lane, i, 0);
  SetResult(lane, i, value > 0.0f ? value : 0.0f);
}

// The compiler makes max.f32 of a select by itself where one operand is +0.
bool DecodeMaximum(Draft* draft) {
  draft->Expect(3);
  constexpr std::string_view kZero = "0f00000000";
  if (draft->operands[1] == kZero) std::swap(draft->operands[1], draft->operands[2]);
  if (draft->opcode.name() != "max" || draft->operands[2] != kZero) {
    throw Fault("it differs from a > b ? a : b for signed zeros and NaN: " + draft->opcode.text());
  }
  draft->opcode.TakeType();
  draft->TakeResultAndOperands();
  draft->instruction.execute = LargerThanZero;
  return true;
}

struct Operation {
  const char* name;
  bool rounds;
  size_t operand_count;  // The result included.
  ExecuteLane execute;
};

constexpr Operation kOperations[] = {
    {"add", true, 3, Binary<add_rn>},
    {"sub", true, 3, Binary<sub_rn>},
    {"mul", true, 3, Binary<mul_rn>},
    {"div", true, 3, Binary<div_rn>},
    {"fma", true, 4, Fma},
    {"sqrt", true, 2, Sqrt},
    {"neg", false, 2, Negate},
    {"abs", false, 2, Absolute},
};

}  // namespace

bool DecodeFloat(Draft* draft) {
  const std::string& name = draft->opcode.name();
  if ((name == "max" || name == "min") && IsFloat(Opcode(draft->opcode).TakeType())) {
    return DecodeMaximum(draft);
  }
  for (const Operation& operation : kOperations) {
    if (name != operation.name) continue;
    Opcode opcode = draft->opcode;
    const Type type = opcode.TakeType();
    if (!IsFloat(type)) return false;
    if (type != Type::kF32) throw Fault("profile n1 computes in binary32: " + opcode.text());
    if (operation.rounds) opcode.Take("rn");
    draft->opcode = opcode;
    draft->Expect(operation.operand_count);
    draft->TakeResultAndOperands();
    draft->instruction.type = type;
    draft->instruction.execute = operation.execute;
    return true;
  }
  return false;
}

}  // namespace reenact::ptx
