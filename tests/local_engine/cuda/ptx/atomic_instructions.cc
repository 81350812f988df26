// Integer atomics: what they leave has no order. Those of floats are refused with the opcode.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "tests/local_engine/cuda/ptx/addresses.h"
#include "tests/local_engine/cuda/ptx/decode.h"
#include "tests/local_engine/cuda/ptx/fault.h"
#include "tests/local_engine/cuda/ptx/lane.h"

namespace reenact::ptx {
namespace {

enum Update : uint8_t { kAdd, kMinimum, kMaximum, kAnd, kOr, kXor, kExchange, kCompareAndSwap };

constexpr std::string_view kUpdates[] = {"add", "min", "max", "and", "or", "xor", "exch", "cas"};

uint64_t Updated(const Instruction& i, uint64_t old, uint64_t operand, uint64_t other) {
  const auto smaller = [&](uint64_t a, uint64_t b) {
    return IsSigned(i.type) ? static_cast<int64_t>(Extended(a, i.type)) <
                                  static_cast<int64_t>(Extended(b, i.type))
                            : a < b;
  };
  switch (i.choice) {
    case kAdd:
      return old + operand;
    case kMinimum:
      return smaller(operand, old) ? operand : old;
    case kMaximum:
      return smaller(old, operand) ? operand : old;
    case kAnd:
      return old & operand;
    case kOr:
      return old | operand;
    case kXor:
      return old ^ operand;
    case kExchange:
      return operand;
    default:
      return old == operand ? other : old;
  }
}

void Atomic(Lane& lane, const Instruction& i) {
  Space space = i.space;
  const uint64_t address = AddressOf(lane, i, 0, &space);
  const size_t size_bytes = static_cast<size_t>(SizeBytes(i.type));
  Block& block = *lane.block;
  std::byte* place = space == Space::kShared ? block.shared->Update(address, size_bytes, lane.Now())
                                             : block.global->Update(address, size_bytes);
  uint64_t old = 0;
  std::memcpy(&old, place, size_bytes);
  const int width = static_cast<int>(size_bytes);
  const uint64_t operand = CutTo(lane.registers[i.operands[1]], width);
  const uint64_t value = Updated(i, old, operand, CutTo(lane.registers[i.operands[2]], width));
  std::memcpy(place, &value, size_bytes);
  if (i.results[0] != kNoSlot) lane.registers[i.results[0]] = old;
}

}  // namespace

bool DecodeAtomic(Draft* draft) {
  Opcode& opcode = draft->opcode;
  const bool returns = opcode.name() == "atom";
  if (!returns && opcode.name() != "red") return false;
  Instruction& instruction = draft->instruction;
  instruction.type = opcode.TakeType();
  instruction.space = TakeSpaceModifier(&opcode);
  opcode.TakeAny({"relaxed", "acquire", "release", "acq_rel", "cta", "gpu", "sys"});
  const auto* update = std::find_if(std::begin(kUpdates), std::end(kUpdates),
                                    [&](std::string_view name) { return opcode.Take(name); });
  if (update == std::end(kUpdates)) throw Fault("an unknown atomic: " + opcode.text());
  instruction.choice = static_cast<uint8_t>(update - std::begin(kUpdates));
  const size_t first = returns ? 1 : 0;
  if (draft->operands.size() < first + 2) throw Fault("too few operands: " + opcode.text());
  if (returns) draft->TakeResult();
  draft->TakeAddress(draft->operands[first], 0);
  for (size_t i = first + 1; i < draft->operands.size(); ++i) {
    draft->TakeSources(draft->operands[i], i - first);
  }
  instruction.execute = Atomic;
  return true;
}

}  // namespace reenact::ptx
