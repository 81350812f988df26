#include "local_engine/reference/quantised_dot.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "local_engine/numerics/narrow_floats.h"
#include "local_engine/numerics/operations.h"
#include "local_engine/reference/planted_fault.h"

namespace reenact::local_engine {
namespace {

int32_t IntegerDot(std::span<const int8_t> a, std::span<const int8_t> b) {
  int32_t sum = 0;
  for (size_t k = 0; k < a.size(); ++k) sum += int32_t{a[k]} * int32_t{b[k]};
  return sum;
}

int8_t QuantiseValue(float x, float scale) {
  if (scale == 0.0f) return 0;
  const float quotient =
      Planted(PlantedFault::kQ8Reciprocal) ? mul_rn(x, div_rn(1.0f, scale)) : div_rn(x, scale);
  return static_cast<int8_t>(std::clamp(round_to_int(quotient), -127, 127));
}

}  // namespace

QuantisedRow QuantiseRow(std::span<const float> x, size_t group_size) {
  QuantisedRow row;
  for (size_t begin = 0; begin < x.size(); begin += group_size) {
    const std::span<const float> group = x.subspan(begin, group_size);
    float largest = 0.0f;
    for (float value : group) largest = max_select(abs_bits(value), largest);
    const float scale = div_rn(largest, 127.0f);
    row.scales.push_back(scale);
    for (float value : group) row.values.push_back(QuantiseValue(value, scale));
  }
  return row;
}

float DotQ8(const QuantisedRow& x, std::span<const Q8Block> w) {
  float acc[4] = {};
  for (size_t group = 0; group < w.size(); ++group) {
    const auto values = std::span(x.values).subspan(group * kQ8GroupSize, kQ8GroupSize);
    const auto sum = static_cast<float>(IntegerDot(values, w[group].values));
    const float scale = mul_rn(x.scales[group], widen_fp16(w[group].scale_fp16));
    acc[group % 4] = fma_rn(sum, scale, acc[group % 4]);
  }
  if (Planted(PlantedFault::kQ8ClassTree)) {
    return add_rn(add_rn(acc[0], acc[1]), add_rn(acc[2], acc[3]));
  }
  return add_rn(add_rn(acc[0], acc[2]), add_rn(acc[1], acc[3]));
}

float DotW8A8(const QuantisedRow& x, std::span<const int8_t> w, float weight_scale) {
  const auto sum = static_cast<float>(IntegerDot(x.values, w));
  return mul_rn(sum, mul_rn(x.scales[0], weight_scale));
}

}  // namespace reenact::local_engine
