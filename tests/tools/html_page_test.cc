// Pages of --html: whatever was recorded stays text, and shade follows margins.

#include "tools/reenact/io/html_page.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "replayer/analysis/first_divergence.h"
#include "schema/model_view.h"
#include "tests/tools/has_text.h"
#include "tools/reenact/io/html_figures.h"

namespace reenact::tools {
namespace {

constexpr std::string_view kHostile =
    "</pre><script>alert(1)</script>\" onmouseover='x' &lt; <img src=http://x/> \x1b[31m \xff";

schema::TokenLogprob Token(const std::string& chosen, double logprob, const std::string& other,
                           double other_logprob) {
  schema::TokenLogprob token;
  token.chosen = {.token = chosen, .bytes = chosen, .logprob = logprob};
  token.top = {{.token = chosen, .bytes = chosen, .logprob = logprob},
               {.token = other, .bytes = other, .logprob = other_logprob}};
  return token;
}

schema::ModelView Answer(std::vector<schema::TokenLogprob> tokens) {
  schema::Choice choice;
  std::string text;
  for (const schema::TokenLogprob& token : tokens) text += token.chosen.token;
  choice.content = std::move(text);
  choice.logprobs.tokens = std::move(tokens);
  schema::ModelView view;
  view.choices.push_back(std::move(choice));
  return view;
}

// No tag of the page but those that it makes itself, and nothing that loads.
void ExpectHarmless(const std::string& html) {
  EXPECT_FALSE(Has(html, "<script"));
  EXPECT_FALSE(Has(html, "<img"));
  EXPECT_FALSE(Has(html, "</pre><"));
  EXPECT_FALSE(Has(html, "\" onmouseover"));
  EXPECT_FALSE(Has(html, "\x1b"));
  EXPECT_FALSE(Has(html, "\xff"));
}

TEST(HtmlPage, KeepsHostileTextText) {
  EXPECT_EQ(EscapeHtml("<a href=\"x\">'&'</a>"),
            "&lt;a href=&quot;x&quot;&gt;&#39;&amp;&#39;&lt;/a&gt;");
  HtmlPage page(kHostile, kHostile);
  page.Section(kHostile, HtmlTable({std::string(kHostile)}, {{std::string(kHostile)}}, {0}));
  page.Report(kHostile, kHostile);
  const schema::ModelView a = Answer({Token(std::string(kHostile), -1, std::string(kHostile), -2)});
  const schema::ModelView b = Answer({Token("b", -1, std::string(kHostile), -2)});
  page.Section("diff", TokenDiffHtml({kHostile, &a}, {"now", &b}));
  const std::string html = std::move(page).Take();
  ExpectHarmless(html);
  EXPECT_TRUE(Has(html, "&lt;script&gt;alert(1)"));
}

TEST(HtmlPage, LoadsNothing) {
  const std::string html = HtmlPage("t", "s").Take();
  EXPECT_TRUE(Has(html, "default-src 'none'"));
  for (const char* part : {"src=", "href=", "url(", "@import", "<link"}) {
    EXPECT_FALSE(Has(html, part)) << part;
  }
}

TEST(HtmlFigures, TheCloserATokenTheDarkerItIs) {
  const schema::ModelView close = Answer({Token("5", -0.70, ".", -0.71), Token("0", 0, "x", -9)});
  const schema::ModelView wide = Answer({Token(".", -0.1, "5", -1.1), Token("5", 0, "x", -9)});
  const std::string html = TokenDiffHtml({"recorded", &close}, {"now", &wide});
  EXPECT_TRUE(Has(html, "margin 0.01 nats"));
  EXPECT_TRUE(Has(html, "rgba(255,140,0,0.99)"));
  EXPECT_TRUE(Has(html, "rgba(255,140,0,0.50)"));
  // Where they part they are framed; what follows is told apart, and a sure token has no shade.
  EXPECT_TRUE(Has(html, "class=\"parts\""));
  EXPECT_TRUE(Has(html, "class=\"after\">0</span>"));
}

// Streams tell the ids of tokens, but not those of their alternatives.
TEST(HtmlFigures, ATokenIsNotItsOwnRunnerUp) {
  schema::TokenLogprob sure = Token("yes", 0, "no", -9);
  sure.chosen.id = 17;
  const schema::ModelView view = Answer({sure});
  EXPECT_FALSE(Has(TokenDiffHtml({"a", &view}, {"b", &view}), "rgba("));
}

TEST(HtmlFigures, TextIsComparedWhereNoTokensAreKnown) {
  schema::ModelView a;
  schema::ModelView b;
  a.choices.emplace_back().content = "one \xc3\xa4";
  b.choices.emplace_back().content = "one \xc3\xb6";
  const std::string html = TokenDiffHtml({"a", &a}, {"b", &b});
  EXPECT_TRUE(Has(html, "No logprobs of both are known"));
  EXPECT_TRUE(Has(html, "<span class=\"after\">\xc3\xa4"));
}

TEST(HtmlFigures, ACurveFallsWhereAnswersPart) {
  analysis::DivergenceSurvival survival;
  survival.exposure_tokens = 90;
  EXPECT_TRUE(Has(SurvivalHtml(survival), "No two answers parted, in 90 tokens"));
  survival.steps = {{.token_index = 10, .at_risk = 4, .diverged = 2, .survival = 0.5},
                    {.token_index = 20, .at_risk = 2, .diverged = 2, .survival = 0}};
  const std::string html = SurvivalHtml(survival);
  EXPECT_TRUE(Has(html, "<path d=\"M44.0 12.0H"));
  EXPECT_TRUE(Has(html, "V122.0H"));
  EXPECT_TRUE(Has(html, "V232.0H684.0"));
}

TEST(HtmlFigures, WhatStandsOutHasAnotherShapeAndLiesAboveTheGate) {
  const std::vector<ShownWindow> baseline = {{0.01, false, "window 2"}, {0.02, false, "window 3"}};
  const std::string html =
      WindowsHtml(baseline, {{0.015, false, "still"}, {0.2, true, std::string(kHostile)}}, 0.06);
  ExpectHarmless(html);
  // Scaled to the highest mark, at 1/1.05 of 220 pixels: 0.2 lies at 26.5, the gate at 173.1.
  EXPECT_TRUE(Has(html, "<path class=\"out\" d=\"M614.0 26.5m"));
  EXPECT_TRUE(Has(html, "y1=\"173.1\" y2=\"173.1\" stroke=\"#9a6700\" stroke-dasharray"));
  EXPECT_TRUE(Has(html, "r=\"3.5\" fill=\"#8c959f\"><title>window 2</title>"));
  EXPECT_TRUE(Has(html, "r=\"3.5\" fill=\"#0969da\"><title>still</title>"));
  EXPECT_FALSE(Has(WindowsHtml(baseline, {{0.3, true, "x"}}, 0), "gate"));
  EXPECT_TRUE(Has(WindowsHtml({{0, false, "x"}}, {{0, false, "y"}}, 0), "in a single bit"));
}

}  // namespace
}  // namespace reenact::tools
