// Which machine instructions the kernels of a cubin have, counted without a disassembler: a cubin
// is an ELF file, a kernel a section of it, an instruction 16 bytes, its opcode the lowest 9 bits.
//
// PTX says what was asked for; this says what the assembler made of it. The numbers were seen in
// code for sm_90 that is known to need them; what is not on the list is refused, so that a new one
// is looked at before it is let in.

#ifndef REENACT_TESTS_LOCAL_ENGINE_CUDA_CENSUS_OPCODE_CENSUS_H_
#define REENACT_TESTS_LOCAL_ENGINE_CUDA_CENSUS_OPCODE_CENSUS_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace reenact::device_code {

struct KernelCensus {
  std::string name;      // As the compiler spells it.
  int architecture = 0;  // 90
  std::map<uint16_t, int> opcodes;
  int flushing = 0;        // Additions, products and fma that flush subnormals.
  int other_rounding = 0;  // Those that do not round to nearest.
  int maxima = 0;          // Of two floats, neither of which is the constant zero.

  int CountOf(uint16_t opcode) const;
  // Loads and stores of local memory: arrays that did not fit the registers, or spills.
  int LocalAccesses() const;
};

// The kernels of one cubin. InvalidArgument for bytes that are no such file.
absl::StatusOr<std::vector<KernelCensus>> TakeCensus(std::string_view cubin);

// What a kernel's PTX gives as reasons for instructions that have no place otherwise.
struct Reasons {
  // Divisions, remainders and roots: sequences around an approximation, with steps that flush and
  // round otherwise, so that the result is the one of IEEE 754.
  int quotients = 0;
  // From 16 bits to 32, exactly: the assembler adds a zero.
  int widenings = 0;
};

// What profile n1 has no place for, in words; empty when there is nothing.
std::vector<std::string> Objections(const KernelCensus& kernel, const Reasons& reasons);

}  // namespace reenact::device_code

#endif  // REENACT_TESTS_LOCAL_ENGINE_CUDA_CENSUS_OPCODE_CENSUS_H_
