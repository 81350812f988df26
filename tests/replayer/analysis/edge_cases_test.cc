// No data, too few, no variance: a status, never a number that looks like one. And figures that
// others get wrong: ours, and why.

#include <cmath>
#include <vector>

#include "gtest/gtest.h"

#include "replayer/analysis/agreement.h"
#include "replayer/analysis/bootstrap.h"
#include "replayer/analysis/clustered.h"
#include "replayer/analysis/drift_series.h"
#include "replayer/analysis/intervals.h"
#include "replayer/analysis/near_tie.h"
#include "replayer/analysis/noise_floor.h"
#include "replayer/analysis/paired.h"
#include "replayer/analysis/paired_proportions.h"
#include "replayer/analysis/power.h"
#include "replayer/analysis/text_distance.h"
#include "replayer/analysis/token_counts.h"
#include "replayer/analysis/top_divergence.h"
#include "replayer/analysis/uniformity.h"
#include "replayer/analysis/unpaired.h"

namespace reenact::analysis {
namespace {

using Values = std::vector<double>;

TEST(EdgeCases, NoDataIsSaidEverywhere) {
  const Values none;
  EXPECT_EQ(Summarise(none).mean.status(), Status::kNoData);
  EXPECT_EQ(StudentInterval(none).interval.status, Status::kNoData);
  EXPECT_EQ(WilsonInterval(int64_t{0}, int64_t{0}).status, Status::kNoData);
  EXPECT_EQ(ClopperPearsonInterval(0, 0).status, Status::kNoData);
  EXPECT_EQ(ComparePaired(none, none).p.status(), Status::kNoData);
  EXPECT_EQ(SignFlipTest(none).p.status(), Status::kNoData);
  EXPECT_EQ(DifferenceOfPaired({}).tango.status, Status::kNoData);
  EXPECT_EQ(BootstrapInterval(none).bca_linear.status, Status::kNoData);
  EXPECT_EQ(JudgeAgainstBaselines(none, 1).status, Status::kNoData);
  EXPECT_EQ(MeasureAgreement({}).status, Status::kNoData);
  EXPECT_EQ(CompareCounts({}, {}).p.status(), Status::kNoData);
  EXPECT_EQ(CompareTexts({}, {}).p.status(), Status::kNoData);
  EXPECT_EQ(TestUniformity(none).p.status(), Status::kNoData);
  EXPECT_EQ(SplitVariance({}).mean.status(), Status::kNoData);
}

TEST(EdgeCases, OneValueHasAMeanAndNoInterval) {
  const MeanInterval one = StudentInterval(Values{0.7});
  EXPECT_EQ(one.summary.mean.value(), 0.7);
  EXPECT_EQ(one.summary.sd.status(), Status::kInsufficientN);
  EXPECT_EQ(one.interval.lo.status(), Status::kInsufficientN);
  EXPECT_EQ(BootstrapInterval(Values{0.7}).percentile_linear.status, Status::kInsufficientN);
  EXPECT_EQ(ComparePaired(Values{1}, Values{2}).p.status(), Status::kInsufficientN);
  EXPECT_NEAR(WilsonInterval(int64_t{1}, int64_t{1}).lo.value(), 0.2065, 1e-4);
}

// The sum of squares of 0.8, 0.8, 0.8 about their mean is not 0 in binary64.
TEST(EdgeCases, EqualValuesAreRecognisedByComparison) {
  const MeanInterval result = StudentInterval(Values{0.8, 0.8, 0.8});
  EXPECT_EQ(result.summary.sd.value(), 0);
  EXPECT_EQ(result.interval.status, Status::kZeroVariance);
  EXPECT_EQ(ComparePaired(Values{1, 2}, Values{1, 2}).p.status(), Status::kZeroVariance);
  EXPECT_EQ(ComparePaired(Values{1, 2}, Values{0, 1}).p.status(), Status::kConstantShift);
  EXPECT_EQ(SignTest(Values{1, 1, 1}).value(), 0.25);
  EXPECT_EQ(McNemarTest(0, 0).status, Status::kNoDiscordant);
  EXPECT_EQ(BootstrapInterval(Values{2, 2, 2}).bca_linear.status, Status::kZeroVariance);
}

// A missing measurement that reached a statistic as NaN must not sort, count or compare as a
// number.
TEST(EdgeCases, WhatIsNotFiniteMakesNoNumber) {
  for (const double bad : {double{NAN}, double{INFINITY}, -double{INFINITY}}) {
    const Values x = {0.5, bad, 0.25, 1};
    EXPECT_EQ(Summarise(x).median.status(), Status::kOutOfRange);
    EXPECT_FALSE(StudentInterval(x).interval.lo.ok());
    EXPECT_FALSE(ComparePaired(x, Values{1, 2, 3, 4}).p.ok());
    EXPECT_FALSE(SignFlipTest(x).p.ok());
    EXPECT_FALSE(SignTest(x).ok());
    EXPECT_FALSE(BootstrapInterval(x).bca_linear.lo.ok());
    EXPECT_FALSE(CompareSamples(x, x).ks_p.ok());
    EXPECT_FALSE(JudgeAgainstBaselines(x, 1).p.ok());
    EXPECT_FALSE(JudgeAgainstBaselines(Values{1, 2}, bad).p.ok());
    EXPECT_FALSE(TestUniformity(x).p.ok());
    EXPECT_FALSE(JudgeScores(x, 0.8).mean.ok());
    const std::vector<Values> cases = {x, {1, 2, 3, 4}};
    EXPECT_FALSE(SplitVariance(cases).variance_between.ok());
    EXPECT_FALSE(MeanOfClusters(x, std::vector<int64_t>{0, 0, 1, 1}).se_cr1.ok());
  }
  EXPECT_EQ(CompareTop({{"a", NAN}}, {{"a", -1}}).status, Status::kOutOfRange);
}

TEST(EdgeCases, SidesThatDifferInSizeAreNotCompared) {
  EXPECT_EQ(ComparePaired(Values{1, 2}, Values{1}).p.status(), Status::kNotComparable);
  const std::vector<RepeatedCase> uneven = {{.raw = {"a", "a"}}, {.raw = {"a"}}};
  EXPECT_EQ(MeasureAgreement(uneven).status, Status::kNotComparable);
}

TEST(EdgeCases, UnequalNumbersOfRunsWeighEveryCaseTheSame) {
  const std::vector<Values> cases = {{1, 1, 1, 1}, {0}};
  const VarianceSplit split = SplitVariance(cases);
  EXPECT_EQ(split.mean.value(), 0.5);
  EXPECT_EQ(split.se_superpopulation.value(), 0.5);
  EXPECT_EQ(split.icc.status(), Status::kNotComparable);
}

TEST(EdgeCases, AStableFloorNeedsNoZ) {
  const Values still(19, 0.0);
  EXPECT_EQ(JudgeAgainstBaselines(still, 0).status, Status::kBitStable);
  EXPECT_EQ(JudgeAgainstBaselines(still, 1e-7).status, Status::kBitwiseChange);
  EXPECT_FALSE(JudgeAgainstBaselines(still, 1e-7).robust_z.ok());
  EXPECT_EQ(JudgeAgainstBaselines(Values(5, 0.01), 1).threshold_alpha05.status(),
            Status::kInsufficientN);
}

TEST(EdgeCases, AnUnparsableRunBreaksAgreementOfAnswers) {
  const RepeatedCase one{.raw = {"x", "x"}, .parsed = {std::nullopt, std::nullopt}};
  const TotalAgreement result = MeasureAgreement({&one, 1});
  EXPECT_EQ(result.raw.value(), 1);
  EXPECT_EQ(result.parsed.value(), 0);
}

TEST(NearTies, VerdictsThatFlipAreFlaggedThoughTheIntervalIsClear) {
  Values scores(9, 0.9);
  scores.push_back(0.79);
  const ScoreTie tie = JudgeScores(scores, 0.8);
  EXPECT_FALSE(tie.interval_straddles);
  EXPECT_TRUE(tie.near_tie);
  EXPECT_EQ(JudgeScores(Values{0.8, 0.8, 0.8}, 0.8).near_tie, true);
}

TEST(NearTies, TailsKeepTheirRelativePrecision) {
  const double p = FlipProbability(0.1, 0.005).value();
  EXPECT_NEAR(p / 2.7536241186061556e-89, 1, 1e-9);
}

TEST(NearTies, AStableCaseMayStillHideAFlake) {
  const Flakiness five = JudgeCase(5, 5);
  EXPECT_EQ(five.stability, CaseStability::kStablePass);
  EXPECT_NEAR(five.hidden_upper.value(), 0.451, 5e-4);
  EXPECT_NEAR(JudgeCase(4, 5).flip_rate.value(), 0.4, 1e-15);
  EXPECT_EQ(RunsToSeeFlake(0.9, 0.95).value(), 29);
}

// cf. inspect_ai: an all-pass sample gets the interval [1, 1] there.
TEST(WrongElsewhere, AllPassIsNotCertainty) {
  EXPECT_EQ(StudentInterval(Values(5, 1.0)).interval.status, Status::kZeroVariance);
  EXPECT_NEAR(WilsonInterval(int64_t{5}, int64_t{5}).lo.value(), 0.5655, 1e-4);
}

// cf. evalstats: a formula without the restricted estimate, [0.348, 0.783] here, leaves out the
// estimate itself, and gives +-0.036 for 50 concordant pairs.
TEST(WrongElsewhere, TangoHoldsItsEstimate) {
  const PairedDifference five = DifferenceOfPaired({.only_a = 5});
  EXPECT_EQ(five.diff.value(), 1);
  EXPECT_EQ(five.tango.hi.value(), 1);
  EXPECT_NEAR(DifferenceOfPaired({.both_pass = 50}).tango.hi.value(), 0.0713, 1e-4);
}

// cf. OpenAI evals: half-sampling without replacement makes a standard error that is
// sqrt((n+1)/(n-1)) too large for odd n: 1.22 times at n = 5.
TEST(WrongElsewhere, BootstrapDeviationIsThatOfTheMean) {
  const Values x = {1, 2, 3, 4, 15};
  const double right = std::sqrt(SquaredDeviations(x) / 5 / 5);
  EXPECT_NEAR(BootstrapInterval(x).se.value(), right, 1e-12);
}

// cf. lm-eval-harness' comparator: an unpaired z on the same documents sees nothing here.
TEST(WrongElsewhere, PairingDecidesWhatOverlapHides) {
  const Values a = {0.9, 0.8, 1.0, 0.6, 0.7, 0.4, 1.0, 0.9, 0.3, 0.8};
  const Values b = {0.8, 0.7, 0.9, 0.6, 0.6, 0.3, 1.0, 0.7, 0.2, 0.7};
  const PairedT result = ComparePaired(a, b);
  EXPECT_TRUE(result.intervals_overlap);
  EXPECT_GT(result.welch_p.value(), 0.4);
  EXPECT_LT(result.p.value(), 0.001);
}

// cf. model-equality-testing: labels that change places across prompts answer another question, and
// p may be 0 there.
TEST(WrongElsewhere, TextsArePermutedWithinTheirPrompt) {
  const std::vector<TextSample> x = {{0, {1, 1}}, {0, {1, 1}}, {1, {5, 5}}, {1, {5, 5}}};
  const std::vector<TextSample> y = {{0, {2, 2}}, {0, {2, 2}}, {1, {6, 6}}, {1, {6, 6}}};
  const TextDistance within = CompareTexts(x, y);
  EXPECT_EQ(within.draw_count, 36);
  // Both prompts must be told apart, each as it is or the other way round.
  EXPECT_NEAR(within.p.value(), 4.0 / 36, 1e-12);
  EXPECT_EQ(CompareTexts(x, y, {.within_prompt = false}).draw_count, 70);
  EXPECT_GT(CompareTexts(x, y, {.exact_up_to = 0, .draws = 99}).p.value(), 0);
}

// cf. the b3it demo: a slice with a negative end lets the baseline look into the future there.
TEST(WrongElsewhere, TheDetectorsBaselineLiesInThePast) {
  Values series(12, 0.05);
  series[2] = 1;  // Nothing before it: not judged.
  const TrailingResult result = DetectTrailing(series);
  for (size_t i = 0; i < 9; ++i) EXPECT_FALSE(result.deviates[i].has_value()) << i;
  EXPECT_EQ(result.deviates[9], std::optional<bool>(false));
}

// cf. the rank of the RUT paper: not uniform for few reference samples.
TEST(WrongElsewhere, RanksAreUniformForEveryNumberOfReferences) {
  RandomStream random(11, 0);
  Values exact;
  Values published;
  for (int i = 0; i < 500; ++i) {
    Values reference(5);
    for (double& value : reference) value = random.Uniform();
    const RandomisedRank rank = RankAmong(random.Uniform(), reference, random.Uniform());
    exact.push_back(rank.exact.value());
    published.push_back(rank.published.value());
  }
  EXPECT_GT(TestUniformity(exact).p.value(), 0.01);
  EXPECT_LT(TestUniformity(published).p.value(), 0.01);
}

TEST(Drift, PersistenceAsksForARunOfWindows) {
  EXPECT_EQ(FirstPersistent({true, true, false, true, true, true}, 3), std::optional<size_t>(5));
  EXPECT_EQ(FirstPersistent({true, true, false, true, true}, 3), std::nullopt);
}

TEST(Counts, ExactAndDrawnPermutationsAgree) {
  const Counts before{{"a", 6}, {"b", 3}, {"c", 1}};
  const Counts after{{"a", 1}, {"b", 4}, {"d", 5}};
  const CountComparison exact = CompareCounts(before, after);
  const CountComparison drawn = CompareCounts(before, after, {.exact_up_to = 0});
  ASSERT_TRUE(exact.exact);
  ASSERT_FALSE(drawn.exact);
  EXPECT_NEAR(exact.p.value(), drawn.p.value(), 0.01);
}

}  // namespace
}  // namespace reenact::analysis
