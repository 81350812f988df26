// Distance of two binary32 numbers in units in the last place.

#ifndef REENACT_REPLAYER_ANALYSIS_ULP_H_
#define REENACT_REPLAYER_ANALYSIS_ULP_H_

#include <cstdint>

#include "replayer/analysis/measure.h"

namespace reenact::analysis {

struct FloatDistance {
  // How many numbers apart: 0 for +0 and -0, which are not bitwise equal. NaN: kOutOfRange.
  Measure ulp;
  bool bitwise_equal = false;
  Measure absolute;  // kInfinite where one is; 0 where both are the same infinity.
};

FloatDistance DistanceOf(float a, float b);

}  // namespace reenact::analysis

#endif  // REENACT_REPLAYER_ANALYSIS_ULP_H_
