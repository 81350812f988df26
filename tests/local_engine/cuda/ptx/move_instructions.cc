// Moves: registers, parts of registers, addresses between spaces.

#include <cstddef>
#include <cstdint>
#include <string>

#include "tests/local_engine/cuda/ptx/decode.h"
#include "tests/local_engine/cuda/ptx/fault.h"
#include "tests/local_engine/cuda/ptx/lane.h"

namespace reenact::ptx {
namespace {

void Copy(Lane& lane, const Instruction& i) {
  lane.registers[i.results[0]] = CutTo(lane.registers[i.operands[0]], SizeBytes(i.type));
}

// mov.b32 {%rs1, %rs2}, %r1: the low part first.
void Unpack(Lane& lane, const Instruction& i) {
  const int part_bytes = SizeBytes(i.type) / i.vector;
  const uint64_t value = lane.registers[i.operands[0]];
  for (int part = 0; part < i.vector; ++part) {
    lane.registers[i.results[part]] = CutTo(value >> (8 * part_bytes * part), part_bytes);
  }
}

void Pack(Lane& lane, const Instruction& i) {
  const int part_bytes = SizeBytes(i.type) / i.vector;
  uint64_t value = 0;
  for (int part = 0; part < i.vector; ++part) {
    value |= CutTo(lane.registers[i.operands[part]], part_bytes) << (8 * part_bytes * part);
  }
  lane.registers[i.results[0]] = value;
}

uint64_t WindowOf(Space space) {
  if (space == Space::kShared) return kSharedWindow;
  return space == Space::kLocal ? kLocalWindow : 0;
}

void ToGeneric(Lane& lane, const Instruction& i) {
  lane.registers[i.results[0]] = lane.registers[i.operands[0]] | WindowOf(i.space);
}

void FromGeneric(Lane& lane, const Instruction& i) {
  const uint64_t address = lane.registers[i.operands[0]];
  if ((address & kWindowMask) != WindowOf(i.space)) {
    throw Fault("a generic address is of another space");
  }
  lane.registers[i.results[0]] = address & ~kWindowMask;
}

Space TakeSpace(Opcode* opcode) {
  if (opcode->Take("global")) return Space::kGlobal;
  if (opcode->Take("const")) return Space::kConstant;
  if (opcode->Take("shared")) return Space::kShared;
  if (opcode->Take("shared::cta")) return Space::kShared;
  if (opcode->Take("local")) return Space::kLocal;
  if (opcode->Take("param")) return Space::kParameter;
  throw Fault("an unknown space: " + opcode->text());
}

bool DecodeMov(Draft* draft) {
  Instruction& instruction = draft->instruction;
  instruction.type = draft->opcode.TakeType();
  draft->Expect(2);
  if (draft->operands[0].front() == '{') {
    instruction.vector = static_cast<uint8_t>(draft->TakeResults(draft->operands[0]));
    draft->TakeSources(draft->operands[1], 0);
    instruction.execute = Unpack;
  } else if (draft->operands[1].front() == '{') {
    draft->TakeResult();
    instruction.vector = static_cast<uint8_t>(draft->TakeSources(draft->operands[1], 0));
    instruction.execute = Pack;
  } else {
    draft->TakeResultAndOperands();
    instruction.execute = Copy;
  }
  return true;
}

}  // namespace

bool DecodeMove(Draft* draft) {
  const std::string& name = draft->opcode.name();
  if (name == "mov") return DecodeMov(draft);
  if (name != "cvta") return false;
  Instruction& instruction = draft->instruction;
  instruction.type = draft->opcode.TakeType();
  const bool from_generic = draft->opcode.Take("to");
  instruction.space = TakeSpace(&draft->opcode);
  draft->Expect(2);
  draft->TakeResultAndOperands();
  instruction.execute = from_generic ? FromGeneric : ToGeneric;
  if (instruction.space == Space::kParameter) instruction.execute = Copy;
  return true;
}

}  // namespace reenact::ptx
