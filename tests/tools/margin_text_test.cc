#include "tools/reenact/runs/margin_text.h"

#include <cmath>
#include <string>

#include "gtest/gtest.h"

namespace reenact::tools {
namespace {

schema::TokenAlternative Token(const std::string& text, double logprob, bool censored = false) {
  return {.token = text, .bytes = text, .logprob = logprob, .censored = censored};
}

schema::TokenLogprob Place(const schema::TokenAlternative& chosen,
                           std::vector<schema::TokenAlternative> top = {}) {
  return {.chosen = chosen, .top = std::move(top)};
}

TEST(Margins, TheLeastKnownOneIsNamedWithItsToken) {
  schema::LogprobSeries series;
  const auto pay = Token("pay", -0.1);
  const auto one = Token("109", -0.68);
  series.tokens = {Place(pay, {pay, Token("give", -2.5)}), Place(one, {one, Token("129", -0.70)})};
  const auto summary = SummariseMargins(series);
  ASSERT_TRUE(summary.has_value());
  EXPECT_EQ(summary->known, 2);
  EXPECT_EQ(summary->least_token, 1);
  EXPECT_NEAR(summary->risk.least.value(), 0.02, 1e-9);
  EXPECT_EQ(summary->risk.below, 1);
  EXPECT_EQ(summary->heavy_tails, 1) << "e^-0.1 + e^-2.5 leave 1.3 % outside";
  EXPECT_TRUE(RenderMargins(*summary).starts_with(
      "margins of 2 of 2 tokens, the least 0.02 nats at token 1"));
}

TEST(Margins, ATokenThatIsAloneIsBoundedWhereItHoldsMoreThanHalf) {
  schema::LogprobSeries series;
  series.tokens = {Place(Token("a", std::log(0.9))), Place(Token("b", std::log(0.4)))};
  const auto summary = SummariseMargins(series);
  ASSERT_TRUE(summary.has_value());
  EXPECT_EQ(summary->known, 0);
  EXPECT_EQ(summary->bounded, 1);
  EXPECT_NEAR(*summary->least_bound, std::log(9), 1e-9);
  EXPECT_EQ(RenderMargins(*summary),
            "margins of 0 of 2 tokens; 1 more is at least 2.2; 1 not known");
}

TEST(Margins, ASentinelIsCountedAndEntersNoNumber) {
  schema::LogprobSeries series;
  const auto a = Token("a", -0.5);
  series.tokens = {Place(a, {a, Token("b", -1.5)}), Place(Token("c", -9999, true))};
  const auto summary = SummariseMargins(series);
  ASSERT_TRUE(summary.has_value());
  EXPECT_EQ(summary->known, 1);
  EXPECT_EQ(summary->censored, 1);
  EXPECT_EQ(summary->risk.least.value(), 1.0);
}

TEST(Margins, ThereAreNoneOfWhatIsNotThereOrMisaligned) {
  EXPECT_FALSE(SummariseMargins({}).has_value());
  schema::LogprobSeries series;
  series.tokens = {Place(Token("a", -0.5))};
  EXPECT_TRUE(SummariseMargins(series).has_value());
  series.anomalies = {"misaligned:ids=5,logprobs=6"};
  EXPECT_FALSE(SummariseMargins(series).has_value());
}

}  // namespace
}  // namespace reenact::tools
