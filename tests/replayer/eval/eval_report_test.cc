#include "replayer/eval/eval_report.h"

#include "gtest/gtest.h"

namespace reenact::eval {
namespace {

// Passes of each case, in order: "11101".
EvalResults PassResults(const std::vector<std::string>& cases) {
  EvalResults results;
  results.header.repeats = static_cast<int64_t>(cases.front().size());
  for (size_t c = 0; c < cases.size(); ++c) {
    for (size_t k = 0; k < cases[c].size(); ++k) {
      const bool pass = cases[c][k] == '1';
      results.samples.push_back({.case_id = "q" + std::to_string(c),
                                 .repeat = static_cast<int64_t>(k),
                                 .score = pass ? 1.0 : 0.0,
                                 .pass = pass,
                                 .answer = pass ? "right" : "wrong"});
      if (cases[c][k] != 'x') continue;
      results.samples.back().status = "rate_limited";
      results.samples.back().score = std::nullopt;
    }
  }
  return results;
}

TEST(EvalReport, PassesAreCountedOverCases) {
  const EvalReport report = ReportOn(PassResults({"11111", "11110", "00000"}));
  EXPECT_EQ(report.inconclusive_because, "");
  EXPECT_EQ(report.repeats, 5);
  EXPECT_NEAR(report.variance.mean.value(), 9.0 / 15, 1e-12);
  ASSERT_EQ(report.pass_at.size(), 3U);
  EXPECT_NEAR(report.pass_hat[0].second.value(), 9.0 / 15, 1e-12);
  EXPECT_NEAR(report.pass_hat[2].second.value(), 1.0 / 3, 1e-12);  // All five: one case of three.
  EXPECT_NEAR(report.pass_at[2].second.value(), 2.0 / 3, 1e-12);
}

TEST(EvalReport, FlakyCasesStandApart) {
  const EvalReport report = ReportOn(PassResults({"11111", "11110", "00000"}));
  ASSERT_EQ(report.Flaky().size(), 1U);
  EXPECT_EQ(report.Flaky()[0]->id, "q1");
  EXPECT_NEAR(report.Flaky()[0]->flakiness.flip_rate.value(), 0.4, 1e-12);
  // Five passes hide a rate of failure of up to 45 %.
  EXPECT_NEAR(report.cases[0].flakiness.hidden_upper.value(), 0.4507, 1e-3);
}

TEST(EvalReport, BothQuestionsHaveAnIntervalAndTheyDiffer) {
  const EvalReport report = ReportOn(PassResults({"11111", "11110", "00000", "11011"}));
  ASSERT_TRUE(report.this_suite.lo.ok());
  ASSERT_TRUE(report.new_questions.lo.ok());
  EXPECT_GT(report.new_questions.hi.value() - report.new_questions.lo.value(),
            report.this_suite.hi.value() - report.this_suite.lo.value());
}

TEST(EvalReport, EqualAnswersAreOneObservation) {
  const EvalReport report = ReportOn(PassResults({"11111", "11111", "00000"}));
  EXPECT_TRUE(report.all_equal);
  EXPECT_EQ(report.effective_repeats, 1);
  // Two passes of three, not ten of fifteen.
  const analysis::Interval expected = analysis::WilsonInterval(2, 3);
  EXPECT_NEAR(report.pass_rate.lo.value(), expected.lo.value(), 1e-9);
  EXPECT_EQ(report.this_suite.status, analysis::Status::kZeroVariance);
  const EvalReport varied = ReportOn(PassResults({"11110", "11111", "00000"}));
  EXPECT_FALSE(varied.all_equal);
  EXPECT_EQ(varied.effective_repeats, 5);
}

TEST(EvalReport, WhatIsMissingIsCountedByNameAndNeverAsAFail) {
  EvalResults results = PassResults({"11111", "11111", "1111x"});
  const EvalReport report = ReportOn(results);
  EXPECT_EQ(report.missing.at("rate_limited"), 1);
  EXPECT_EQ(report.pass_rate_value.value(), 1);
  EXPECT_NEAR(report.pessimistic_pass_rate, 14.0 / 15, 1e-12);
  EXPECT_EQ(report.inconclusive_because, "");
  const EvalReport worse = ReportOn(PassResults({"11111", "11xx1", "1111x"}));
  EXPECT_NE(worse.inconclusive_because, "");
}

TEST(EvalReport, FewerThanFiveAnswersAreInconclusiveButForModeA) {
  EvalResults results = PassResults({"1", "0"});
  EXPECT_NE(ReportOn(results).inconclusive_because.find("at least 5"), std::string::npos);
  results.header.mode = Mode::kBitwise;
  EXPECT_EQ(ReportOn(results).inconclusive_because, "");
  EXPECT_EQ(ReportOn(results).effective_repeats, 1);
}

TEST(EvalReport, ANearTieIsAScoreAtTheThresholdOrATokenOfASmallMargin) {
  EvalResults results;
  results.header.threshold = 0.8;
  const double near[] = {0.82, 0.78, 0.81, 0.79, 0.83};
  for (int64_t k = 0; k < 5; ++k) {
    results.samples.push_back(
        {.case_id = "near", .repeat = k, .score = near[k], .pass = near[k] >= 0.8});
  }
  for (int64_t k = 0; k < 5; ++k)
    results.samples.push_back({.case_id = "clear", .repeat = k, .score = 0.99, .pass = true});
  for (int64_t k = 0; k < 5; ++k) {
    results.samples.push_back({.case_id = "token",
                               .repeat = k,
                               .score = 1,
                               .pass = true,
                               .least_margin_nats = k == 3 ? 0.02 : 2.0});
  }
  const EvalReport report = ReportOn(results);
  ASSERT_EQ(report.NearTies().size(), 2U);
  EXPECT_EQ(report.NearTies()[0]->id, "near");
  EXPECT_EQ(report.NearTies()[1]->id, "token");
  EXPECT_NEAR(report.NearTies()[1]->least_margin.value(), 0.02, 1e-12);
}

TEST(EvalReport, TheNoiseOfAJudgeIsItsOwn) {
  EvalResults results = PassResults({"11111"});
  for (SampleResult& sample : results.samples) sample.judge_scores = {1, 0, 1};
  const EvalReport report = ReportOn(results);
  EXPECT_NEAR(report.judge_deviation.value(), 0.57735, 1e-4);
  EXPECT_FALSE(ReportOn(PassResults({"11111"})).judge_deviation.ok());
}

TEST(EvalReport, NothingIsInconclusive) {
  EXPECT_NE(ReportOn(EvalResults()).inconclusive_because, "");
}

}  // namespace
}  // namespace reenact::eval
