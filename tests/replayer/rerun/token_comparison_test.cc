#include "replayer/rerun/token_comparison.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"

#include "tests/replayer/rerun/scripted_server.h"

namespace reenact::rerun {
namespace {

schema::ModelView View(const ChatAnswer& answer) {
  return schema::ViewModelCall(RecordedChat(kRequest, ChatBody(answer, "c-1")));
}

TEST(TokenComparison, EqualTokensWithEqualLogprobBitsAreR4) {
  const ChatAnswer answer{.tokens = {{"Hel", -0.25}, {"lo", -0.5}}};
  const TokenComparison comparison = CompareAnswers(View(answer), View(answer));
  EXPECT_TRUE(comparison.equal);
  EXPECT_EQ(comparison.level(), RerunLevel::kR4);
  EXPECT_EQ(comparison.basis, TokenBasis::kTokenBytes);
  EXPECT_EQ(comparison.logprobs_equal, 2);
  EXPECT_EQ(comparison.relaxed_by, "");
}

TEST(TokenComparison, OneBitOfALogprobIsR3) {
  const ChatAnswer was{.tokens = {{"Hel", -0.25}, {"lo", -0.5}}};
  ChatAnswer is = was;
  is.tokens[1].logprob = -0.50000006;  // The next binary32.
  const TokenComparison comparison = CompareAnswers(View(was), View(is));
  EXPECT_EQ(comparison.level(), RerunLevel::kR3);
  EXPECT_EQ(comparison.first_unequal_logprob, 1);
  EXPECT_EQ(comparison.relaxed_by, "1 of 2 logprobs differ");
  // More digits than binary32 has are no difference.
  is.tokens[1].logprob = -0.5000000001;
  EXPECT_EQ(CompareAnswers(View(was), View(is)).level(), RerunLevel::kR4);
}

TEST(TokenComparison, ThePartingHasBothAlternativesAndTheirMargins) {
  const ChatAnswer was{.tokens = {{"pay ", -0.1}, {"109", -0.70, "129", -0.72}, {"!", -0.1}}};
  const ChatAnswer is{.tokens = {{"pay ", -0.1}, {"129", -0.69, "109", -0.71}, {"!", -0.1}}};
  const TokenComparison comparison = CompareAnswers(View(was), View(is));
  EXPECT_FALSE(comparison.equal);
  EXPECT_EQ(comparison.level(), RerunLevel::kR2);
  EXPECT_EQ(comparison.common_tokens, 1);
  ASSERT_TRUE(comparison.parting.has_value());
  const Parting& parting = *comparison.parting;
  EXPECT_EQ(parting.token_index, 1);
  EXPECT_EQ(parting.byte_offset, 4);
  EXPECT_EQ(parting.recorded.text, "109");
  EXPECT_EQ(parting.now.text, "129");
  EXPECT_NEAR(*parting.recorded_margin, 0.02, 1e-9);
  EXPECT_NEAR(*parting.new_margin, 0.02, 1e-9);
  EXPECT_TRUE(parting.near_tie);
}

TEST(TokenComparison, AnAlternativeThatWasNotListedHasNoMargin) {
  const ChatAnswer was{.tokens = {{"a", -0.1}}};
  const ChatAnswer is{.tokens = {{"b", -0.1, "c", -3}}};
  const TokenComparison comparison = CompareAnswers(View(was), View(is));
  ASSERT_TRUE(comparison.parting.has_value());
  EXPECT_EQ(comparison.parting->new_margin, std::nullopt);
  EXPECT_FALSE(comparison.parting->near_tie);
}

TEST(TokenComparison, ASentinelIsNoLogprob) {
  const ChatAnswer was{.tokens = {{"a", -0.1, "b", -9999}}};
  const ChatAnswer is{.tokens = {{"b", -0.1, "a", -9999}}};
  const TokenComparison comparison = CompareAnswers(View(was), View(is));
  ASSERT_TRUE(comparison.parting.has_value());
  EXPECT_EQ(comparison.parting->recorded_margin, std::nullopt);
  EXPECT_EQ(comparison.parting->new_margin, std::nullopt);
}

TEST(TokenComparison, OfARecordWithoutTokensTheMarginComesFromTheNewAnswer) {
  const ChatAnswer was{.tokens = {{"pay "}, {"109!"}}, .logprobs = false};
  const ChatAnswer is{.tokens = {{"pay ", -0.1}, {"12", -0.69, "10", -0.71}, {"9!", -0.1}}};
  const TokenComparison comparison = CompareAnswers(View(was), View(is));
  EXPECT_EQ(comparison.basis, TokenBasis::kText);
  ASSERT_TRUE(comparison.parting.has_value());
  EXPECT_EQ(comparison.parting->token_index, 1);
  EXPECT_EQ(comparison.parting->recorded.text, "10");
  EXPECT_EQ(comparison.parting->now.text, "12");
  EXPECT_NEAR(*comparison.parting->new_margin, 0.02, 1e-9);
}

TEST(TokenComparison, TextAloneIsR3AndSaysSo) {
  const ChatAnswer answer{.tokens = {{"Hello"}}, .logprobs = false};
  const TokenComparison comparison = CompareAnswers(View(answer), View(answer));
  EXPECT_EQ(comparison.level(), RerunLevel::kR3);
  EXPECT_NE(comparison.relaxed_by.find("only text"), std::string::npos);
}

TEST(TokenComparison, AnEndIsAnAlternative) {
  const ChatAnswer was{.tokens = {{"a", -0.1}, {"b", -0.1}}};
  const ChatAnswer is{.tokens = {{"a", -0.1}}};
  const TokenComparison comparison = CompareAnswers(View(was), View(is));
  ASSERT_TRUE(comparison.parting.has_value());
  EXPECT_EQ(comparison.parting->token_index, 1);
  EXPECT_TRUE(comparison.parting->now.ended);
  EXPECT_FALSE(comparison.parting->recorded.ended);
}

TEST(TokenComparison, AnIdForTheEndAndNoLogprobIsNoFault) {
  const auto answer = [](const std::string& ids) {
    return schema::ViewModelCall(RecordedChat(
        kRequest,
        R"({"id":"c","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,)"
        R"("message":{"role":"assistant","content":"ab"},"logprobs":{"content":[)"
        R"({"token":"a","logprob":-0.1,"bytes":[97],"top_logprobs":[]},)"
        R"({"token":"b","logprob":-0.2,"bytes":[98],"top_logprobs":[]}]},)"
        R"("finish_reason":"stop","token_ids":)" +
            ids + "}]}"));
  };
  EXPECT_EQ(CompareAnswers(answer("[7,8,2]"), answer("[7,8,2]")).level(), RerunLevel::kR4);
  const TokenComparison fewer = CompareAnswers(answer("[7]"), answer("[7]"));
  EXPECT_EQ(fewer.level(), RerunLevel::kR3) << "those logprobs belong to other tokens";
}

TEST(TokenComparison, ALimitThatWasMetIsADifference) {
  const ChatAnswer was{.tokens = {{"a", -0.1}}, .finish = "stop"};
  const ChatAnswer is{.tokens = {{"a", -0.1}}, .finish = "length"};
  EXPECT_FALSE(CompareAnswers(View(was), View(is)).equal);
}

}  // namespace
}  // namespace reenact::rerun
