#include "local_engine/reference/silu_mul.h"

#include <cstddef>
#include <span>

#include "local_engine/numerics/exp_log.h"
#include "local_engine/numerics/operations.h"
#include "local_engine/reference/planted_fault.h"

namespace reenact::local_engine {

void SiluMul(std::span<const float> gate, std::span<const float> up, std::span<float> out) {
  for (size_t k = 0; k < gate.size(); ++k) {
    const float divisor = add_rn(1.0f, Exp(-gate[k]));
    const float silu = Planted(PlantedFault::kSiluReciprocal)
                           ? mul_rn(gate[k], div_rn(1.0f, divisor))
                           : div_rn(gate[k], divisor);
    out[k] = mul_rn(silu, up[k]);
  }
}

}  // namespace reenact::local_engine
