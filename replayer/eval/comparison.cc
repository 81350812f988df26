#include "replayer/eval/comparison.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"

#include "replayer/analysis/multiplicity.h"
#include "replayer/analysis/power.h"

namespace reenact::eval {
namespace {

using analysis::Measure;
using analysis::Status;

struct CaseScores {
  std::vector<double> scores;
  int64_t passes = 0;

  double mean_pass() const {
    return static_cast<double>(passes) / static_cast<double>(scores.size());
  }
};

using ByCase = std::map<std::string, CaseScores>;

// Answers that a cache gave are one answer: those of a response id that was there already.
ByCase ScoresOf(const EvalResults& results, int64_t* missing) {
  ByCase cases;
  std::set<std::pair<std::string, std::string>> ids;
  for (const SampleResult& sample : results.samples) {
    const bool repeated =
        !sample.response_id.empty() && !ids.emplace(sample.case_id, sample.response_id).second;
    if (!sample.graded() || repeated) {
      ++*missing;
      continue;
    }
    CaseScores& scores = cases[sample.case_id];
    scores.scores.push_back(*sample.score);
    scores.passes += sample.pass ? 1 : 0;
  }
  return cases;
}

// The number of answers that every case has, or 0.
int64_t RepeatsOf(const EvalResults& results) {
  std::map<std::string, int64_t> counts;
  for (const SampleResult& sample : results.samples) ++counts[sample.case_id];
  if (counts.empty()) return 0;
  const int64_t first = counts.begin()->second;
  const bool same = std::all_of(counts.begin(), counts.end(),
                                [&](const auto& entry) { return entry.second == first; });
  return same ? first : 0;
}

int64_t DeclaredRepeats(const EvalResults& results) {
  return results.header.repeats > 0 ? results.header.repeats : RepeatsOf(results);
}

std::set<std::string> FingerprintsOf(const EvalResults& results) {
  std::set<std::string> fingerprints;
  for (const SampleResult& sample : results.samples) {
    if (!sample.fingerprint.empty()) fingerprints.insert(sample.fingerprint);
  }
  return fingerprints;
}

bool Disjoint(const std::set<std::string>& a, const std::set<std::string>& b) {
  return std::none_of(a.begin(), a.end(), [&](const auto& value) { return b.contains(value); });
}

std::vector<double> Differences(const std::vector<double>& a, const std::vector<double>& b) {
  std::vector<double> differences(a.size());
  for (size_t i = 0; i < a.size(); ++i) differences[i] = a[i] - b[i];
  return differences;
}

// Which test decides. Exact ones where there are few cases; a t test where there are many.
void Decide(const std::vector<double>& differences, MetricComparison* metric) {
  if (metric->has_table) {
    metric->p = metric->mcnemar.p_mid;
    metric->decided_by = "McNemar mid-p";
  } else if (metric->paired.p.status() == Status::kConstantShift) {
    metric->p = analysis::SignTest(differences);
    metric->decided_by = "sign test";
  } else if (metric->flips.exact) {
    metric->p = metric->flips.p;
    metric->decided_by = "sign-flip, exact";
  } else if (metric->paired.p.ok()) {
    metric->p = metric->paired.p;
    metric->decided_by = "paired t";
  } else {
    metric->p = metric->flips.p;
    metric->decided_by = "sign-flip";
  }
}

MetricComparison CompareMetric(std::string name, const std::vector<double>& a,
                               const std::vector<double>& b, const CompareOptions& options) {
  MetricComparison metric{.metric = std::move(name)};
  const std::vector<double> differences = Differences(a, b);
  metric.paired = analysis::ComparePaired(a, b, 1 - options.alpha);
  metric.flips = analysis::SignFlipTest(differences, analysis::kDefaultDraws, options.seed);
  if (metric.paired.sd_diff.ok() && metric.paired.sd_diff.value() == 0) {
    metric.detectable = Status::kZeroVariance;  // And not 0: these cases show no noise to judge by.
  } else if (metric.paired.sd_diff.ok()) {
    const double sd = metric.paired.sd_diff.value();
    metric.detectable = analysis::DetectableDifference(
        {.omega2 = sd * sd}, static_cast<int64_t>(a.size()), {options.alpha, options.power});
  } else {
    metric.detectable = metric.paired.sd_diff.status();
  }
  return metric;
}

void AddTable(const std::vector<double>& a, const std::vector<double>& b, double confidence,
              MetricComparison* metric) {
  analysis::PairedTable table;
  for (size_t i = 0; i < a.size(); ++i) {
    int64_t& cell = a[i] > 0 ? (b[i] > 0 ? table.both_pass : table.only_a)
                             : (b[i] > 0 ? table.only_b : table.both_fail);
    ++cell;
  }
  metric->has_table = true;
  metric->mcnemar = analysis::McNemarTest(table.only_a, table.only_b);
  metric->table_difference = analysis::DifferenceOfPaired(table, confidence);
}

void Explain(MetricComparison* metric) {
  const bool overlap = metric->paired.intervals_overlap;
  metric->overlap_says = overlap ? "no difference" : "different";
  if (metric->significant && overlap) {
    metric->explanation =
        "overlapping intervals ignore that both sides answered the same cases: what makes a case "
        "hard moves both, and cancels in the difference";
  } else if (!metric->significant && !overlap) {
    metric->explanation =
        "the intervals are apart, and the differences of the cases do not agree enough: too few "
        "cases, or several metrics were asked at once";
  }
}

struct Aligned {
  std::vector<double> score_a, score_b, pass_a, pass_b;
};

Aligned Align(const ByCase& a, const ByCase& b, Comparison* comparison) {
  Aligned aligned;
  for (const auto& [id, scores] : a) {
    const auto other = b.find(id);
    if (other == b.end()) {
      comparison->only_a.push_back(id);
      continue;
    }
    aligned.score_a.push_back(analysis::MeanOf(scores.scores));
    aligned.score_b.push_back(analysis::MeanOf(other->second.scores));
    aligned.pass_a.push_back(scores.mean_pass());
    aligned.pass_b.push_back(other->second.mean_pass());
  }
  for (const auto& [id, scores] : b) {
    if (!a.contains(id)) comparison->only_b.push_back(id);
  }
  return aligned;
}

// Passes tell nothing that scores of 0 and 1 do not.
bool SameValues(const Aligned& aligned) {
  return aligned.score_a == aligned.pass_a && aligned.score_b == aligned.pass_b;
}

void AdjustAndExplain(const CompareOptions& options, std::vector<MetricComparison>* metrics) {
  std::vector<double> p;
  for (const MetricComparison& metric : *metrics) p.push_back(metric.p.ok() ? metric.p.value() : 1);
  const std::vector<double> adjusted = analysis::Holm(p);
  for (size_t i = 0; i < metrics->size(); ++i) {
    MetricComparison& metric = (*metrics)[i];
    metric.adjusted = metric.p.ok() ? Measure(adjusted[i]) : metric.p;
    metric.significant = metric.p.ok() && adjusted[i] <= options.alpha;
    Explain(&metric);
  }
}

void Judge(const CompareOptions& options, Comparison* comparison) {
  const auto lost =
      static_cast<double>(std::max(comparison->only_a.size(), comparison->only_b.size()));
  const double all = lost + static_cast<double>(comparison->cases);
  if (comparison->cases == 0) {
    comparison->inconclusive_because = "no case was answered on both sides";
  } else if (lost > options.most_missing * all) {
    comparison->inconclusive_because =
        absl::StrCat(static_cast<int64_t>(lost), " of ", static_cast<int64_t>(all),
                     " cases were answered on one side only");
  } else if (!comparison->metrics.front().p.ok()) {
    comparison->inconclusive_because =
        std::string(analysis::StatusName(comparison->metrics.front().p.status()));
  } else if (!comparison->metrics.front().significant) {
    comparison->verdict = CompareVerdict::kNoDifference;
  } else {
    comparison->verdict = comparison->metrics.front().paired.diff.value() > 0
                              ? CompareVerdict::kABetter
                              : CompareVerdict::kBBetter;
  }
}

}  // namespace

std::string_view ToString(CompareVerdict verdict) {
  switch (verdict) {
    case CompareVerdict::kNoDifference:
      return "no_difference";
    case CompareVerdict::kABetter:
      return "a_better";
    case CompareVerdict::kBBetter:
      return "b_better";
    case CompareVerdict::kInconclusive:
      break;
  }
  return "inconclusive";
}

absl::Status Comparable(const EvalResults& a, const EvalResults& b) {
  const auto refuse = [](std::string text) {
    return absl::FailedPreconditionError(std::move(text));
  };
  if (a.header.mode != b.header.mode) {
    return refuse(absl::StrCat("A is of mode ", std::string(ToString(a.header.mode)),
                               " and B of mode ", std::string(ToString(b.header.mode)),
                               ": one proves equal bytes, the other samples a distribution, and no "
                               "verdict covers both"));
  }
  if (!a.header.cases.empty() && !b.header.cases.empty() && a.header.cases != b.header.cases)
    return refuse("they answered other case files");
  if (!a.header.grader.empty() && !b.header.grader.empty() && a.header.grader != b.header.grader) {
    return refuse(absl::StrCat("A was graded by ", a.header.grader, " and B by ", b.header.grader));
  }
  const int64_t repeats_a = DeclaredRepeats(a);
  const int64_t repeats_b = DeclaredRepeats(b);
  if (repeats_a == 0 || repeats_b == 0) return refuse("cases have different numbers of answers");
  if (repeats_a != repeats_b) {
    return refuse(absl::StrCat("A has ", repeats_a, " answers for each case and B ", repeats_b));
  }
  if (a.header.mode == Mode::kDistribution && repeats_a < kLeastRepeats) {
    return refuse(absl::StrCat(repeats_a, " answers for each case are fewer than ", kLeastRepeats,
                               ": a case that passes 9 times of 10 looks sound in one run"));
  }
  const bool same_endpoint = !a.header.target.empty() && a.header.target == b.header.target &&
                             a.header.model == b.header.model;
  const std::set<std::string> fingerprints_a = FingerprintsOf(a);
  const std::set<std::string> fingerprints_b = FingerprintsOf(b);
  if (same_endpoint && !fingerprints_a.empty() && !fingerprints_b.empty() &&
      Disjoint(fingerprints_a, fingerprints_b)) {
    return refuse(absl::StrCat("the endpoint is the same and its fingerprints are not (",
                               *fingerprints_a.begin(), ", then ", *fingerprints_b.begin(),
                               "): a difference could be the provider's; run A again"));
  }
  return absl::OkStatus();
}

Comparison Compare(const EvalResults& a, const EvalResults& b, const CompareOptions& options) {
  Comparison comparison{.mode = a.header.mode};
  comparison.repeats = DeclaredRepeats(a);
  const ByCase by_case_a = ScoresOf(a, &comparison.missing_a);
  const ByCase by_case_b = ScoresOf(b, &comparison.missing_b);
  const Aligned aligned = Align(by_case_a, by_case_b, &comparison);
  comparison.cases = static_cast<int64_t>(aligned.score_a.size());
  comparison.small_sample = comparison.cases < analysis::kSmallSample;
  const bool one_answer = comparison.repeats == 1;
  const auto add = [&](std::string name, const auto& x, const auto& y, bool is_verdicts) {
    MetricComparison metric = CompareMetric(std::move(name), x, y, options);
    if (one_answer && is_verdicts) AddTable(x, y, 1 - options.alpha, &metric);
    Decide(Differences(x, y), &metric);
    comparison.metrics.push_back(std::move(metric));
  };
  const bool only_passes = SameValues(aligned);
  add("score", aligned.score_a, aligned.score_b, only_passes);
  if (!only_passes) add("pass", aligned.pass_a, aligned.pass_b, true);
  AdjustAndExplain(options, &comparison.metrics);
  Judge(options, &comparison);
  return comparison;
}

}  // namespace reenact::eval
