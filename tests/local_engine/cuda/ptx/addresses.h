// Memory as instructions reach it: an address of any space to checked bytes.

#ifndef REENACT_TESTS_LOCAL_ENGINE_CUDA_PTX_ADDRESSES_H_
#define REENACT_TESTS_LOCAL_ENGINE_CUDA_PTX_ADDRESSES_H_

#include <cstddef>
#include <cstdint>

#include "tests/local_engine/cuda/ptx/lane.h"
#include "tests/local_engine/cuda/ptx/opcode.h"
#include "tests/local_engine/cuda/ptx/program.h"

namespace reenact::ptx {

// The address in its own space; a generic one has its window taken off, and `space` set.
uint64_t AddressOf(const Lane& lane, const Instruction& instruction, int operand, Space* space);

// Throw Fault as memory.h says, and for what the space does not allow.
const std::byte* ReadFrom(Lane& lane, Space space, uint64_t address, size_t size_bytes,
                          bool read_only);
std::byte* WriteTo(Lane& lane, Space space, uint64_t address, size_t size_bytes);

// Takes ".global", ".shared::cta"...; kGeneric without one.
Space TakeSpaceModifier(Opcode* opcode);

}  // namespace reenact::ptx

#endif  // REENACT_TESTS_LOCAL_ENGINE_CUDA_PTX_ADDRESSES_H_
