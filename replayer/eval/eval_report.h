// What the answers of one eval say, and how sure that is. Two questions have two intervals: this
// suite, asked again (decoding noise only), and new questions of the same kind.

#ifndef REENACT_REPLAYER_EVAL_EVAL_REPORT_H_
#define REENACT_REPLAYER_EVAL_EVAL_REPORT_H_

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "replayer/analysis/clustered.h"
#include "replayer/analysis/intervals.h"
#include "replayer/analysis/near_tie.h"
#include "replayer/eval/results.h"

namespace reenact::eval {

struct CaseReport {
  std::string id;
  int64_t runs = 0;  // Graded.
  int64_t passes = 0;
  int64_t missing = 0;  // Without a grade.
  int64_t unique_answers = 0;
  analysis::Measure mean;  // Of the scores.
  analysis::Flakiness flakiness;
  analysis::ScoreTie tie;          // Of the mean score and the threshold.
  bool near_tie = false;           // That, or a token whose margin is below schema::kNearTieNats.
  analysis::Measure least_margin;  // Nats, of all answers.
  analysis::Measure judge_deviation;  // Of a judge that read the same answer several times.
};

struct EvalReport {
  Mode mode = Mode::kDistribution;
  std::string inconclusive_because;  // Empty: the figures stand.
  int64_t repeats = 0;               // 0: not the same for all cases.
  int64_t graded = 0;
  std::map<std::string, int64_t> missing;  // By status; "repeated" are a cache's.
  analysis::VarianceSplit variance;        // Mean, and both standard errors.
  analysis::Measure run_deviation;         // The "± std" of the suite's mean over runs.
  analysis::Interval this_suite;           // Of the mean: these questions, asked again.
  analysis::Interval new_questions;        // Of the mean: others of their kind.
  analysis::Interval pass_rate;            // Wilson, with the effective number of answers.
  analysis::Measure pass_rate_value;
  double pessimistic_pass_rate = 0;                            // What is missing counted as failed.
  std::vector<std::pair<int64_t, analysis::Measure>> pass_at;  // By k: one of k passes.
  std::vector<std::pair<int64_t, analysis::Measure>> pass_hat;  // By k: all k pass.
  // Independent answers for each case: 1 where all answers of every case are equal.
  double effective_repeats = 0;
  bool all_equal = false;
  analysis::Measure judge_deviation;  // Pooled; its own noise, and none of the model's.
  std::vector<CaseReport> cases;

  std::vector<const CaseReport*> Flaky() const;
  std::vector<const CaseReport*> NearTies() const;
};

struct ReportOptions {
  double confidence = analysis::kDefaultConfidence;
  double most_missing = 0.1;  // Of samples.
};

EvalReport ReportOn(const EvalResults& results, const ReportOptions& options = {});

}  // namespace reenact::eval

#endif  // REENACT_REPLAYER_EVAL_EVAL_REPORT_H_
