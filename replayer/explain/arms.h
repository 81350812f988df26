// The arms of an experiment: each setting that was tried, what came of it, and how surely it
// differs from an arm in which nothing was changed.

#ifndef REENACT_REPLAYER_EXPLAIN_ARMS_H_
#define REENACT_REPLAYER_EXPLAIN_ARMS_H_

#include <cstdint>
#include <deque>
#include <string>

#include "replayer/explain/experiment.h"

namespace reenact::explain {

struct Arm {
  Setting setting;
  int64_t incident = 0;
  int64_t reference = 0;
  int64_t other = 0;
  int64_t failed = 0;
  bool not_possible = false;
  std::string detail;   // Of the last try that was none.
  std::string example;  // What the first try did.

  int64_t done() const { return incident + reference + other; }

  int64_t Of(Outcome outcome) const;
};

// Chance of a table at least as uneven if `outcome` were as frequent in both arms, by Fisher's
// exact test; 1 where `arm` shows it no more often than `unchanged` does, or one of the two is
// empty.
double FlipP(const Arm& arm, const Arm& unchanged, Outcome outcome);

// Runs tries, each setting's in one arm, within one budget.
class Bench {
 public:
  // `experiment` outlives it.
  Bench(Experiment* experiment, int64_t max_trials)
      : experiment_(experiment), trials_left_(max_trials) {}

  // The arm of `setting` with at least `count` tries that were done, or fewer where that cannot be:
  // the setting is not possible, tries fail, the budget is spent. The reference stays valid.
  const Arm& Fill(const Setting& setting, int64_t count);

  bool stopped() const { return stopped_; }

  int64_t trials() const { return trials_; }

  int64_t failed() const { return failed_; }

  const std::deque<Arm>& arms() const { return arms_; }

 private:
  Arm& ArmOf(const Setting& setting);

  Experiment* experiment_;
  int64_t trials_left_;
  int64_t trials_ = 0;
  int64_t failed_ = 0;
  bool stopped_ = false;
  std::deque<Arm> arms_;
};

}  // namespace reenact::explain

#endif  // REENACT_REPLAYER_EXPLAIN_ARMS_H_
