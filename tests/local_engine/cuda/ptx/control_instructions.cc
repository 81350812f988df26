// Branches, the barrier of a block, the end.

#include <cstdint>
#include <string>

#include "tests/local_engine/cuda/ptx/decode.h"
#include "tests/local_engine/cuda/ptx/fault.h"
#include "tests/local_engine/cuda/ptx/lane.h"

namespace reenact::ptx {
namespace {

void Branch(Lane& lane, const Instruction& i) {
  lane.next = i.target;
}

void Barrier(Lane& lane, const Instruction& i) {
  lane.state = LaneState::kAtBarrier;
  lane.barrier = Operand<uint32_t>(lane, i, 0);
}

void End(Lane& lane, const Instruction& /*i*/) {
  if (!lane.open_copies.empty() || !lane.copy_groups.empty()) {
    throw Fault("a thread ends with copies that it did not wait for");
  }
  lane.state = LaneState::kEnded;
}

void Trap(Lane& /*lane*/, const Instruction& /*i*/) {
  throw Fault("trap");
}

}  // namespace

bool DecodeControl(Draft* draft) {
  Instruction& instruction = draft->instruction;
  Opcode& opcode = draft->opcode;
  const std::string& name = opcode.name();
  if (name == "bra") {
    opcode.Take("uni");
    draft->Expect(1);
    draft->names->SetTarget(draft->operands[0]);
    instruction.execute = Branch;
  } else if ((name == "bar" || name == "barrier") && opcode.Take("sync")) {
    opcode.TakeAny({"cta", "aligned"});
    draft->Expect(1);
    draft->TakeOperands(0);
    instruction.execute = Barrier;
  } else if (name == "ret" || name == "exit") {
    instruction.execute = End;
  } else if (name == "trap") {
    instruction.execute = Trap;
  } else {
    return false;
  }
  return true;
}

}  // namespace reenact::ptx
