// An experiment: the incident again, with some of its circumstances taken from the reference. What
// decides over causes sees no more of the world than this.

#ifndef REENACT_REPLAYER_EXPLAIN_EXPERIMENT_H_
#define REENACT_REPLAYER_EXPLAIN_EXPERIMENT_H_

#include <cstdint>
#include <string>
#include <vector>

namespace reenact::explain {

// For each variable, in order: true, its value is the reference's; false, the incident's.
using Setting = std::vector<bool>;

enum class Outcome : uint8_t {
  kIncident,   // What the incident did.
  kReference,  // What the reference did.
  kOther,      // Neither.
};

enum class TrialStatus : uint8_t {
  kDone,
  kFailed,       // No answer came: it is counted, and enters no sample.
  kNotPossible,  // This setting cannot be made; trying again does not help.
  kStopped,      // The budget is spent, or somebody interrupted: nothing more can be tried.
};

struct Trial {
  TrialStatus status = TrialStatus::kFailed;
  Outcome outcome = Outcome::kOther;  // Of kDone.
  std::string text;                   // What it did, or why there is nothing.
};

class Experiment {
 public:
  virtual ~Experiment() = default;

  // Whether a variable can be given the other run's value at all; `why_not` says it for a reader.
  virtual bool CanSet(size_t variable, std::string* why_not) const = 0;

  // One try. Tries of one setting are independent of each other.
  virtual Trial Run(const Setting& setting) = 0;
};

}  // namespace reenact::explain

#endif  // REENACT_REPLAYER_EXPLAIN_EXPERIMENT_H_
