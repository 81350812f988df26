#include "replayer/rerun/rerun_runner.h"

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "gtest/gtest.h"

#include "replayer/rerun/http_target.h"
#include "tests/replayer/rerun/scripted_server.h"

namespace reenact::rerun {
namespace {

const ChatAnswer kWas{.tokens = {{"pay ", -0.1}, {"109", -0.70, "129", -0.72}}};
const ChatAnswer kIs{.tokens = {{"pay ", -0.1}, {"129", -0.69, "109", -0.71}}};

schema::RecordedRun Tape() {
  schema::RecordedRun tape;
  tape.run.id = schema::MakeUlid(1'700'000'000'000, {1, 2, 3});
  tape.run.service = "refunds";
  tape.run.tags = {{"tenant", "a"}, {"reenact.verdict", "reproduced"}};
  schema::Event clock;
  clock.sequence = 1;
  clock.boundary = schema::Boundary::kClock;
  clock.end_state = schema::EndState::kComplete;
  tape.events.push_back(clock);
  tape.events.push_back(RecordedChat(kRequest, ChatBody(kWas, "c-old")));
  tape.events.back().sequence = 2;
  tape.events.back().end_sequence = 3;
  return tape;
}

class RerunRunnerTest : public ::testing::Test {
 protected:
  absl::StatusOr<RerunReport> RerunOn(const ScriptedServer& server, const RerunOptions& options) {
    auto target = MakeHttpTarget({.base_url = server.url(), .max_attempts = 1}, &ledger_);
    EXPECT_TRUE(target.ok());
    return Rerun(Tape(), target->get(), options);
  }

  Ledger ledger_;
};

TEST_F(RerunRunnerTest, TheSameAnswerIsReproducedToTheLastBit) {
  const ScriptedServer server(kWas);
  const auto report = RerunOn(server, {.count = 3});
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->verdict, RerunVerdict::kReproduced);
  EXPECT_EQ(report->level, RerunLevel::kR4);
  EXPECT_EQ(report->calls[0].agreed, 3);
  EXPECT_EQ(report->calls[0].event_index, 1u);
}

TEST_F(RerunRunnerTest, AServerOfTwoAnswersDivergesAtTheirToken) {
  const ScriptedServer server([](int index, const std::string&, const std::string&) {
    return Http("200 OK", "Content-Type: application/json\r\n",
                ChatBody(index % 2 == 0 ? kWas : kIs, "c-" + std::to_string(index)));
  });
  const auto report = RerunOn(server, {.edits = {.logprobs = true}, .count = 6});
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->verdict, RerunVerdict::kDiverged);
  const CallRerun& call = report->calls[0];
  EXPECT_EQ(call.agreed, 3);
  EXPECT_EQ(call.unique, 2);
  ASSERT_TRUE(call.Telling() != nullptr && call.Telling()->parting.has_value());
  EXPECT_EQ(call.Telling()->parting->token_index, 1);
  EXPECT_TRUE(call.Telling()->parting->near_tie);
}

TEST_F(RerunRunnerTest, TheDerivedRunIsTheTapeWithTheNewAnswer) {
  const ScriptedServer server(kIs);
  const auto report = RerunOn(server, {.count = 2, .now = {.wall_ns = 1'800'000'000'000'000'000}});
  ASSERT_TRUE(report.ok()) << report.status();
  ASSERT_EQ(report->derived.size(), 2u);
  const schema::RecordedRun& derived = report->derived[0];
  EXPECT_NE(derived.run.id, report->derived[1].run.id);
  EXPECT_EQ(derived.run.parent, Tape().run.id);
  EXPECT_EQ(derived.run.origin, schema::RunOrigin::kReplay);
  ASSERT_EQ(derived.events.size(), 2u);
  EXPECT_EQ(derived.events[1].sequence, 2u);
  EXPECT_EQ(derived.events[1].run, derived.run.id);
  EXPECT_NE(derived.events[1].response.bytes.find("129"), std::string::npos);
  EXPECT_EQ(derived.run.tags[0].first, "tenant");
  EXPECT_EQ(derived.run.tags.back(),
            (std::pair<std::string, std::string>{"reenact.verdict", "diverged"}));
}

TEST_F(RerunRunnerTest, WhatIsNotAnsweredIsInconclusiveAndNoNumber) {
  const ScriptedServer server([](int, const std::string&, const std::string&) {
    return Http("200 OK", "Content-Type: text/html\r\n", "<html>");
  });
  const auto report = RerunOn(server, {.count = 3});
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->verdict, RerunVerdict::kInconclusive);
  EXPECT_EQ(report->calls[0].answered(), 0);
  EXPECT_EQ(Failures(report->calls[0].samples).at("no_answer"), 3);
  EXPECT_NE(report->inconclusive_because.find("no_answer"), std::string::npos);
  EXPECT_TRUE(report->derived.empty());
}

// Says one thing, and knows how likely any token is.
class ForcingTarget : public Target {
 public:
  std::string Name() const override { return "forcing"; }

  Abilities abilities() const override { return {}; }

  Sample Ask(const Question& question) override {
    Sample sample;
    sample.event = RecordedChat(
        question.request,
        R"({"id":"c-1","object":"chat.completion","created":1,"model":"m","prompt_token_ids":[5,6],)"
        R"("choices":[{"index":0,"message":{"role":"assistant","content":"a c"},)"
        R"("logprobs":{"content":[{"token":"a","logprob":-0.1,"bytes":[97],"top_logprobs":[]},)"
        R"({"token":" c","logprob":-0.5,"bytes":[32,99],"top_logprobs":[]}]},)"
        R"("finish_reason":"stop","token_ids":[11,13]}]})");
    ReadAnswer(&sample);
    return sample;
  }

  ForcedScores Force(const Question&, std::span<const int64_t> prompt,
                     std::span<const int64_t> answer) override {
    forced_prompt.assign(prompt.begin(), prompt.end());
    forced.assign(answer.begin(), answer.end());
    ForcedScores scores{.status = SampleStatus::kAnswered};
    scores.tokens.resize(answer.size());
    scores.tokens.back().chosen.logprob = -0.55;
    return scores;
  }

  std::vector<int64_t> forced_prompt;
  std::vector<int64_t> forced;
};

TEST(ForcedTokens, WeighARecordedTokenThatTheNewAnswerDoesNotList) {
  schema::RecordedRun tape = Tape();
  tape.events[1] = RecordedChat(
      kRequest,
      R"({"id":"c-0","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,)"
      R"("message":{"role":"assistant","content":"a b"},"finish_reason":"stop",)"
      R"("token_ids":[11,12]}]})");
  ForcingTarget target;
  const auto report = Rerun(tape, &target, {});
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(target.forced_prompt, (std::vector<int64_t>{5, 6}));
  EXPECT_EQ(target.forced, (std::vector<int64_t>{11, 12}));
  const TokenComparison* told = report->calls[0].Telling();
  ASSERT_TRUE(told != nullptr && told->parting.has_value());
  EXPECT_EQ(told->basis, TokenBasis::kTokenIds);
  EXPECT_EQ(told->parting->token_index, 1);
  EXPECT_NEAR(told->parting->new_margin.value_or(-1), 0.05, 1e-9);
  EXPECT_TRUE(told->parting->near_tie);
}

TEST_F(RerunRunnerTest, AStepThatIsNoModelCallIsRefused) {
  const ScriptedServer server(kWas);
  EXPECT_FALSE(RerunOn(server, {.step = 0}).ok());
  EXPECT_FALSE(RerunOn(server, {.step = 9}).ok());
  EXPECT_TRUE(RerunOn(server, {.step = 1}).ok());
}

}  // namespace
}  // namespace reenact::rerun
