#include "replayer/explain/explanation.h"

#include <algorithm>
#include <array>
#include <utility>

#include "replayer/analysis/multiplicity.h"
#include "replayer/explain/minimise.h"

namespace reenact::explain {
namespace {

// Tries of an arm at each look. The alpha is divided over the looks, which needs no more than that
// they are counted beforehand.
constexpr std::array<int64_t, 3> kLooks = {4, 8, 16};
// With fewer unchanged reruns nothing is said of what is usual.
constexpr int64_t kLeastUnchanged = 5;
// Tests beyond those of single variables: the set that delta debugging found, both ways.
constexpr size_t kSetTests = 2;

std::string Count(int64_t part, int64_t whole) {
  return std::to_string(part) + " of " + std::to_string(whole);
}

class Explainer {
 public:
  Explainer(const std::vector<Variable>& variables, const RecordEvidence& record,
            Experiment* experiment, const ExplainOptions& options)
      : variables_(variables),
        record_(record),
        experiment_(experiment),
        options_(options),
        bench_(experiment, options.max_trials) {}

  Explanation Run() {
    FindSettable();
    if (experiment_ == nullptr) {
      TellRecord();
    } else {
      Judge();
    }
    result_.trials = bench_.trials();
    result_.failed_trials = bench_.failed();
    result_.budget_spent = bench_.stopped();
    return std::move(result_);
  }

 private:
  void FindSettable() {
    for (size_t i = 0; i < variables_.size(); ++i) {
      Finding finding;
      finding.variable = i;
      finding.can_set = experiment_ != nullptr && experiment_->CanSet(i, &finding.why_not);
      if (finding.can_set) settable_.push_back(i);
      result_.findings.push_back(std::move(finding));
    }
  }

  void Judge() {
    const Arm& unchanged = bench_.Fill(With({}), options_.unchanged_runs);
    result_.unchanged = unchanged;
    if (unchanged.incident > 0 && unchanged.reference > 0)
      return TellDrawn("the incident", unchanged);
    if (unchanged.done() < kLeastUnchanged) {
      return Give("only " + Count(unchanged.done(), options_.unchanged_runs) +
                      " unchanged reruns gave an answer: " + unchanged.detail,
                  "more answers of the target");
    }
    if (unchanged.incident == 0) return TellNotReproduced(unchanged);
    if (settable_.empty()) {
      return Give("the unchanged incident happens again " +
                      Count(unchanged.incident, unchanged.done()) +
                      " times, and nothing in which the runs differ can be put in",
                  "an experiment with what changed", true);
    }
    const Arm& reference = bench_.Fill(With(settable_), options_.unchanged_runs);
    result_.reference = reference;
    if (reference.done() < kLeastUnchanged) {
      return Give("the reference could not be run: " + reference.detail, "a reference that runs");
    }
    if (reference.reference == 0) {
      return Give(
          "all that can be put in leaves the incident as it is: the reference's outcome came " +
              Count(0, reference.done()) + " times",
          "an experiment with what could not be put in", true);
    }
    if (FlipP(reference, unchanged, Outcome::kReference) > options_.alpha) {
      if (reference.incident > 0) return TellDrawn("the reference", reference);
      return Give("the reference's outcome came too seldom to tell it from the unchanged incident",
                  "more runs: -n");
    }
    Scan();
    Decide();
  }

  Setting With(const std::vector<size_t>& from_reference) const {
    Setting setting(variables_.size(), false);
    for (const size_t i : from_reference) setting[i] = true;
    return setting;
  }

  Setting Without(const std::vector<size_t>& from_incident) const {
    Setting setting = With(settable_);
    for (const size_t i : from_incident) setting[i] = false;
    return setting;
  }

  // Each variable alone, both ways, with a sample that grows where it has to.
  void Scan() {
    std::vector<size_t> open = settable_;
    for (const int64_t count : kLooks) {
      for (const size_t i : open) {
        bench_.Fill(With({i}), count);
        bench_.Fill(Without({i}), count);
      }
      Test({});
      std::erase_if(open, [&](size_t i) {
        const Finding& finding = result_.findings[i];
        const bool may_repair = !finding.repairs && finding.put_in.reference > 0;
        const bool may_break = !finding.breaks && finding.taken_out.incident > 0;
        return !may_repair && !may_break;
      });
      if (open.empty() || bench_.stopped()) return;
    }
  }

  // p-values of all arms at this time, of `set` too where there is one. Returns whether that flips.
  bool Test(const std::vector<size_t>& set) {
    const Arm unchanged = bench_.Fill(With({}), 0);
    const Arm reference = bench_.Fill(With(settable_), 0);
    std::vector<double> p;
    for (const size_t i : settable_) {
      Finding& finding = result_.findings[i];
      finding.put_in = bench_.Fill(With({i}), 0);
      finding.taken_out = bench_.Fill(Without({i}), 0);
      p.push_back(FlipP(finding.put_in, unchanged, Outcome::kReference));
      p.push_back(FlipP(finding.taken_out, reference, Outcome::kIncident));
    }
    // Their places in the family are taken from the first look on.
    p.insert(p.end(), kSetTests, 1.0);
    if (!set.empty()) {
      p[p.size() - 2] = FlipP(bench_.Fill(With(set), 0), unchanged, Outcome::kReference);
      p[p.size() - 1] = FlipP(bench_.Fill(Without(set), 0), reference, Outcome::kIncident);
    }
    std::vector<double> adjusted = analysis::Holm(p);
    for (double& value : adjusted) {
      value = std::min(1.0, value * static_cast<double>(kLooks.size()));
    }
    for (size_t k = 0; k < settable_.size(); ++k) {
      Finding& finding = result_.findings[settable_[k]];
      finding.put_in_p = adjusted[2 * k];
      finding.taken_out_p = adjusted[2 * k + 1];
      finding.repairs = finding.put_in_p <= options_.alpha;
      finding.breaks = finding.taken_out_p <= options_.alpha;
    }
    return adjusted[adjusted.size() - 2] <= options_.alpha && adjusted.back() <= options_.alpha;
  }

  void Decide() {
    std::vector<size_t> alone;
    std::vector<size_t> repairing;
    std::vector<size_t> breaking;
    for (const size_t i : settable_) {
      const Finding& finding = result_.findings[i];
      if (finding.repairs) repairing.push_back(i);
      if (finding.breaks) breaking.push_back(i);
      if (finding.repairs && finding.breaks) alone.push_back(i);
    }
    if (!alone.empty()) return Name(alone);
    // One that repairs belongs to what breaks together, and the other way round; which of several
    // is taken does not matter, since the search for the other side meets them all.
    const std::vector<size_t> repair =
        repairing.empty() ? Search(Outcome::kReference) : std::vector{repairing.front()};
    const std::vector<size_t> breakage =
        breaking.empty() ? Search(Outcome::kIncident) : std::vector{breaking.front()};
    if (!search_is_whole_) return TellUnfinished();
    std::vector<size_t> set = repair;
    set.insert(set.end(), breakage.begin(), breakage.end());
    std::sort(set.begin(), set.end());
    set.erase(std::unique(set.begin(), set.end()), set.end());
    for (const int64_t count : kLooks) {
      bench_.Fill(With(set), count);
      bench_.Fill(Without(set), count);
      if (Test(set)) return Name(set);
      if (bench_.stopped()) return TellUnfinished();
    }
    Give("no difference, and no set of them, flips the outcome both ways surely enough",
         "more runs: -n");
  }

  void TellUnfinished() {
    const std::string what = "a difference, or a set of them, had flipped the outcome both ways";
    if (bench_.stopped()) return Give("it was stopped before " + what, "more runs: --max-requests");
    Give("too few tries gave an answer before " + what, "a target that answers");
  }

  // The fewest of all that together give `outcome`: put in, or taken out.
  std::vector<size_t> Search(Outcome outcome) {
    return Minimise(settable_, [&](const std::vector<size_t>& part) {
      const bool repair = outcome == Outcome::kReference;
      const Arm& arm = bench_.Fill(repair ? With(part) : Without(part), kLooks.front());
      search_is_whole_ = search_is_whole_ && arm.done() >= kLooks.front();
      return arm.Of(outcome) > arm.Of(repair ? Outcome::kIncident : Outcome::kReference);
    });
  }

  void Name(const std::vector<size_t>& causes) {
    for (const size_t i : causes) {
      if (variables_[i].changed == Changed::kProved) continue;
      return Give(NameOf(variables_[i]) +
                      " flips the outcome, but the record does not prove that it changed",
                  "a record that tells it on both sides");
    }
    result_.verdict = causes.size() == 1 ? Verdict::kCause : Verdict::kCauses;
    result_.causes = causes;
    result_.each_is_enough = causes.size() > 1;
    for (const size_t i : causes) {
      result_.findings[i].flips = true;
      if (!result_.findings[i].breaks) result_.each_is_enough = false;
    }
  }

  // Unchanged reruns came to both outcomes.
  void TellDrawn(const std::string& which, const Arm& arm) {
    result_.evidence.push_back("unchanged reruns of " + which + " did what the incident did " +
                               Count(arm.incident, arm.done()) +
                               " times, and what the reference did " +
                               Count(arm.reference, arm.done()));
    TellParting();
    if (record_.draws) {
      result_.verdict = Verdict::kSampling;
    } else if (record_.near_tie()) {
      result_.verdict = Verdict::kNearTie;
    } else {
      result_.verdict = Verdict::kLoad;
      result_.settled_by = "an endpoint that tells logprobs, or the same model on the local engine";
    }
  }

  // Whether the size of the batch alone makes the incident of what the reference did.
  bool FlippedByLoad() {
    if (!options_.loads || !record_.same_request || record_.draws) return false;
    absl::StatusOr<LoadTrials> loads = options_.loads();
    if (!loads.ok()) {
      result_.evidence.push_back("it was not tried in batches: " +
                                 std::string(loads.status().message()));
      return false;
    }
    result_.loads = *std::move(loads);
    for (std::string& sentence : SentencesOf(*result_.loads)) {
      result_.evidence.push_back(std::move(sentence));
    }
    return result_.loads->explains();
  }

  void TellNotReproduced(const Arm& arm) {
    TellParting();
    if (FlippedByLoad()) {
      result_.verdict = result_.loads->is_near_tie() ? Verdict::kNearTie : Verdict::kLoad;
      if (!result_.loads->recorded_schedule) {
        result_.settled_by = "a record that tells its schedule: return_token_ids";
      }
      return;
    }
    const bool as_reference = arm.reference == arm.done();
    std::string because =
        "the incident did not happen again in " + std::to_string(arm.done()) + " unchanged reruns";
    if (as_reference) because += ", which all did what the reference did";
    if (record_.same_request && record_.near_tie())
      because += "; its near-tie is consistent with load";
    Give(std::move(because),
         record_.hosted
             ? "reruns under load, or the same model on the local engine: reenact envelope"
             : "reenact envelope",
         true);
  }

  void TellRecord() {
    TellParting();
    if (record_.same_request && record_.draws) {
      return Give("no model was asked; the request is the same and asks for sampling",
                  "reruns: --target");
    }
    if (record_.same_request && record_.near_tie()) {
      return Give(
          "no model was asked; the request is the same and the record shows a near-tie, which "
          "is consistent with load",
          "reruns: --target");
    }
    Give("no model was asked", "reruns: --target", true);
  }

  void TellParting() {
    for (std::string& sentence : SentencesOf(record_)) {
      result_.evidence.push_back(std::move(sentence));
    }
  }

  // Inconclusive. `suspects`: what changed and was not tried is told.
  void Give(std::string because, std::string settled_by, bool suspects = false) {
    result_.verdict = Verdict::kInconclusive;
    result_.because = std::move(because);
    result_.settled_by = std::move(settled_by);
    if (!suspects) return;
    for (const Finding& finding : result_.findings) {
      if (finding.can_set) continue;
      const Variable& variable = variables_[finding.variable];
      std::string text = NameOf(variable) +
                         (variable.changed == Changed::kProved ? " changed" : " may have changed") +
                         " and was not tried";
      if (!finding.why_not.empty()) text += ": " + finding.why_not;
      result_.evidence.push_back(std::move(text));
    }
  }

  const std::vector<Variable>& variables_;
  const RecordEvidence& record_;
  Experiment* experiment_;
  const ExplainOptions& options_;
  Bench bench_;
  std::vector<size_t> settable_;
  bool search_is_whole_ = true;  // Every set that delta debugging asked about was tried.
  Explanation result_;
};

}  // namespace

Explanation Explain(const std::vector<Variable>& variables, const RecordEvidence& record,
                    Experiment* experiment, const ExplainOptions& options) {
  return Explainer(variables, record, experiment, options).Run();
}

}  // namespace reenact::explain
