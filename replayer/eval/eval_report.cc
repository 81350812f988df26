#include "replayer/eval/eval_report.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "absl/strings/str_cat.h"

#include "replayer/analysis/pass_at_k.h"
#include "schema/logprob.h"

namespace reenact::eval {
namespace {

using analysis::Measure;
using analysis::Status;

constexpr int64_t kShownPasses[] = {1, 3, 5, 10};

// The answers of one case.
struct CaseSamples {
  std::string id;
  std::vector<const SampleResult*> graded;
  int64_t missing = 0;
};

std::vector<CaseSamples> GroupByCase(const EvalResults& results,
                                     std::map<std::string, int64_t>* missing) {
  std::vector<CaseSamples> cases;
  std::set<std::string> ids;
  for (const SampleResult& sample : results.samples) {
    if (cases.empty() || cases.back().id != sample.case_id) {
      cases.push_back({.id = sample.case_id});
      ids.clear();
    }
    const bool repeated = !sample.response_id.empty() && !ids.insert(sample.response_id).second;
    if (sample.graded() && !repeated) {
      cases.back().graded.push_back(&sample);
      continue;
    }
    ++cases.back().missing;
    const bool ungraded = sample.status == "answered" && !sample.score;
    ++(*missing)[repeated ? "repeated" : ungraded ? "not_graded" : sample.status];
  }
  return cases;
}

// Of judges' scores around the mean of each answer, pooled over answers.
Measure JudgeDeviation(const std::vector<const SampleResult*>& samples) {
  double squares = 0;
  int64_t degrees = 0;
  for (const SampleResult* sample : samples) {
    if (sample->judge_scores.size() < 2) continue;
    squares += analysis::SquaredDeviations(sample->judge_scores);
    degrees += static_cast<int64_t>(sample->judge_scores.size()) - 1;
  }
  if (degrees == 0) return Status::kInsufficientN;
  return std::sqrt(squares / static_cast<double>(degrees));
}

CaseReport ReportOnCase(const CaseSamples& samples, double threshold, double confidence) {
  CaseReport report{.id = samples.id,
                    .runs = static_cast<int64_t>(samples.graded.size()),
                    .missing = samples.missing};
  std::vector<double> scores;
  std::set<std::string> answers;
  for (const SampleResult* sample : samples.graded) {
    scores.push_back(*sample->score);
    report.passes += sample->pass ? 1 : 0;
    answers.insert(sample->answer);
    if (!sample->least_margin_nats) continue;
    if (!report.least_margin.ok() || *sample->least_margin_nats < report.least_margin.value())
      report.least_margin = *sample->least_margin_nats;
  }
  report.unique_answers = static_cast<int64_t>(answers.size());
  report.mean = scores.empty() ? Measure(Status::kNoData) : Measure(analysis::MeanOf(scores));
  report.flakiness = analysis::JudgeCase(report.passes, report.runs, confidence);
  report.tie = analysis::JudgeScores(scores, threshold, confidence);
  // A score of 0 or 1 is a verdict: that its interval straddles 1 is the same as being flaky.
  const bool has_degrees = std::any_of(scores.begin(), scores.end(),
                                       [](double score) { return score != 0 && score != 1; });
  report.near_tie =
      (has_degrees && report.tie.near_tie) ||
      (report.least_margin.ok() && report.least_margin.value() < schema::kNearTieNats);
  report.judge_deviation = JudgeDeviation(samples.graded);
  return report;
}

analysis::Interval Unless(bool known, const Measure& mean, const Measure& se, double df,
                          double confidence) {
  if (!known) return analysis::NoInterval(Status::kInsufficientN);
  if (!mean.ok() || !se.ok()) return analysis::NoInterval(mean.ok() ? se.status() : mean.status());
  if (se.value() == 0) return analysis::NoInterval(Status::kZeroVariance);
  return analysis::StudentInterval(mean.value(), se.value(), df, confidence);
}

void FillIntervals(const std::vector<std::vector<double>>& scores, double confidence,
                   EvalReport* report) {
  report->variance = analysis::SplitVariance(scores);
  const analysis::VarianceSplit& split = report->variance;
  report->run_deviation = split.sd_of_run_means;
  const auto n = static_cast<double>(split.case_count);
  const auto k = static_cast<double>(split.runs_per_case);
  report->this_suite = Unless(k > 1, split.mean, split.se_fixed_suite, n * (k - 1), confidence);
  report->new_questions = Unless(n > 1, split.mean, split.se_superpopulation, n - 1, confidence);
}

void FillPasses(const std::vector<CaseReport>& cases, double confidence, EvalReport* report) {
  std::vector<analysis::PassCount> counts;
  std::vector<std::vector<double>> verdicts;
  int64_t passes = 0;
  int64_t missing = 0;
  for (const CaseReport& entry : cases) {
    missing += entry.missing;
    if (entry.runs == 0) continue;
    counts.push_back({entry.runs, entry.passes});
    passes += entry.passes;
    std::vector<double> of_case(static_cast<size_t>(entry.runs), 0.0);
    std::fill_n(of_case.begin(), entry.passes, 1.0);
    verdicts.push_back(std::move(of_case));
  }
  if (report->graded == 0) return;
  const double rate = static_cast<double>(passes) / static_cast<double>(report->graded);
  report->pass_rate_value = rate;
  report->pessimistic_pass_rate =
      static_cast<double>(passes) / static_cast<double>(report->graded + missing);
  // Answers to one case are alike: they count for less than as many answers to as many cases.
  const analysis::VarianceSplit split = analysis::SplitVariance(verdicts);
  auto effective = static_cast<double>(report->graded);
  if (report->all_equal) {
    effective = static_cast<double>(counts.size());
  } else if (split.runs_per_case > 1 && split.icc.ok()) {
    const Measure count =
        analysis::EffectiveCount(split.case_count, split.runs_per_case, split.icc.value());
    if (count.ok()) effective = count.value();
  }
  report->pass_rate = analysis::WilsonInterval(rate * effective, effective, confidence);
  for (const int64_t k : kShownPasses) {
    if (report->repeats != 0 && k > report->repeats) break;
    report->pass_at.emplace_back(k, analysis::SuitePassAtK(counts, k));
    report->pass_hat.emplace_back(k, analysis::SuitePassHatK(counts, k));
  }
}

void JudgeCompleteness(const EvalResults& results, const ReportOptions& options,
                       EvalReport* report) {
  const auto all = static_cast<double>(results.samples.size());
  const double missing = all - static_cast<double>(report->graded);
  if (report->graded == 0) {
    report->inconclusive_because = "no answer was graded";
  } else if (missing > options.most_missing * all) {
    report->inconclusive_because =
        absl::StrCat(static_cast<int64_t>(missing), " of ", static_cast<int64_t>(all),
                     " answers are missing or could not be graded");
  } else if (report->mode == Mode::kDistribution && report->repeats != 0 &&
             report->repeats < kLeastRepeats) {
    report->inconclusive_because =
        absl::StrCat("mode B needs at least ", kLeastRepeats, " answers for each case; there are ",
                     report->repeats);
  }
}

std::vector<const CaseReport*> Select(const std::vector<CaseReport>& cases,
                                      bool (*holds)(const CaseReport&)) {
  std::vector<const CaseReport*> selected;
  for (const CaseReport& entry : cases) {
    if (holds(entry)) selected.push_back(&entry);
  }
  return selected;
}

}  // namespace

std::vector<const CaseReport*> EvalReport::Flaky() const {
  return Select(cases, [](const CaseReport& entry) {
    return entry.flakiness.stability == analysis::CaseStability::kFlaky;
  });
}

std::vector<const CaseReport*> EvalReport::NearTies() const {
  return Select(cases, [](const CaseReport& entry) { return entry.near_tie; });
}

EvalReport ReportOn(const EvalResults& results, const ReportOptions& options) {
  EvalReport report{.mode = results.header.mode};
  const std::vector<CaseSamples> cases = GroupByCase(results, &report.missing);
  std::vector<std::vector<double>> scores;
  std::vector<const SampleResult*> graded;
  std::set<size_t> counts;
  report.all_equal = !cases.empty();
  for (const CaseSamples& samples : cases) {
    report.cases.push_back(ReportOnCase(samples, results.header.threshold, options.confidence));
    report.graded += report.cases.back().runs;
    counts.insert(samples.graded.size() + static_cast<size_t>(samples.missing));
    report.all_equal = report.all_equal && report.cases.back().unique_answers <= 1;
    graded.insert(graded.end(), samples.graded.begin(), samples.graded.end());
    if (samples.graded.empty()) continue;
    std::vector<double>& of_case = scores.emplace_back();
    for (const SampleResult* sample : samples.graded) of_case.push_back(*sample->score);
  }
  report.repeats = counts.size() == 1 ? static_cast<int64_t>(*counts.begin()) : 0;
  // Results of others may lack the answers, which shows nothing.
  const bool has_answers = std::any_of(graded.begin(), graded.end(),
                                       [](const auto* sample) { return !sample->answer.empty(); });
  report.all_equal = report.all_equal && has_answers && report.repeats > 1;
  report.effective_repeats =
      report.all_equal || report.mode == Mode::kBitwise ? 1 : static_cast<double>(report.repeats);
  FillIntervals(scores, options.confidence, &report);
  FillPasses(report.cases, options.confidence, &report);
  report.judge_deviation = JudgeDeviation(graded);
  JudgeCompleteness(results, options, &report);
  return report;
}

}  // namespace reenact::eval
