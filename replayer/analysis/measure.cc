#include "replayer/analysis/measure.h"

#include <cmath>

namespace reenact::analysis {

std::string_view StatusName(Status status) {
  switch (status) {
    case Status::kOk:
      return "ok";
    case Status::kNoData:
      return "no_data";
    case Status::kInsufficientN:
      return "insufficient_n";
    case Status::kZeroVariance:
      return "zero_variance";
    case Status::kConstantShift:
      return "constant_shift";
    case Status::kNoDiscordant:
      return "no_discordant";
    case Status::kOutOfRange:
      return "out_of_range";
    case Status::kNotComparable:
      return "not_comparable";
    case Status::kInfinite:
      return "infinite";
    case Status::kNeverDiverged:
      return "never_diverged";
    case Status::kBitwiseChange:
      return "bitwise_change";
    case Status::kBitStable:
      return "bit_stable";
    case Status::kTooLarge:
      return "too_large";
  }
  return "unknown";
}

Measure::Measure(double value) : value_(value), status_(Status::kOk) {
  if (std::isfinite(value)) return;
  value_ = 0;
  status_ = std::isnan(value) ? Status::kOutOfRange : Status::kInfinite;
}

Interval NoInterval(Status reason) {
  return {.lo = reason, .hi = reason, .status = reason};
}

}  // namespace reenact::analysis
