// Loads and stores.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

#include "tests/local_engine/cuda/ptx/addresses.h"
#include "tests/local_engine/cuda/ptx/decode.h"
#include "tests/local_engine/cuda/ptx/fault.h"
#include "tests/local_engine/cuda/ptx/lane.h"

namespace reenact::ptx {
namespace {

constexpr std::byte kWritten{1};

void CheckLocal(const Lane& lane, uint64_t address, size_t size_bytes) {
  if (address + size_bytes > lane.local.size()) throw Fault("outside local memory");
  if (address % size_bytes != 0) throw Fault("misaligned in local memory");
}

void Load(Lane& lane, const Instruction& i) {
  Space space = i.space;
  const uint64_t address = AddressOf(lane, i, 0, &space);
  const size_t part_bytes = static_cast<size_t>(SizeBytes(i.type));
  const std::byte* from = ReadFrom(lane, space, address, part_bytes * i.vector, i.read_only);
  for (int part = 0; part < i.vector; ++part) {
    uint64_t value = 0;
    std::memcpy(&value, from + part_bytes * part, part_bytes);
    lane.registers[i.results[part]] = CutTo(Extended(value, i.type), i.result_bytes);
  }
}

void StoreParts(Lane& lane, const Instruction& i) {
  Space space = i.space;
  const uint64_t address = AddressOf(lane, i, 0, &space);
  const size_t part_bytes = static_cast<size_t>(SizeBytes(i.type));
  std::byte* to = WriteTo(lane, space, address, part_bytes * i.vector);
  for (int part = 0; part < i.vector; ++part) {
    std::memcpy(to + part_bytes * part, &lane.registers[i.operands[1 + part]], part_bytes);
  }
}

void Nothing(Lane& /*lane*/, const Instruction& /*i*/) {}

// What changes how caches work, and no value.
void TakeCacheModifiers(Opcode* opcode) {
  opcode->TakeAny({"ca", "cg", "cs", "lu", "cv", "wb", "wt", "weak", "volatile", "relaxed",
                   "acquire", "release", "cta", "gpu", "sys", "cluster"});
  for (std::string_view prefix : {"L1::", "L2::"}) opcode->TakeWithPrefix(prefix);
}

bool DecodeAccess(Draft* draft, bool load) {
  Instruction& instruction = draft->instruction;
  Opcode& opcode = draft->opcode;
  instruction.type = opcode.TakeType();
  instruction.space = TakeSpaceModifier(&opcode);
  instruction.read_only = opcode.Take("nc");
  TakeCacheModifiers(&opcode);
  const bool pair = opcode.Take("v2");
  const bool four = opcode.Take("v4");
  instruction.vector = pair ? 2 : four ? 4 : 1;
  draft->Expect(2);
  const size_t parts =
      load ? draft->TakeResults(draft->operands[0]) : draft->TakeSources(draft->operands[1], 1);
  if (parts != instruction.vector) throw Fault("a list of another length: " + opcode.text());
  draft->TakeAddress(draft->operands[load ? 1 : 0], 0);
  instruction.execute = load ? Load : StoreParts;
  return true;
}

}  // namespace

uint64_t AddressOf(const Lane& lane, const Instruction& instruction, int operand, Space* space) {
  const uint64_t address =
      lane.registers[instruction.operands[operand]] + static_cast<uint64_t>(instruction.offset);
  if (*space != Space::kGeneric) return address;
  *space = Space::kGlobal;
  if ((address & kWindowMask) == kSharedWindow) *space = Space::kShared;
  if ((address & kWindowMask) == kLocalWindow) *space = Space::kLocal;
  return address & ~kWindowMask;
}

const std::byte* ReadFrom(Lane& lane, Space space, uint64_t address, size_t size_bytes,
                          bool read_only) {
  const Block& block = *lane.block;
  switch (space) {
    case Space::kShared:
      return block.shared->Read(address, size_bytes, lane.Now());
    case Space::kLocal: {
      CheckLocal(lane, address, size_bytes);
      const auto written = lane.local_written.subspan(address, size_bytes);
      if (std::find(written.begin(), written.end(), std::byte{0}) != written.end()) {
        throw Fault("local memory read before it was written");
      }
      return lane.local.data() + address;
    }
    case Space::kParameter:
      if (address + size_bytes > block.parameters.size()) throw Fault("outside the parameters");
      return block.parameters.data() + address;
    default:
      return block.global->Read(address, size_bytes, block.index, read_only);
  }
}

std::byte* WriteTo(Lane& lane, Space space, uint64_t address, size_t size_bytes) {
  const Block& block = *lane.block;
  switch (space) {
    case Space::kShared:
      return block.shared->Write(address, size_bytes, lane.Now());
    case Space::kLocal:
      CheckLocal(lane, address, size_bytes);
      std::fill_n(lane.local_written.begin() + static_cast<std::ptrdiff_t>(address), size_bytes,
                  kWritten);
      return lane.local.data() + address;
    case Space::kGlobal:
      return block.global->Write(address, size_bytes, block.index);
    default:
      throw Fault("a store into a space that is only read");
  }
}

Space TakeSpaceModifier(Opcode* opcode) {
  if (opcode->Take("global")) return Space::kGlobal;
  if (opcode->Take("shared") || opcode->Take("shared::cta")) return Space::kShared;
  if (opcode->Take("local")) return Space::kLocal;
  if (opcode->Take("const")) return Space::kConstant;
  return opcode->Take("param") ? Space::kParameter : Space::kGeneric;
}

bool DecodeMemory(Draft* draft) {
  const std::string& name = draft->opcode.name();
  if (name == "ld" || name == "ldu") return DecodeAccess(draft, true);
  if (name == "st") return DecodeAccess(draft, false);
  // Lanes act one after the other, and every access is seen at once: fences order nothing more.
  if (name != "membar" && name != "fence" && name != "prefetch") return false;
  draft->opcode.TakeAny({"cta", "gl", "gpu", "sys", "sc", "acq_rel", "global"});
  for (std::string_view level : {"L1", "L2"}) draft->opcode.TakeWithPrefix(level);
  draft->instruction.execute = Nothing;
  return true;
}

}  // namespace reenact::ptx
