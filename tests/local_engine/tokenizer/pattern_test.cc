#include "local_engine/tokenizer/internal/pattern.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "local_engine/tokenizer/internal/pre_tokenizer.h"
#include "local_engine/tokenizer/internal/unicode_normalization.h"

namespace reenact::local_engine {
namespace {

using Words = std::vector<std::string>;

Words Split(const std::string& regex, const std::string& text,
            SplitBehavior behavior = SplitBehavior::kIsolated, bool invert = false) {
  const absl::StatusOr<Pattern> pattern = Pattern::Compile({regex, true});
  EXPECT_TRUE(pattern.ok()) << pattern.status();
  std::vector<Span> spans;
  EXPECT_TRUE(pattern->Cut(text, &spans).ok());
  Words words;
  for (const Span& span : SpansToWords(spans, behavior, invert)) {
    if (span.begin != span.end) words.push_back(text.substr(span.begin, span.end - span.begin));
  }
  return words;
}

std::string PatternRefusal(const std::string& regex) {
  return std::string(Pattern::Compile({regex, true}).status().message());
}

// Where PCRE2 by itself would say something else. The values are Oniguruma's.
TEST(Pattern, MeansWhatOnigurumaMeans) {
  EXPECT_EQ(Split("(?i:'s)", "'ſ 'S"), (Words{"'ſ", " ", "'S"}));
  EXPECT_EQ(Split("^a", "ab\nab"), (Words{"a", "b\n", "a", "b"}));
  EXPECT_EQ(Split("a.b", "a\nb a\rb"), (Words{"a\nb ", "a\rb"}));
  EXPECT_EQ(Split("\\v", "\v\n"), (Words{"\v", "\n"}));
  EXPECT_EQ(Split("\\s", "\u0085\u180e\ufeff"), (Words{"\u0085", "\u180e\ufeff"}));
  EXPECT_EQ(Split("[^\\S\\r]", " \r\n"), (Words{" ", "\r", "\n"}));
  EXPECT_EQ(Split("\\w+", "aé²ʰⅷⓐ‿\u200d"), (Words{"aé²ʰⅷⓐ‿", "\u200d"}));
  EXPECT_EQ(Split("\\W", "²a!"), (Words{"²a", "!"}));
  EXPECT_EQ(Split("[\\w]+", "a²a"), (Words{"a", "²", "a"}));
  EXPECT_EQ(Split("\\w+", "a²a"), Words{"a²a"});
  EXPECT_EQ(Split("a{,2}b", "aab"), Words{"aab"});
  EXPECT_EQ(Split("x*", "axbxx"), (Words{"a", "x", "b", "xx"}));
  EXPECT_EQ(Split("a++a", "aaa"), Words{"aaa"});
}

TEST(Pattern, ClassesAreThoseOfUnicode16OnEveryMachine) {
  // U+1C89 and U+16D40 came with 16.0, U+088F with 17.0.
  EXPECT_EQ(Split("\\p{Lu}", "a\u1c89b"), (Words{"a", "\u1c89", "b"}));
  EXPECT_EQ(Split("\\p{Lm}", "a\U00016d40b"), (Words{"a", "\U00016d40", "b"}));
  EXPECT_EQ(Split("\\p{L}+", "a\u088fb"), (Words{"a", "\u088f", "b"}));
  EXPECT_EQ(Split("\\p{Han}", "\U0002ebf0・a"), (Words{"\U0002ebf0", "・a"}));
}

TEST(Pattern, WhatHasNoCertainEquivalentIsRefusedByName) {
  for (const char* regex : {"[a&&b]",
                            "[[:alpha:]]",
                            "\\h",
                            "\\R",
                            "\\bx",
                            "(?<n>a)",
                            "(?i)a",
                            "(?m:.)",
                            "a{2}+",
                            "a{2}?",
                            "(?i:ss)",
                            "(?i:é)",
                            "\\p{Alpha}",
                            "\\p{^L}",
                            "(a)\\1",
                            "\\Aa",
                            "[]a]",
                            "(*FAIL)",
                            "\\xe9",
                            "[\\W]",
                            "a{x",
                            "\\K",
                            "[ࠀ-鿿]\\p{L}",
                            "\u1e02\\p{L}"}) {
    EXPECT_NE(PatternRefusal(regex).find("is not supported"), std::string::npos)
        << regex << PatternRefusal(regex);
  }
  for (const char* regex : {"(a", "a)", "[a", "a\\", "[b-a]", "**", "\\x{110000}", "a{99999999}"}) {
    EXPECT_NE(PatternRefusal(regex), "") << regex;
  }
}

TEST(Pattern, DelimitersGoWhereTheBehaviorSays) {
  const std::string text = "a--b-";
  EXPECT_EQ(Split("-", text, SplitBehavior::kRemoved), (Words{"a", "b"}));
  EXPECT_EQ(Split("-", text, SplitBehavior::kIsolated), (Words{"a", "-", "-", "b", "-"}));
  EXPECT_EQ(Split("-", text, SplitBehavior::kMergedWithPrevious), (Words{"a-", "-", "b-"}));
  EXPECT_EQ(Split("-", text, SplitBehavior::kMergedWithNext), (Words{"a", "-", "-b", "-"}));
  EXPECT_EQ(Split("-", text, SplitBehavior::kContiguous), (Words{"a", "--", "b", "-"}));
  EXPECT_EQ(Split("[ab]", text, SplitBehavior::kRemoved, true), (Words{"a", "b"}));
}

TEST(Pattern, APatternThatExplodesIsAnErrorAndNotAHang) {
  const absl::StatusOr<Pattern> pattern = Pattern::Compile({"(?:a+)+[bc]", true});
  ASSERT_TRUE(pattern.ok());
  std::vector<Span> spans;
  EXPECT_EQ(pattern->Cut(std::string(4000, 'a'), &spans).code(),
            absl::StatusCode::kResourceExhausted);
}

TEST(UnicodeNormalization, FollowsUnicode9) {
  constexpr NormalizationForm kNfc{.compatibility = false, .composed = true};
  constexpr NormalizationForm kNfd{.compatibility = false, .composed = false};
  constexpr NormalizationForm kNfkc{.compatibility = true, .composed = true};
  EXPECT_EQ(NormalizeUnicode("e\u0301", kNfc), "é");
  EXPECT_EQ(NormalizeUnicode("a\u0315\u0300\u05ae", kNfc), "à\u05ae\u0315");
  EXPECT_EQ(NormalizeUnicode("각", kNfd), "\u1100\u1161\u11a8");
  EXPECT_EQ(NormalizeUnicode("\u1100\u1161\u11a8", kNfc), "각");
  EXPECT_EQ(NormalizeUnicode("ﬁ½Å", kNfkc), "fi1⁄2Å");
  EXPECT_EQ(NormalizeUnicode("\u0958", kNfc), "\u0915\u093c");  // Excluded from composition.
  EXPECT_EQ(NormalizeUnicode("\u32ff", kNfkc), "\u32ff");       // Of Unicode 12.1.
  EXPECT_EQ(LowercaseUnicode("AÉΣİ"), "aéσi\u0307");
}

}  // namespace
}  // namespace reenact::local_engine
