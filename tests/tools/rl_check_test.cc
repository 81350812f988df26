#include "tools/reenact/engine/rl_check.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"

#include "tools/reenact/exit_code.h"

namespace reenact::tools {
namespace {

std::string ErrorOf(const std::string& text) {
  const auto read = ReadTrainerFile(text);
  return read.ok() ? "" : std::string(read.status().message());
}

TEST(RlCheck, AFileHasASequenceALine) {
  const auto read = ReadTrainerFile(
      "{\"prompt_tokens\":[1,2],\"tokens\":[3,4],\"logprobs\":[-0.5,-Infinity],\"mask\":[1,false]}"
      "\n"
      "\n{\"prompt_tokens\":[9],\"tokens\":[],\"logprobs\":[]}");
  ASSERT_TRUE(read.ok()) << read.status();
  ASSERT_EQ(read->size(), 2u);
  EXPECT_EQ((*read)[0].prompt, (std::vector<int32_t>{1, 2}));
  EXPECT_EQ((*read)[0].mask, (std::vector<bool>{true, false}));
  EXPECT_TRUE((*read)[1].tokens.empty());
}

TEST(RlCheck, WhatIsWrongIsNamedWithItsLine) {
  const std::string good = "{\"prompt_tokens\":[1],\"tokens\":[3],\"logprobs\":[-0.5]}\n";
  EXPECT_EQ(ErrorOf(good), "");
  EXPECT_EQ(ErrorOf(""), "the file has no line of logprobs");
  EXPECT_EQ(ErrorOf(good + "[]"), "line 2 is no JSON object");
  EXPECT_NE(ErrorOf("{\"prompt_tokens\":[],\"tokens\":[3],\"logprobs\":[-0.5]}"), "");
  EXPECT_NE(ErrorOf("{\"prompt_tokens\":[1],\"tokens\":[-3],\"logprobs\":[-0.5]}"), "");
  EXPECT_NE(ErrorOf("{\"prompt_tokens\":[1],\"tokens\":[3],\"logprobs\":[null]}"), "");
  EXPECT_NE(ErrorOf("{\"prompt_tokens\":[1],\"tokens\":[3],\"logprobs\":[-1,-2]}"), "");
  EXPECT_NE(ErrorOf("{\"prompt_tokens\":[1],\"tokens\":[3],\"logprobs\":[-1],\"mask\":[2]}"), "");
}

TEST(RlCheck, DigitsBeyondBinary32AreNoDifference) {
  const float logprob = -0.6931472f;
  TrainerSequence trainer{.prompt = {1}, .tokens = {2}, .logprobs = {-0.69314718}};
  analysis::Mismatch mismatch =
      analysis::CompareLogprobs(std::vector{ToScored({logprob}, trainer)});
  EXPECT_EQ(mismatch.level, analysis::MismatchLevel::kBitwise);
  EXPECT_EQ(ExitCodeOf(mismatch), kExitOk);
  trainer.logprobs = {-0.6931473};  // The next but one.
  mismatch = analysis::CompareLogprobs(std::vector{ToScored({logprob}, trainer)});
  EXPECT_EQ(mismatch.level, analysis::MismatchLevel::kAligned);
  trainer.logprobs = {-1.5};
  mismatch = analysis::CompareLogprobs(std::vector{ToScored({logprob}, trainer)});
  EXPECT_EQ(ExitCodeOf(mismatch), kExitFinding);
}

TEST(RlCheck, NothingToCompareIsInconclusive) {
  EXPECT_EQ(ExitCodeOf(analysis::CompareLogprobs({})), kExitInconclusive);
  EXPECT_NE(RenderMismatch(analysis::CompareLogprobs({})).find("no_data"), std::string::npos);
}

}  // namespace
}  // namespace reenact::tools
