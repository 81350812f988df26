// Answers that are held to a form: they have it, and their bits and draws are as without one where
// the form leaves the choice.

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "gtest/gtest.h"

#include "local_engine/engine.h"
#include "local_engine/engine/answer_comparison.h"
#include "local_engine/grammar/json_grammar.h"
#include "tests/local_engine/engine/small_model.h"
#include "tests/local_engine/tokenizer/small_tokenizer.h"
#include "tests/support/temp_folder.h"

namespace reenact::local_engine {
namespace {

constexpr int32_t kEnd = 260;

class OutputFormTest : public ::testing::Test {
 protected:
  void SetUp() override {
    RandomModelShape shape = SmallShape();
    shape.vocabulary_size = 261;
    WriteSmallModel(folder_.path(), shape, "LlamaForCausalLM", ",\"eos_token_id\":260");
    WriteBytes(folder_.path() + "/tokenizer.json", ByteLevelTokenizer().Json());
  }

  std::unique_ptr<Engine> Load(const EngineOptions& options = {}) {
    absl::StatusOr<std::unique_ptr<Engine>> engine = Engine::Load(folder_.path(), options);
    EXPECT_TRUE(engine.ok()) << engine.status();
    return *std::move(engine);
  }

  static Answer Run(Engine* engine, const Request& request) {
    const absl::StatusOr<RequestId> id = engine->Submit(request);
    EXPECT_TRUE(id.ok()) << id.status();
    absl::StatusOr<Answer> answer = engine->RunToEnd(*id);
    EXPECT_TRUE(answer.ok()) << answer.status();
    return answer.ok() ? *std::move(answer) : Answer{};
  }

  static std::shared_ptr<const Grammar> Schema(const std::string& schema) {
    absl::StatusOr<Grammar> grammar = JsonOfSchema(schema);
    EXPECT_TRUE(grammar.ok()) << grammar.status();
    return std::make_shared<const Grammar>(*std::move(grammar));
  }

  // Short texts: a random model closes nothing of its own accord.
  static Request Refund() {
    return {.prompt = {5, 6, 7},
            .max_tokens = 200,
            .sampling = {.temperature = 1},
            .seed = 3,
            .form = Schema(R"({"type": "object", "properties": {"why": {"enum": ["late", "broken"]},
                "total": {"type": "integer"}, "paid": {"type": "boolean"}}, "required": ["why", "total", "paid"],
                "additionalProperties": false})"),
            .logprobs = true};
  }

  testing::TempFolder folder_;
};

TEST_F(OutputFormTest, EveryAnswerHasItWhateverTheSeed) {
  const std::unique_ptr<Engine> engine = Load();
  for (const float temperature : {0.0f, 0.7f, 2.0f}) {
    Request request = Refund();
    request.sample_count = 8;
    request.sampling.temperature = temperature;
    for (const Completion& completion : Run(engine.get(), request).completions) {
      EXPECT_EQ(completion.finish, FinishReason::kStop) << completion.text;
      const nlohmann::json json = nlohmann::json::parse(completion.text, nullptr, false);
      ASSERT_TRUE(json.is_object()) << completion.text;
      EXPECT_TRUE(json["total"].is_number_integer() && json["paid"].is_boolean());
    }
  }
  Request request = Refund();
  request.form = nullptr;
  EXPECT_FALSE(nlohmann::json::accept(Run(engine.get(), request).completions[0].text));
}

TEST_F(OutputFormTest, LogprobsAreTheModelsOwn) {
  const std::unique_ptr<Engine> engine = Load();
  const Answer formed = Run(engine.get(), Refund());
  Request forced = Refund();
  forced.form = nullptr;
  forced.forced_tokens = formed.completions[0].tokens;
  forced.max_tokens = static_cast<int32_t>(forced.forced_tokens.size());
  const Answer again = Run(engine.get(), forced);
  ASSERT_EQ(again.completions[0].scores.size(), formed.completions[0].scores.size());
  for (size_t i = 0; i < forced.forced_tokens.size(); ++i) {
    EXPECT_EQ(again.completions[0].scores[i].chosen.logprob,
              formed.completions[0].scores[i].chosen.logprob);
  }
}

TEST_F(OutputFormTest, CompanyAndPreemptionChangeNothing) {
  const std::unique_ptr<Engine> engine = Load();
  const Answer alone = Run(engine.get(), Refund());
  std::vector<RequestId> others;
  for (int32_t i = 0; i < 5; ++i) {
    Request other = Refund();
    other.prompt.push_back(i);
    if (i % 2 == 0) other.form = nullptr;
    others.push_back(engine->Submit(other).value());
  }
  const RequestId id = engine->Submit(Refund()).value();
  for (int step = 0; !engine->IsFinished(id); ++step) {
    if (step % 7 == 6) {
      ASSERT_TRUE(engine->Preempt(id).ok());
    }
    ASSERT_TRUE(engine->Step().ok());
  }
  const Answer beside = engine->Take(id).value();
  const BitComparison comparison = CompareAnswers(alone, beside);
  EXPECT_EQ(comparison.differences, 0) << comparison.first_difference;
  EXPECT_GT(beside.completions[0].preemptions, 0);
  EXPECT_GT(beside.completions[0].most_co_resident, 1);
}

TEST_F(OutputFormTest, TheEndTokenIsPossibleWhereTheTextIsComplete) {
  const std::unique_ptr<Engine> engine = Load();
  Request request = Refund();
  request.form = Schema(R"({"type": "integer"})");
  request.biases = {{.token_id = kEnd, .bias = 1000}};
  const Answer answer = Run(engine.get(), request);
  ASSERT_GE(answer.completions[0].tokens.size(), 2u);
  EXPECT_EQ(answer.completions[0].tokens.back(), kEnd);
  EXPECT_TRUE(nlohmann::json::parse(answer.completions[0].text, nullptr, false).is_number_integer())
      << answer.completions[0].text;
}

TEST_F(OutputFormTest, WhatMaxTokensCutsOffIsABeginning) {
  const std::unique_ptr<Engine> engine = Load();
  const std::string whole = Run(engine.get(), Refund()).completions[0].text;
  Request request = Refund();
  request.max_tokens = 9;
  const Answer answer = Run(engine.get(), request);
  EXPECT_EQ(answer.completions[0].finish, FinishReason::kLength);
  EXPECT_TRUE(!answer.completions[0].text.empty() && whole.starts_with(answer.completions[0].text));
}

TEST_F(OutputFormTest, AFormWithoutATextEndsTheSampleWithAnError) {
  const std::unique_ptr<Engine> engine = Load();
  Request request = Refund();
  request.form = Schema(R"({"$ref": "#"})");
  const Answer answer = Run(engine.get(), request);
  EXPECT_EQ(answer.completions[0].finish, FinishReason::kError);
  EXPECT_TRUE(absl::IsFailedPrecondition(answer.completions[0].status));
  EXPECT_EQ(Run(engine.get(), Refund()).completions[0].finish, FinishReason::kStop);
}

TEST_F(OutputFormTest, IsRefusedWithForcedTokensAndWithoutATokenizer) {
  Request request = Refund();
  request.forced_tokens = {5};
  EXPECT_TRUE(absl::IsInvalidArgument(Load()->Submit(request).status()));
  std::remove((folder_.path() + "/tokenizer.json").c_str());
  EXPECT_TRUE(absl::IsInvalidArgument(Load()->Submit(Refund()).status()));
}

}  // namespace
}  // namespace reenact::local_engine
