// cp.async: copies to shared memory that go on while the thread computes. Nothing is copied before
// the thread waits, the latest that a device may do it, so that a wait too few is a read of what is
// not there.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "tests/local_engine/cuda/ptx/addresses.h"
#include "tests/local_engine/cuda/ptx/decode.h"
#include "tests/local_engine/cuda/ptx/fault.h"
#include "tests/local_engine/cuda/ptx/lane.h"

namespace reenact::ptx {
namespace {

// [to], [from], size, and the bytes that are copied (the rest is zeros).
void Begin(Lane& lane, const Instruction& i) {
  PendingCopy copy;
  copy.to = lane.registers[i.operands[0]] + static_cast<uint64_t>(i.offset);
  copy.from = lane.registers[i.operands[1]] + lane.registers[i.operands[4]];
  copy.size_bytes = Operand<uint8_t>(lane, i, 2);
  copy.copied_bytes = i.choice != 0 ? Operand<uint8_t>(lane, i, 3) : copy.size_bytes;
  if (copy.copied_bytes > copy.size_bytes) throw Fault("cp.async copies more than its size");
  lane.open_copies.push_back(copy);
}

void Complete(Lane& lane, const std::vector<PendingCopy>& copies) {
  for (const PendingCopy& copy : copies) {
    std::byte* to = WriteTo(lane, Space::kShared, copy.to, copy.size_bytes);
    std::memset(to, 0, copy.size_bytes);
    if (copy.copied_bytes == 0) continue;
    if (copy.from % copy.size_bytes != 0) throw Fault("misaligned source of cp.async");
    for (uint8_t at = 0; at < copy.copied_bytes; ++at) {
      to[at] = *ReadFrom(lane, Space::kGlobal, copy.from + at, 1, false);
    }
  }
}

void Commit(Lane& lane, const Instruction& /*i*/) {
  lane.copy_groups.push_back(std::move(lane.open_copies));
  lane.open_copies.clear();
}

void WaitForGroups(Lane& lane, const Instruction& i) {
  const size_t may_remain = lane.registers[i.operands[0]];
  while (lane.copy_groups.size() > may_remain) {
    Complete(lane, lane.copy_groups.front());
    lane.copy_groups.erase(lane.copy_groups.begin());
  }
}

void WaitForAll(Lane& lane, const Instruction& /*i*/) {
  for (const std::vector<PendingCopy>& group : lane.copy_groups) Complete(lane, group);
  Complete(lane, lane.open_copies);
  lane.copy_groups.clear();
  lane.open_copies.clear();
}

void DecodeBegin(Draft* draft) {
  Opcode& opcode = draft->opcode;
  opcode.TakeAny({"ca", "cg", "global"});
  if (!opcode.Take("shared") && !opcode.Take("shared::cta"))
    throw Fault("unknown: " + opcode.text());
  opcode.TakeWithPrefix("L2::");
  Instruction& instruction = draft->instruction;
  const bool has_count = draft->operands.size() == 4;
  draft->Expect(has_count ? 4 : 3);
  draft->TakeAddress(draft->operands[1], 1);
  instruction.operands[4] = draft->names->ConstantSlot(static_cast<uint64_t>(instruction.offset));
  draft->TakeAddress(draft->operands[0], 0);
  draft->TakeSources(draft->operands[2], 2);
  instruction.choice = has_count;
  if (has_count) draft->TakeSources(draft->operands[3], 3);
  instruction.execute = Begin;
}

}  // namespace

bool DecodeAsyncCopy(Draft* draft) {
  Opcode& opcode = draft->opcode;
  if (opcode.name() != "cp" || !opcode.Take("async")) return false;
  if (opcode.Take("commit_group")) {
    draft->instruction.execute = Commit;
  } else if (opcode.Take("wait_group")) {
    draft->TakeOperands(0);
    draft->instruction.execute = WaitForGroups;
  } else if (opcode.Take("wait_all")) {
    draft->instruction.execute = WaitForAll;
  } else {
    DecodeBegin(draft);
  }
  return true;
}

}  // namespace reenact::ptx
