// JSON by its grammar, and which tokens may follow, against a search without any order.

#include "local_engine/grammar/grammar.h"

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "gtest/gtest.h"

#include "local_engine/grammar/allowed_tokens.h"
#include "local_engine/grammar/grammar_automaton.h"
#include "local_engine/grammar/json_grammar.h"
#include "tests/local_engine/grammar/read_text.h"

namespace reenact::local_engine {
namespace {

TEST(Grammar, ObjectsOfJsonAndNothingElse) {
  GrammarAutomaton json(AnyJsonObject());
  for (const char* text :
       {"{}", "{ }", "{\n  \"a\": 1\n}", R"({"a":[1,-0.5e+10,true,false,null,"x\n\u00e9"],"b":{}})",
        R"({"":[[],[[]]]})", "{\"\xc3\xa9\": \"\xf0\x9f\x98\x80\"}"}) {
    EXPECT_TRUE(IsText(&json, text)) << text;
  }
  for (const char* text : {"",
                           "[]",
                           "1",
                           "{",
                           "}",
                           "{}}",
                           "{} ",
                           "{\"a\"}",
                           "{\"a\":}",
                           "{\"a\":1,}",
                           "{a:1}",
                           "{'a':1}",
                           "{\"a\":01}",
                           "{\"a\":1.}",
                           "{\"a\":+1}",
                           "{\"a\":NaN}",
                           "{\"a\":\"\n\"}",
                           "{\"a\":\"\\x\"}",
                           "{\"a\":\"\\ud800\"}",
                           "{\"a\":\"\xff\"}",
                           "{\"a\":\"\xed\xa0\x80\"}",
                           "{\"a\":\"\xc0\x80\"}",
                           "{\"a\":1e999}",
                           "{     \"a\":1}"}) {
    EXPECT_FALSE(IsText(&json, text)) << text;
  }
}

TEST(Grammar, WhatItGeneratesIsJsonForAnotherReader) {
  GrammarAutomaton json(AnyJsonObject());
  std::minstd_rand random(20261130);
  int complete = 0;
  for (int i = 0; i < 300; ++i) {
    const std::string text = RandomText(&json, i, &random);
    if (text.empty()) continue;
    ++complete;
    EXPECT_TRUE(nlohmann::json::parse(text, nullptr, false).is_object()) << text;
  }
  EXPECT_GT(complete, 250);
}

TEST(Grammar, ATextThatCannotGoOnIsKnownToEnd) {
  GrammarAutomaton json(AnyJsonObject());
  EXPECT_FALSE(json.GoesOn(ReadText(&json, "{\"a\": 1}")));
  EXPECT_TRUE(json.GoesOn(ReadText(&json, "{\"a\": 1")));
  EXPECT_FALSE(json.IsComplete(ReadText(&json, "{\"a\": 1")));
  absl::StatusOr<Grammar> number = JsonOfSchema(R"({"type": "integer"})");
  ASSERT_TRUE(number.ok()) << number.status();
  GrammarAutomaton automaton(*number);
  const GrammarAutomaton::State state = ReadText(&automaton, "12");
  EXPECT_TRUE(automaton.IsComplete(state) && automaton.GoesOn(state));
}

TEST(Grammar, StatesAreFewHoweverLongATextIs) {
  GrammarAutomaton json(AnyJsonObject());
  std::string text = "{\"a\": [";
  for (int i = 0; i < 2000; ++i) text += "{\"b\": \"" + std::string(50, 'x') + "\"}, ";
  const GrammarAutomaton::State state = ReadText(&json, text);
  ASSERT_NE(state, GrammarAutomaton::kNowhere);
  EXPECT_LT(state, 200);
}

TEST(Grammar, NestingHasABound) {
  GrammarAutomaton json(AnyJsonObject());
  const std::string deep = "{\"a\":" + std::string(10'000, '[');
  EXPECT_EQ(ReadText(&json, deep), GrammarAutomaton::kNowhere);
  EXPECT_TRUE(IsText(&json, "{\"a\":" + std::string(50, '[') + std::string(50, ']') + "}"));
}

TEST(Grammar, RulesThatLeadToThemselvesEnd) {
  Grammar grammar;
  const Grammar::Element a = grammar.AddRule();
  const Grammar::Element b = grammar.AddRule({{a}});
  grammar.AddAlternative(a, {b});
  grammar.AddAlternative(a, Grammar::Literal("x"));
  grammar.AddAlternative(a, {a, Grammar::Bytes("y")});  // Left recursion, up to the bound.
  grammar.set_root(a);
  GrammarAutomaton automaton(grammar);
  EXPECT_TRUE(IsText(&automaton, "xyyy"));
  EXPECT_FALSE(IsText(&automaton, "yx"));
}

class AllowedTokensTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::minstd_rand random(7);
    const std::string bytes = "{}[]\":, \n\\u0ae1-.tru\xc3\xa9\xff";
    for (int32_t id = 0; id < kVocabulary - 3; ++id) {
      std::string token;
      for (uint32_t i = 0; i <= random() % 5; ++i) token += bytes[random() % bytes.size()];
      tokens_.push_back({id, token});
    }
  }

  static constexpr int32_t kVocabulary = 3000;
  std::vector<TextTokens::Token> tokens_;
};

TEST_F(AllowedTokensTest, TheSameAsEachTokenTriedAlone) {
  const TextTokens text(tokens_);
  AllowedTokens allowed(AnyJsonObject(), text, {}, {kVocabulary - 1}, kVocabulary);
  GrammarAutomaton alone(AnyJsonObject());
  int64_t compared = 0;
  int64_t possible = 0;
  int64_t differences = 0;
  for (const char* beginning :
       {"", "{", "{\"", "{\"a", "{\"a\"", "{\"a\":", "{\"a\":[", "{\"a\":[1", "{\"a\":\"\\u00",
        "{\"a\":\"\xc3", "{\"a\":tr", "{}"}) {
    const std::vector<bool>& at = allowed.At(allowed.After(allowed.start(), beginning));
    for (const TextTokens::Token& token : tokens_) {
      const bool may = ReadText(&alone, beginning + token.bytes) != GrammarAutomaton::kNowhere;
      differences += at[static_cast<size_t>(token.id)] != may ? 1 : 0;
      possible += may ? 1 : 0;
      ++compared;
    }
    EXPECT_EQ(at[kVocabulary - 1], std::string(beginning) == "{}") << beginning;
  }
  EXPECT_EQ(differences, 0);
  EXPECT_EQ(compared, 12 * (kVocabulary - 3));
  EXPECT_GT(possible, 1000);
}

TEST_F(AllowedTokensTest, AMarkerStandsForItsNameAndOtherSpecialTokensForNothing) {
  Grammar grammar;
  grammar.set_root(grammar.AddRule({Grammar::Literal("<call>1")}));
  const TextTokens text({{0, "<"}, {1, "c"}, {2, "1"}});
  AllowedTokens allowed(grammar, text, {{5, "<call>"}}, {}, 7);
  EXPECT_EQ(allowed.At(allowed.start()), (std::vector<bool>{1, 0, 0, 0, 0, 1, 0}));
  const AllowedTokens::State state = allowed.After(allowed.start(), "<call>");
  EXPECT_EQ(allowed.At(state), (std::vector<bool>{0, 0, 1, 0, 0, 0, 0}));
}

}  // namespace
}  // namespace reenact::local_engine
