// A number or the reason why there is none. No result of this library is ever NaN or infinite.

#ifndef REENACT_REPLAYER_ANALYSIS_MEASURE_H_
#define REENACT_REPLAYER_ANALYSIS_MEASURE_H_

#include <string_view>

namespace reenact::analysis {

enum class Status {
  kOk,
  kNoData,         // Nothing was observed.
  kInsufficientN,  // Too few observations for this number to exist: a deviation of one value.
  kZeroVariance,   // All values are equal; a quotient by their deviation has no meaning.
  kConstantShift,  // All paired differences are equal and not 0: t does not exist, a sign test
                   // does.
  kNoDiscordant,   // No pair of verdicts differs.
  kOutOfRange,     // An argument has no meaning: k > n, a probability outside [0, 1].
  kNotComparable,  // The two sides differ in what must be equal: number of runs, prompts, k.
  kInfinite,       // The quantity is infinite: a divergence where one side has no support.
  kNeverDiverged,  // Censored: all answers agree to their end.
  kBitwiseChange,  // The noise floor is exactly 0 and the observation is not.
  kBitStable,      // The noise floor and the observation are exactly 0.
  kTooLarge,       // An exact enumeration that would not end.
};

// "insufficient_n": what reports and JSON print in place of a number.
std::string_view StatusName(Status status);

class Measure {
 public:
  // Implicit, as numbers are returned. What is not finite becomes a status.
  Measure(double value);  // NOLINT(google-explicit-constructor)

  Measure(Status reason) : status_(reason) {}  // NOLINT(google-explicit-constructor)

  Measure() = default;

  bool ok() const { return status_ == Status::kOk; }

  Status status() const { return status_; }

  // Only when ok(); 0 otherwise.
  double value() const { return value_; }

  bool operator==(const Measure&) const = default;

 private:
  double value_ = 0;
  Status status_ = Status::kNoData;
};

// Both ends in the unit of what is estimated. One that has collapsed to a point because all values
// are equal says kZeroVariance beside its ends: it must not be printed as certainty.
struct Interval {
  Measure lo;
  Measure hi;
  Status status = Status::kOk;
};

// An interval of which neither end exists.
Interval NoInterval(Status reason);

}  // namespace reenact::analysis

#endif  // REENACT_REPLAYER_ANALYSIS_MEASURE_H_
