#include "replayer/eval/comparison.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "gtest/gtest.h"

#include "replayer/analysis/random.h"
#include "replayer/analysis/special_functions.h"

namespace reenact::eval {
namespace {

// Scores by case and repeat.
EvalResults Results(const std::vector<std::vector<double>>& scores) {
  EvalResults results;
  results.header = {.name = "e", .cases = "1", .grader = "regex"};
  results.header.repeats = static_cast<int64_t>(scores.front().size());
  for (size_t c = 0; c < scores.size(); ++c) {
    for (size_t k = 0; k < scores[c].size(); ++k) {
      results.samples.push_back({.case_id = "q" + std::to_string(c),
                                 .repeat = static_cast<int64_t>(k),
                                 .score = scores[c][k],
                                 .pass = scores[c][k] >= 1});
    }
  }
  return results;
}

std::vector<std::vector<double>> Same(size_t cases, size_t repeats, double score) {
  return std::vector(cases, std::vector(repeats, score));
}

TEST(Compare, ThePairedTestDecidesWhereIntervalsOverlap) {
  // stats_examples.json, paired_t/overlap_but_significant: case means of both sides.
  const double a[] = {0.98, 0.94, 0.9, 0.86, 0.8, 0.74, 0.66, 0.6, 0.5, 0.42};
  const double less[] = {0.08, 0.02, 0.14, 0.1, 0.04, 0.16, 0.06, 0.18, 0.0, 0.12};
  std::vector<std::vector<double>> scores_a, scores_b;
  for (int i = 0; i < 10; ++i) {
    scores_a.push_back(std::vector(5, a[i]));
    scores_b.push_back(std::vector(5, a[i] - less[i]));
  }
  const Comparison comparison = Compare(Results(scores_a), Results(scores_b));
  EXPECT_EQ(comparison.verdict, CompareVerdict::kABetter);
  const MetricComparison& metric = comparison.metrics.at(0);
  EXPECT_EQ(metric.decided_by, "sign-flip, exact");
  EXPECT_EQ(metric.overlap_says, "no difference");
  EXPECT_NE(metric.explanation.find("same cases"), std::string::npos);
  EXPECT_TRUE(metric.detectable.ok());
  EXPECT_TRUE(comparison.small_sample);
}

TEST(Compare, EqualSystemsAreNotToldApart) {
  const Comparison comparison = Compare(Results(Same(20, 5, 1)), Results(Same(20, 5, 1)));
  EXPECT_EQ(comparison.verdict, CompareVerdict::kNoDifference);
  EXPECT_EQ(comparison.metrics.at(0).detectable.status(), analysis::Status::kZeroVariance);
}

TEST(Compare, AConstantShiftIsSeenByTheSignTest) {
  const Comparison comparison = Compare(Results(Same(12, 5, 1)), Results(Same(12, 5, 0.5)));
  EXPECT_EQ(comparison.verdict, CompareVerdict::kABetter);
  EXPECT_EQ(comparison.metrics.at(0).decided_by, "sign test");
}

TEST(Compare, OneAnswerACaseIsATableOfPassesAndFails) {
  auto a = Same(20, 1, 1);
  auto b = Same(20, 1, 1);
  for (size_t i = 0; i < 8; ++i) b[i][0] = 0;
  EvalResults results_a = Results(a);
  EvalResults results_b = Results(b);
  results_a.header.mode = results_b.header.mode = Mode::kBitwise;
  ASSERT_TRUE(Comparable(results_a, results_b).ok());
  const Comparison comparison = Compare(results_a, results_b);
  const MetricComparison& metric = comparison.metrics.at(0);
  EXPECT_EQ(metric.decided_by, "McNemar mid-p");
  EXPECT_EQ(metric.mcnemar.discordant, 8);
  EXPECT_NEAR(metric.p.value(), std::pow(0.5, 8), 1e-12);  // 2 P(X = 0) - P(X = 0).
  EXPECT_EQ(comparison.verdict, CompareVerdict::kABetter);
}

TEST(Compare, ScoresAndPassesAreAFamilyOfTwo) {
  auto a = Same(20, 5, 0.9);
  auto b = Same(20, 5, 0.9);
  for (size_t i = 0; i < 20; ++i) a[i][0] = i % 2 == 0 ? 1 : 0.7;
  const Comparison comparison = Compare(Results(a), Results(b));
  ASSERT_EQ(comparison.metrics.size(), 2U);
  for (const MetricComparison& metric : comparison.metrics)
    EXPECT_GE(metric.adjusted.value(), metric.p.value());
}

std::string Refusal(const EvalResults& a, const EvalResults& b) {
  const absl::Status status = Comparable(a, b);
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  return std::string(status.message());
}

TEST(Compare, WhatCannotBeComparedIsRefusedByName) {
  const EvalResults five = Results(Same(4, 5, 1));
  EXPECT_TRUE(Comparable(five, five).ok());
  const EvalResults four = Results(Same(4, 4, 1));
  EXPECT_NE(Refusal(four, four).find("fewer than 5"), std::string::npos);
  EXPECT_NE(Refusal(five, Results(Same(4, 6, 1))).find("5 answers"), std::string::npos);
  EvalResults other = five;
  other.header.mode = Mode::kBitwise;
  EXPECT_NE(Refusal(five, other).find("mode"), std::string::npos);
  other = five;
  other.header.cases = "2";
  EXPECT_NE(Refusal(five, other).find("other case files"), std::string::npos);
  other = five;
  other.header.grader = "judge";
  EXPECT_NE(Refusal(five, other).find("graded by"), std::string::npos);
}

TEST(Compare, OneEndpointInTwoFingerprintEpochsIsRefused) {
  EvalResults a = Results(Same(4, 5, 1));
  a.header.target = "url http://127.0.0.1:1/v1";
  EvalResults b = a;
  for (SampleResult& sample : a.samples) sample.fingerprint = "fp_a";
  for (SampleResult& sample : b.samples) sample.fingerprint = "fp_b";
  EXPECT_NE(Refusal(a, b).find("fp_b"), std::string::npos);
  b.samples[0].fingerprint = "fp_a";  // A replica of before still answers.
  EXPECT_TRUE(Comparable(a, b).ok());
  b.header.target = "url http://127.0.0.1:2/v1";  // Another endpoint has other fingerprints.
  EXPECT_TRUE(Comparable(a, b).ok());
}

TEST(Compare, CasesOnOneSideAreListedAndTooManyLeaveNoVerdict) {
  EvalResults a = Results(Same(20, 5, 1));
  EvalResults b = a;
  std::erase_if(b.samples, [](const SampleResult& sample) { return sample.case_id == "q3"; });
  Comparison comparison = Compare(a, b);
  EXPECT_EQ(comparison.only_a, std::vector<std::string>{"q3"});
  EXPECT_EQ(comparison.verdict, CompareVerdict::kNoDifference);
  std::erase_if(b.samples, [](const SampleResult& s) { return s.case_id.starts_with("q1"); });
  comparison = Compare(a, b);
  EXPECT_EQ(comparison.verdict, CompareVerdict::kInconclusive);
  EXPECT_FALSE(comparison.inconclusive_because.empty());
}

TEST(Compare, AnswersOfACacheCountOnce) {
  EvalResults a = Results(Same(2, 5, 1));
  for (SampleResult& sample : a.samples) sample.response_id = "chatcmpl-1";
  const Comparison comparison = Compare(a, a);
  EXPECT_EQ(comparison.missing_a, 8);
}

// Passes of 5 answers to each case.
EvalResults Drawn(analysis::RandomStream* random, const std::vector<double>& probability) {
  std::vector<std::vector<double>> scores;
  for (const double p : probability) {
    std::vector<double>& of_case = scores.emplace_back();
    for (int k = 0; k < 5; ++k) of_case.push_back(random->Uniform() < p ? 1 : 0);
  }
  return Results(scores);
}

bool IsLong() {
  const char* const wanted = std::getenv("REENACT_LONG");
  return wanted != nullptr && *wanted != '\0' && *wanted != '0';
}

// The share of comparisons that tell two systems apart, of 50 cases and 5 answers, where B passes
// each case more often by `shift`. Most cases are nearly always or nearly never passed, as those of
// a suite are: logits of N(0.8, 2), probabilities between 0.02 and 0.98.
double ShareTold(double shift, int simulations) {
  int told = 0;
  for (int s = 0; s < simulations; ++s) {
    analysis::RandomStream random(20261130, static_cast<uint64_t>(s));
    std::vector<double> a, b;
    for (int c = 0; c < 50; ++c) {
      const double logit = 0.8 + 2 * analysis::NormalQuantile(random.Uniform());
      a.push_back(std::clamp(1 / (1 + std::exp(-logit)), 0.02, 0.98));
      b.push_back(std::min(a.back() + shift, 0.98));
    }
    const EvalResults results_a = Drawn(&random, a);
    told += Compare(results_a, Drawn(&random, b)).verdict != CompareVerdict::kNoDifference ? 1 : 0;
  }
  return static_cast<double>(told) / simulations;
}

// Beside what another simulation of a paired t test on case means found, in code that is not ours:
// within four standard errors of both, where that one is taken to have drawn 2,000 times.
TEST(Compare, ItKeepsItsLevelAndHasThePowerOfAPairedTest) {
  struct Row {
    double shift;
    double expected;
  };

  const int simulations = IsLong() ? 2000 : 200;
  std::printf("| pass rates apart by | told apart | elsewhere |\n| --- | --- | --- |\n");
  for (const Row& row : {Row{0, 0.056}, Row{0.03, 0.130}, Row{0.05, 0.266}, Row{0.10, 0.688}}) {
    const double told = ShareTold(row.shift, simulations);
    std::printf("| %.2f | %.3f | %.3f |\n", row.shift, told, row.expected);
    const double error =
        std::sqrt(row.expected * (1 - row.expected) * (1.0 / simulations + 1.0 / 2000));
    EXPECT_NEAR(told, row.expected, 4 * error);
    if (row.shift == 0) {
      EXPECT_LE(told, IsLong() ? 0.06 : 0.09);
    }
  }
}

}  // namespace
}  // namespace reenact::eval
