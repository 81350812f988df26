#include "schema/logprob.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <sstream>
#include <string>
#include <vector>

#include "schema/json_view.h"

namespace reenact::schema {
namespace {

std::string ReadData(const std::string& name) {
  std::ifstream file(REENACT_SCHEMA_TEST_DATA "/" + name);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

TokenAlternative Token(std::string text, double logprob) {
  TokenAlternative token;
  token.token = text;
  token.bytes = std::move(text);
  token.logprob = logprob;
  token.censored = logprob <= kCensoredLogprob;
  return token;
}

LogprobSeries Series(std::vector<TokenLogprob> tokens) {
  return {.tokens = std::move(tokens)};
}

TEST(NearTie, MarginIsBestMinusSecondBest) {
  const LogprobSeries series = Series({
      {.chosen = Token("a", -0.1), .top = {Token("a", -0.1), Token("b", -2.5)}},
      {.chosen = Token("x", -0.70), .top = {Token("x", -0.70), Token("y", -0.75)}},
  });
  int64_t unknown = -1;
  const std::vector<NearTie> ties = FindNearTies(series, kNearTieNats, &unknown);
  ASSERT_EQ(ties.size(), 1u);
  EXPECT_EQ(ties[0].token_index, 1);
  EXPECT_NEAR(ties[0].margin_nats, 0.05, 1e-12);
  EXPECT_EQ(ties[0].chosen.token, "x");
  EXPECT_EQ(ties[0].runner_up.token, "y");
  EXPECT_TRUE(ties[0].chosen_is_best);
  EXPECT_EQ(unknown, 0);
}

// cases/reports.md 53
TEST(NearTie, ExactTieAndSmallGapAreMarked) {
  const double half = std::log(0.5);
  const LogprobSeries series = Series({
      {.chosen = Token("a", half), .top = {Token("a", half), Token("b", half)}},
      {.chosen = Token("c", -0.63), .top = {Token("c", -0.63), Token("d", -0.63 - 0.125)}},
  });
  std::vector<NearTie> ties = FindNearTies(series, kNearTieNats, nullptr);
  ASSERT_EQ(ties.size(), 1u);
  EXPECT_EQ(ties[0].margin_nats, 0);
  EXPECT_TRUE(ties[0].chosen_is_best);
  EXPECT_EQ(ties[0].runner_up.token, "b");
  ties = FindNearTies(series, 0.126, nullptr);
  ASSERT_EQ(ties.size(), 2u);
  EXPECT_NEAR(ties[1].margin_nats, 0.125, 1e-12);
}

TEST(NearTie, OneAlternativeIsUnknownNotCertain) {
  const LogprobSeries series = Series({
      {.chosen = Token("a", -0.1), .top = {Token("a", -0.1)}},
      {.chosen = Token("a", -0.1)},
      {.chosen = Token("a", -0.1), .top = {Token("a", -0.1), Token("b", -9999)}},
      {.chosen = Token("a", -0.1),
       .top = {Token("a", -0.1), Token("b", std::numeric_limits<float>::lowest())}},
  });
  int64_t unknown = 0;
  EXPECT_TRUE(FindNearTies(series, 1e9, &unknown).empty());
  EXPECT_EQ(unknown, 4);
}

TEST(NearTie, ChosenTokenMayBeOutsideTheList) {
  const LogprobSeries series = Series({
      {.chosen = Token("z", -3.0), .top = {Token("a", -1.0), Token("b", -1.02)}},
      {.chosen = Token("z", -9999), .top = {Token("a", -1.0), Token("b", -1.02)}},
      {.chosen = Token("b", -1.02), .top = {Token("a", -1.0), Token("b", -1.02)}},
  });
  const std::vector<NearTie> ties = FindNearTies(series, kNearTieNats, nullptr);
  ASSERT_EQ(ties.size(), 3u);
  for (const NearTie& tie : ties) {
    EXPECT_NEAR(tie.margin_nats, 0.02, 1e-12);
    EXPECT_FALSE(tie.chosen_is_best);
    EXPECT_EQ(tie.runner_up.token, "a");
  }
}

TEST(NearTie, OrderOfAlternativesDoesNotMatter) {
  // vLLM puts the sampled token first.
  const LogprobSeries series =
      Series({{.chosen = Token("b", -2.0),
               .top = {Token("b", -2.0), Token("a", -0.5), Token("c", -0.55)}}});
  const std::vector<NearTie> ties = FindNearTies(series, kNearTieNats, nullptr);
  ASSERT_EQ(ties.size(), 1u);
  EXPECT_NEAR(ties[0].margin_nats, 0.05, 1e-12);
  EXPECT_EQ(ties[0].runner_up.token, "a");
}

// cases/reports.md 44
TEST(NearTie, AlternativesThatReadAlikeAreNotMerged) {
  TokenAlternative first = Token("", -0.69);
  TokenAlternative second = Token("", -0.70);
  first.bytes.reset();
  second.bytes.reset();
  const LogprobSeries series = Series({{.chosen = first, .top = {first, second}}});
  int64_t unknown = -1;
  const std::vector<NearTie> ties = FindNearTies(series, kNearTieNats, &unknown);
  ASSERT_EQ(ties.size(), 1u);
  EXPECT_NEAR(ties[0].margin_nats, 0.01, 1e-12);
  EXPECT_EQ(unknown, 0);
}

TEST(NearTie, IdsDecideWhereOffered) {
  TokenAlternative chosen = Token("?", -0.5);
  TokenAlternative same = Token("?", -0.5);
  TokenAlternative other = Token("?", -0.5);
  chosen.id = 7;
  other.id = 8;
  same.id = 7;
  const LogprobSeries series = Series({{.chosen = chosen, .top = {other, same}}});
  const std::vector<NearTie> ties = FindNearTies(series, kNearTieNats, nullptr);
  ASSERT_EQ(ties.size(), 1u);
  EXPECT_EQ(ties[0].runner_up.id, 8);
}

// cases/reports.md 46
TEST(NearTie, ImpossibleLogprobsAreExcluded) {
  const LogprobSeries series = Series({
      {.chosen = Token("a", 1.322), .top = {Token("a", 1.322), Token("b", -1.0), Token("c", -1.0)}},
      {.chosen = Token("a", -0.1), .top = {Token("a", -0.1), Token("b", 0.5)}},
      {.chosen = Token("a", 1e-7), .top = {Token("a", 1e-7), Token("b", -0.01)}},
  });
  int64_t unknown = 0;
  const std::vector<NearTie> ties = FindNearTies(series, kNearTieNats, &unknown);
  EXPECT_EQ(unknown, 2);
  ASSERT_EQ(ties.size(), 1u);
  EXPECT_EQ(ties[0].token_index, 2);
}

// cases/reports.md 47
TEST(NearTie, MisalignedSeriesIsExcluded) {
  LogprobSeries series =
      Series({{.chosen = Token("a", -0.7), .top = {Token("a", -0.7), Token("b", -0.7)}}});
  ASSERT_EQ(FindNearTies(series, kNearTieNats, nullptr).size(), 1u);
  series.anomalies = {"misaligned:ids=5,logprobs=6"};
  int64_t unknown = 0;
  EXPECT_TRUE(FindNearTies(series, kNearTieNats, &unknown).empty());
  EXPECT_EQ(unknown, 1);
}

TEST(NearTie, FlipProbabilityAgreesWithIndependentValues) {
  const std::string text = ReadData("near_ties.json");
  const auto document = JsonDocument::Parse(text);
  ASSERT_TRUE(document);
  const JsonValue rows = document->root()["near_tie_token"];
  ASSERT_GT(rows.size(), 0u);
  for (size_t i = 0; i < rows.size(); ++i) {
    const double expected = *rows[i]["p_flip"].AsDouble();
    const double actual =
        FlipProbability(*rows[i]["margin"].AsDouble(), *rows[i]["sigma_margin"].AsDouble());
    EXPECT_NEAR(actual, expected, 1e-12 * std::max(expected, 1e-80)) << rows[i].raw();
  }
  EXPECT_EQ(FlipProbability(0.1, 0), 0);
  EXPECT_EQ(FlipProbability(-0.1, 0), 1);
}

TEST(NearTie, SequencesAgreeWithIndependentValues) {
  const std::string text = ReadData("near_ties.json");
  const auto document = JsonDocument::Parse(text);
  ASSERT_TRUE(document);
  const JsonValue rows = document->root()["near_tie_sequence"];
  ASSERT_GT(rows.size(), 0u);
  for (size_t i = 0; i < rows.size(); ++i) {
    LogprobSeries series;
    const JsonValue margins = rows[i]["margins"];
    for (size_t k = 0; k < margins.size(); ++k) {
      const double margin = *margins[k].AsDouble();
      series.tokens.push_back(
          {.chosen = Token("a", -0.25), .top = {Token("a", -0.25), Token("b", -0.25 - margin)}});
    }
    const auto below = FindNearTies(series, *rows[i]["tau"].AsDouble(), nullptr);
    EXPECT_EQ(static_cast<int64_t>(below.size()), *rows[i]["n_below_tau"].AsInt64());
    const auto all = FindNearTies(series, 1e9, nullptr);
    ASSERT_EQ(all.size(), margins.size());
    const auto smallest = std::min_element(
        all.begin(), all.end(),
        [](const NearTie& a, const NearTie& b) { return a.margin_nats < b.margin_nats; });
    EXPECT_EQ(smallest->token_index, *rows[i]["argmin"].AsInt64());
    EXPECT_NEAR(smallest->margin_nats, *rows[i]["min_margin"].AsDouble(), 1e-12);
  }
}

}  // namespace
}  // namespace reenact::schema
