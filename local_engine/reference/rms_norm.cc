#include "local_engine/reference/rms_norm.h"

#include <algorithm>
#include <cstddef>
#include <span>

#include "local_engine/numerics/operations.h"
#include "local_engine/reference/halving_tree.h"
#include "local_engine/reference/planted_fault.h"

namespace reenact::local_engine {

void RmsNorm(std::span<const float> x, std::span<const float> weight, float epsilon,
             std::span<float> y) {
  const size_t classes = Planted(PlantedFault::kNormFewerClasses) ? 128 : 256;
  float acc[256] = {};
  for (size_t k = 0; k < x.size(); ++k) acc[k % classes] = fma_rn(x[k], x[k], acc[k % classes]);
  const float sum =
      HalvingTree(std::span(acc).first(classes), static_cast<int>(std::min(x.size(), classes)));
  const float mean = div_rn(sum, static_cast<float>(x.size()));
  const float inverse = div_rn(1.0f, sqrt_rn(add_rn(mean, epsilon)));
  for (size_t k = 0; k < x.size(); ++k) {
    y[k] = Planted(PlantedFault::kNormScaleFirst) ? mul_rn(x[k], mul_rn(inverse, weight[k]))
                                                  : mul_rn(mul_rn(x[k], inverse), weight[k]);
  }
}

}  // namespace reenact::local_engine
