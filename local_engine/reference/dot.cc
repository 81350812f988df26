#include "local_engine/reference/dot.h"

#include <cstddef>
#include <span>

#include "local_engine/numerics/operations.h"
#include "local_engine/reference/halving_tree.h"
#include "local_engine/reference/planted_fault.h"

namespace reenact::local_engine {
namespace {

constexpr size_t kPadding = 64;

float Term(float x, float w, float acc) {
  if (Planted(PlantedFault::kDotFlushesSubnormals) && abs_bits(w) < 0x1p-126f) w = 0.0f;
  if (Planted(PlantedFault::kDotUnfused)) return add_rn(acc, mul_rn(x, w));
  return fma_rn(x, w, acc);
}

}  // namespace

float Dot(std::span<const float> x, std::span<const float> w) {
  float acc[32] = {};
  const size_t dim = x.size();
  const size_t padded = (dim + kPadding - 1) / kPadding * kPadding;
  for (size_t k = 0; k < padded; ++k) {
    const size_t owner = Planted(PlantedFault::kDotClassOrder) ? k % 32 : k / 2 % 32;
    if (k >= dim && Planted(PlantedFault::kDotTailSkipped)) break;
    acc[owner] = Term(k < dim ? x[k] : 0.0f, k < dim ? w[k] : 0.0f, acc[owner]);
  }
  return HalvingTree(acc, 32);
}

}  // namespace reenact::local_engine
