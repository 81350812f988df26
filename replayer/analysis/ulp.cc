#include "replayer/analysis/ulp.h"

#include <bit>
#include <cmath>
#include <cstdlib>

namespace reenact::analysis {
namespace {

// Integers in the order of the numbers; both zeros are 0.
int64_t Ordered(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const int64_t magnitude = bits & 0x7fffffffu;
  return bits >> 31 ? -magnitude : magnitude;
}

}  // namespace

FloatDistance DistanceOf(float a, float b) {
  FloatDistance distance;
  distance.bitwise_equal = std::bit_cast<uint32_t>(a) == std::bit_cast<uint32_t>(b);
  if (std::isnan(a) || std::isnan(b)) {
    distance.ulp = distance.absolute = Status::kOutOfRange;
    return distance;
  }
  distance.ulp = static_cast<double>(std::abs(Ordered(a) - Ordered(b)));
  distance.absolute = a == b ? 0 : std::fabs(double{a} - double{b});
  return distance;
}

}  // namespace reenact::analysis
