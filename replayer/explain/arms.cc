#include "replayer/explain/arms.h"

#include <utility>

#include "replayer/analysis/unpaired.h"

namespace reenact::explain {
namespace {

// So many tries of one arm may fail, beyond twice those that were done: an endpoint that is down
// must not eat the budget.
constexpr int64_t kFailuresBesides = 3;

}  // namespace

int64_t Arm::Of(Outcome outcome) const {
  switch (outcome) {
    case Outcome::kIncident:
      return incident;
    case Outcome::kReference:
      return reference;
    case Outcome::kOther:
      break;
  }
  return other;
}

double FlipP(const Arm& arm, const Arm& unchanged, Outcome outcome) {
  const int64_t n = arm.done();
  const int64_t m = unchanged.done();
  if (n == 0 || m == 0) return 1;
  const int64_t flipped = arm.Of(outcome);
  const int64_t base = unchanged.Of(outcome);
  // Shares, compared without dividing.
  if (flipped * m <= base * n) return 1;
  const analysis::Measure p = analysis::FisherExactP(flipped, n - flipped, base, m - base);
  return p.ok() ? p.value() : 1;
}

Arm& Bench::ArmOf(const Setting& setting) {
  for (Arm& arm : arms_) {
    if (arm.setting == setting) return arm;
  }
  Arm arm;
  arm.setting = setting;
  arms_.push_back(std::move(arm));
  return arms_.back();
}

const Arm& Bench::Fill(const Setting& setting, int64_t count) {
  Arm& arm = ArmOf(setting);
  while (!stopped_ && !arm.not_possible && arm.done() < count &&
         arm.failed <= kFailuresBesides + 2 * arm.done()) {
    if (trials_left_ == 0) {
      stopped_ = true;
      break;
    }
    const Trial trial = experiment_->Run(setting);
    switch (trial.status) {
      case TrialStatus::kStopped:
        stopped_ = true;
        arm.detail = trial.text;
        continue;
      case TrialStatus::kNotPossible:
        arm.not_possible = true;
        arm.detail = trial.text;
        continue;
      case TrialStatus::kFailed:
        ++arm.failed;
        ++failed_;
        arm.detail = trial.text;
        break;
      case TrialStatus::kDone:
        if (arm.done() == 0) arm.example = trial.text;
        ++(trial.outcome == Outcome::kIncident    ? arm.incident
           : trial.outcome == Outcome::kReference ? arm.reference
                                                  : arm.other);
        break;
    }
    --trials_left_;
    ++trials_;
  }
  return arm;
}

}  // namespace reenact::explain
