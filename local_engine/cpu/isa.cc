#include "local_engine/cpu/isa.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "local_engine/cpu/internal/kernel_table.h"

namespace reenact::local_engine {

const char* IsaName(Isa isa) {
  switch (isa) {
    case Isa::kPlain:
      return "plain";
    case Isa::kPlainFma:
      return "plain_fma";
    case Isa::kAvx2:
      return "avx2";
    case Isa::kAvx512:
      return "avx512";
    case Isa::kNeon:
      return "neon";
  }
  return "";
}

std::vector<Isa> AvailableIsas() {
  std::vector<Isa> available = {Isa::kPlain};
#if defined(__x86_64__)
  // The compiler's runtime also asks whether the system saves the wide registers.
  const bool has_fma = __builtin_cpu_supports("fma");
  if (has_fma) available.push_back(Isa::kPlainFma);
  if (has_fma && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("f16c")) {
    available.push_back(Isa::kAvx2);
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vnni")) {
      available.push_back(Isa::kAvx512);
    }
  }
#else
  available.push_back(Isa::kNeon);
#endif
  return available;
}

absl::StatusOr<Isa> AvailableIsaNamed(std::string_view name) {
  for (Isa isa : {Isa::kPlain, Isa::kPlainFma, Isa::kAvx2, Isa::kAvx512, Isa::kNeon}) {
    if (IsaName(isa) != name) continue;
    const std::vector<Isa> available = AvailableIsas();
    if (std::find(available.begin(), available.end(), isa) != available.end()) return isa;
    return absl::UnimplementedError("instruction set " + std::string(name) +
                                    " is not available on this machine");
  }
  return absl::InvalidArgumentError("no instruction set is named \"" + std::string(name) + "\"");
}

const KernelTable& KernelsFor(Isa isa) {
  switch (isa) {
#if defined(__x86_64__)
    case Isa::kPlainFma:
      return KernelsPlainFma();
    case Isa::kAvx2:
      return KernelsAvx2();
    case Isa::kAvx512:
      return KernelsAvx512();
#else
    case Isa::kNeon:
      return KernelsNeon();
#endif
    default:
      return KernelsPlain();
  }
}

}  // namespace reenact::local_engine
