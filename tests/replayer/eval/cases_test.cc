#include "replayer/eval/cases.h"

#include "gtest/gtest.h"

namespace reenact::eval {
namespace {

std::string RefusalOfCases(const std::string& text) {
  const auto cases = ParseCases(text);
  EXPECT_FALSE(cases.ok()) << text;
  return std::string(cases.status().message());
}

TEST(Cases, PromptsAndMessagesAreRead) {
  const auto cases = ParseCases(
      "{\"id\":\"a\",\"system\":\"You refund.\",\"prompt\":\"A-7\",\"exact\":\"120\"}\n\n"
      "{\"id\":\"b\",\"messages\":[{\"role\":\"user\",\"content\":\"hi\"}],\"regex\":\"^h\"}\n");
  ASSERT_TRUE(cases.ok()) << cases.status();
  ASSERT_EQ(cases->size(), 2U);
  EXPECT_EQ((*cases)[0].messages,
            R"([{"role":"system","content":"You refund."},{"role":"user","content":"A-7"}])");
  EXPECT_EQ((*cases)[0].grader, GraderKind::kExact);
  EXPECT_EQ((*cases)[1].grader, GraderKind::kRegex);
}

TEST(Cases, WhatIsNoCaseIsRefusedWithItsLine) {
  const std::string good = R"({"id":"a","prompt":"x","exact":"y"})";
  EXPECT_NE(RefusalOfCases(good + "\n" + good).find("line 2"), std::string::npos);
  EXPECT_NE(RefusalOfCases("").find("no case"), std::string::npos);
  EXPECT_NE(RefusalOfCases("[]").find("line 1"), std::string::npos);
  EXPECT_NE(RefusalOfCases(R"({"id":"a","prompt":"x"})").find("needs one"), std::string::npos);
  EXPECT_NE(RefusalOfCases(R"({"id":"a","prompt":"x","exact":"y","regex":"y"})").find("needs one"),
            std::string::npos);
  EXPECT_NE(RefusalOfCases(R"({"id":"a","prompt":"x","regex":"("})").find("regex"),
            std::string::npos);
  EXPECT_NE(RefusalOfCases(R"({"id":"a","prompt":"x","expect":"y"})").find("expect"),
            std::string::npos);
  EXPECT_NE(
      RefusalOfCases(R"({"id":"a","prompt":"x","json_schema":{"format":"date"}})").find("format"),
      std::string::npos);
}

double ScoreOf(GraderKind grader, const std::string& expected, const std::string& answer) {
  const Grade grade = GradeText({.id = "a", .grader = grader, .expected = expected}, answer);
  return grade.score.value_or(-1);
}

TEST(Graders, ExactAndRegex) {
  EXPECT_EQ(ScoreOf(GraderKind::kExact, "120", " 120\n"), 1);
  EXPECT_EQ(ScoreOf(GraderKind::kExact, "120", "1,200"), 0);
  EXPECT_EQ(ScoreOf(GraderKind::kRegex, "\\b120\\b", "Refund 120 EUR"), 1);
  EXPECT_EQ(ScoreOf(GraderKind::kRegex, "\\b120\\b", "Refund 1200 EUR"), 0);
  EXPECT_EQ(ScoreOf(GraderKind::kRegex, ".*", std::string(100'000, 'x')), -1);
}

TEST(Graders, JsonSchema) {
  const std::string schema =
      R"({"type":"object","required":["total"],"additionalProperties":false,)"
      R"("properties":{"total":{"type":"integer","minimum":0},"items":{"type":"array",)"
      R"("minItems":1,"items":{"enum":["a","b"]}},"note":{"type":["string","null"],)"
      R"("maxLength":3,"pattern":"^\\w*$"}}})";
  const auto score = [&](const std::string& answer) {
    return ScoreOf(GraderKind::kJsonSchema, schema, answer);
  };
  EXPECT_EQ(score(R"({"total":120})"), 1);
  EXPECT_EQ(score(R"({"total":120.0,"items":["a","b"],"note":null})"), 1);
  EXPECT_EQ(score(R"({"total":1,"note":"öäü"})"), 0);  // std::regex knows ASCII words.
  EXPECT_EQ(score(R"({"total":1,"note":"abc"})"), 1);
  EXPECT_EQ(score(R"({"total":1,"note":"abcd"})"), 0);
  EXPECT_EQ(score(R"({"total":"120"})"), 0);
  EXPECT_EQ(score(R"({"total":-1})"), 0);
  EXPECT_EQ(score(R"({"total":1.5})"), 0);
  EXPECT_EQ(score(R"({"total":1,"items":[]})"), 0);
  EXPECT_EQ(score(R"({"total":1,"items":["c"]})"), 0);
  EXPECT_EQ(score(R"({"total":1,"more":1})"), 0);
  EXPECT_EQ(score(R"({})"), 0);
  EXPECT_EQ(score("Here it is: {\"total\":1}"), 0);
}

TEST(Graders, AlternativesOfASchema) {
  const auto fits = [](const std::string& schema, const std::string& value) {
    const auto violation = SchemaViolation(schema, value);
    EXPECT_TRUE(violation.ok()) << violation.status();
    return violation->empty();
  };
  EXPECT_TRUE(fits(R"({"anyOf":[{"type":"string"},{"type":"null"}]})", "null"));
  EXPECT_FALSE(fits(R"({"anyOf":[{"type":"string"},{"type":"null"}]})", "1"));
  EXPECT_FALSE(fits(R"({"oneOf":[{"minimum":0},{"maximum":9}]})", "5"));
  EXPECT_TRUE(fits(R"({"allOf":[{"minimum":0},{"maximum":9}]})", "5"));
  EXPECT_FALSE(fits(R"({"not":{"const":5}})", "5"));
}

TEST(Graders, AJudgeEndsWithItsVerdict) {
  EXPECT_EQ(JudgeScore("It is polite.\nPASS"), 1);
  EXPECT_EQ(JudgeScore("Verdict: **FAIL**."), 0);
  EXPECT_EQ(JudgeScore("0.7"), 0.7);
  EXPECT_FALSE(JudgeScore("It would PASS if it were shorter").has_value());
  EXPECT_FALSE(JudgeScore("7").has_value());
  EXPECT_FALSE(JudgeScore("").has_value());
  EXPECT_NE(
      JudgeMessages({.id = "a", .messages = "[]", .expected = "Polite?"}, "No.\"").find("Polite?"),
      std::string::npos);
}

}  // namespace
}  // namespace reenact::eval
