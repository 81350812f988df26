// The instruction sets that kernels are compiled for. All of them give the same bits; they differ
// in speed alone.

#ifndef REENACT_LOCAL_ENGINE_CPU_ISA_H_
#define REENACT_LOCAL_ENGINE_CPU_ISA_H_

#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace reenact::local_engine {

enum class Isa {
  kPlain,     // The baseline of the architecture; on x86-64 every fma goes through binary64.
  kPlainFma,  // x86-64: baseline code with the scalar fma instruction.
  kAvx2,      // AVX2, FMA and F16C.
  kAvx512,    // AVX-512 F, BW, VL, DQ and VNNI.
  kNeon,
};

// "plain", "plain_fma", "avx2", "avx512", "neon".
const char* IsaName(Isa isa);

// Compiled in, and executable on this processor; slowest first, never empty.
std::vector<Isa> AvailableIsas();

// InvalidArgument for a name that is none of the above; Unimplemented for an instruction set that
// this program or this processor does not have: it is never replaced by another.
absl::StatusOr<Isa> AvailableIsaNamed(std::string_view name);

struct KernelTable;

// The kernels of an available instruction set.
const KernelTable& KernelsFor(Isa isa);

}  // namespace reenact::local_engine

#endif  // REENACT_LOCAL_ENGINE_CPU_ISA_H_
