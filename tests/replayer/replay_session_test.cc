// Runs, their answers and what a session accepts, without a socket.

#include "replayer/replay_session.h"

#include <gtest/gtest.h>

#include <string>
#include <variant>
#include <vector>

#include "tests/replayer/tape_builder.h"

namespace reenact::replayer {
namespace {

using schema::Boundary;
using schema::EndState;

TEST(ReplaySession, EqualProgramReachesR2) {
  TapeBuilder tape;
  tape.Read(Boundary::kClock, "today", 1'779'271'200'000'000'000);
  tape.Model(kUser, "call lookup");
  tape.Tool("lookup", R"({"id":"A-17"})", "120");
  tape.Model(kAfterTool, "refund 120");
  ReplaySession session(tape.run(), {});
  auto program = ProgramOn(&session);
  ASSERT_TRUE(std::holds_alternative<schema::RunBound>(program.Begin()));
  EXPECT_EQ(program.Read(Boundary::kClock, "today"), 1'779'271'200'000'000'000u);
  EXPECT_EQ(program.Model(kUser), "call lookup");
  EXPECT_EQ(program.Tool("lookup", R"({"id":"A-17"})"), "120");
  EXPECT_EQ(program.Model(kAfterTool), "refund 120");
  program.Finish();
  const ReplayReport report = session.Finish(kReplayTime);
  EXPECT_EQ(Kinds(report), "");
  EXPECT_EQ(report.level, FidelityLevel::kR2);
  EXPECT_EQ(report.verdict, Verdict::kReproduced);
  EXPECT_TRUE(report.relaxed_by.empty());
  EXPECT_EQ(report.calls_served, 3);
  EXPECT_EQ(report.readings_served, 1);
  EXPECT_EQ(report.output, R"({"refund":120})");
}

// cases/replay.md 6: the same cuts, the same bytes, the same error.
TEST(ReplaySession, CutsAndTransportErrorAreServedAsRecorded) {
  TapeBuilder tape;
  const std::vector<std::string> reads = {"data: {\"c\":\"caf\xc3", "\xa9\"}\n\nda", "ta: {"};
  tape.Add({.request = kUser, .reads = reads, .end_state = EndState::kReset, .end_detail = "RST"});
  ReplaySession session(tape.run(), {});
  auto program = ProgramOn(&session);
  program.Begin();
  const schema::Message answer = program.BeginCall({.request = kUser});
  const auto& on_tape = std::get<schema::OnTape>(answer);
  EXPECT_EQ(on_tape.body, reads[0] + reads[1] + reads[2]);
  EXPECT_EQ(on_tape.exchange, tape.run().events[0].exchange);
  EXPECT_EQ(on_tape.end_state, EndState::kReset);
  EXPECT_EQ(on_tape.end_detail, "RST");
  program.EndCall(on_tape, EndState::kReset, on_tape.body.size());
  program.Finish();
  EXPECT_EQ(session.Finish(kReplayTime).level, FidelityLevel::kR2);
}

// cases/replay.md 30
TEST(ReplaySession, RetriesOfTheTransportAreServedInOrder) {
  TapeBuilder tape;
  schema::Event& event = tape.Add({.request = kUser, .reads = {"slow down", "answer"}});
  schema::ExchangeItem end;
  end.kind = schema::ExchangeItemKind::kAttemptEnd;
  end.detail = "provider_error:rate_limit";
  schema::ExchangeItem limited = event.exchange[0];
  limited.status = 429;
  limited.headers = {{"Retry-After", "2"}};
  event.exchange = {limited, event.exchange[1], end, event.exchange[0], event.exchange[2]};
  ReplaySession session(tape.run(), {});
  auto program = ProgramOn(&session);
  program.Begin();
  const schema::Message answer = program.BeginCall({.request = kUser});
  const auto& on_tape = std::get<schema::OnTape>(answer);
  EXPECT_EQ(on_tape.exchange, event.exchange);
  EXPECT_EQ(schema::FindLastAttempt(on_tape.exchange, on_tape.body).body, "answer");
  EXPECT_EQ(session.Finish(kReplayTime).attempts_on_tape, 2);
}

// reports.md 26, 22
TEST(ReplaySession, AnswersAreServedByteForByte) {
  const std::string answer =
      "{\"id\":\"x\",\"choices\":[],\"created\":1,\"usage\":{\"total\":3,\"prompt\":1},\"n\":null}";
  TapeBuilder tape;
  tape.Model(kUser, answer);
  ReplaySession session(tape.run(), {});
  auto program = ProgramOn(&session);
  program.Begin();
  EXPECT_EQ(program.Model(kUser), answer);
}

TEST(ReplaySession, OtherRunsAreRefusedAndCounted) {
  TapeBuilder tape;
  tape.Model(kUser, "A");
  ReplaySession session(tape.run(), {});
  auto health = ProgramOn(&session);
  EXPECT_TRUE(std::holds_alternative<schema::Diverged>(health.Begin("GET /health", "")));
  EXPECT_TRUE(Contains(health.Model(kUser), "DIVERGED"));
  auto other = ProgramOn(&session);
  EXPECT_TRUE(
      std::holds_alternative<schema::Diverged>(other.Begin("POST /refund", R"({"order":"B-1"})")));
  auto program = ProgramOn(&session);
  // White space in the input is no difference.
  EXPECT_TRUE(std::holds_alternative<schema::RunBound>(
      program.Begin("POST /refund", R"({ "order": "A-17" })")));
  auto again = ProgramOn(&session);
  EXPECT_TRUE(std::holds_alternative<schema::Diverged>(again.Begin()));
  EXPECT_EQ(program.Model(kUser), "A");
  program.Finish();
  const ReplayReport report = session.Finish(kReplayTime);
  EXPECT_EQ(report.refused_runs, 3);
  EXPECT_EQ(Kinds(report), "");
  EXPECT_EQ(report.level, FidelityLevel::kR2);
}

TEST(ReplaySession, RunThatNeverBeganIsInconclusiveAndNamesTheDifference) {
  TapeBuilder tape;
  tape.Model(kUser, "A");
  ReplaySession session(tape.run(), {});
  auto program = ProgramOn(&session);
  program.Begin("POST /refund", R"({"order":"A-18"})");
  const ReplayReport report = session.Finish(kReplayTime);
  EXPECT_EQ(report.verdict, Verdict::kInconclusive);
  EXPECT_EQ(report.level, FidelityLevel::kR0);
  ASSERT_EQ(Kinds(report), "novel_run no_run");
  ASSERT_EQ(report.divergences[0].differences.size(), 1u);
  EXPECT_EQ(report.divergences[0].differences[0].path, "order");
}

// cases/replay.md 25: nothing was compared.
TEST(ReplaySession, EmptyTapeWithoutOutputIsInconclusive) {
  TapeBuilder tape;
  tape.run().end.reset();
  ReplaySession session(tape.run(), {});
  auto program = ProgramOn(&session);
  program.Begin();
  program.Finish("");
  const ReplayReport report = session.Finish(kReplayTime);
  EXPECT_EQ(report.verdict, Verdict::kInconclusive);
  EXPECT_EQ(report.level, FidelityLevel::kR0);
}

schema::Component Prompt(const std::string& version, const std::string& content) {
  schema::Component component;
  component.kind = "prompt_template";
  component.name = "refund";
  component.version = version;
  component.content.bytes = content;
  return component;
}

TEST(ReplaySession, ComponentThatChangedIsNamed) {
  TapeBuilder tape;
  tape.run().components = {Prompt("v14", "Be brief.")};
  const auto replay = [&](std::vector<schema::Component> components) {
    ReplaySession session(tape.run(), {});
    auto program = ProgramOn(&session);
    program.Begin("POST /refund", R"({"order":"A-17"})", std::move(components));
    program.Finish();
    return session.Finish(kReplayTime);
  };
  EXPECT_EQ(Kinds(replay({})), "");
  EXPECT_EQ(Kinds(replay({Prompt("v14", "Be brief.")})), "");
  const ReplayReport version = replay({Prompt("v15", "Be brief.")});
  ASSERT_EQ(Kinds(version), "component");
  EXPECT_TRUE(Contains(MessageOf(version.divergences[0]), "recorded version \"v14\", now \"v15\""));
  EXPECT_EQ(version.level, FidelityLevel::kR1);
  const ReplayReport content = replay({Prompt("v14", "Be brief!")});
  ASSERT_EQ(Kinds(content), "component");
  EXPECT_TRUE(Contains(MessageOf(content.divergences[0]), "other content"));
  ASSERT_EQ(content.divergences[0].differences.size(), 1u);
}

TEST(ReplaySession, WrongProtocolVersionIsRefusedByName) {
  TapeBuilder tape;
  ReplaySession session(tape.run(), {});
  const schema::Message welcome =
      session.Answer(schema::Hello{schema::kReplayProtocolVersion, 1, "s"});
  EXPECT_EQ(std::get<schema::Welcome>(welcome).entry, "POST /refund");
  const schema::Message refusal = session.Answer(schema::Hello{9, 1, "s"});
  EXPECT_TRUE(Contains(std::get<schema::Diverged>(refusal).message, "version 9"));
}

TEST(ReplaySession, AnswersOfTheReplayerAreNoQuestions) {
  TapeBuilder tape;
  ReplaySession session(tape.run(), {});
  EXPECT_TRUE(std::holds_alternative<schema::Diverged>(session.Answer(schema::Welcome{})));
  EXPECT_TRUE(std::holds_alternative<schema::Diverged>(session.Answer(schema::AwaitDrive{})));
  EXPECT_TRUE(std::holds_alternative<schema::Done>(session.Answer(schema::EndCall{1, 99})));
}

TEST(ReplaySession, EndlessRetriesAreCountedAndNotKept) {
  TapeBuilder tape;
  ReplaySession session(tape.run(), {});
  auto program = ProgramOn(&session);
  program.Begin();
  for (int i = 0; i < 1500; ++i) program.Model(kUser);
  program.Finish();
  const ReplayReport report = session.Finish(kReplayTime);
  EXPECT_EQ(report.divergences.size(), 1000u);
  ASSERT_EQ(report.notes.size(), 1u);
  EXPECT_TRUE(Contains(report.notes[0], "500 further divergences"));
}

}  // namespace
}  // namespace reenact::replayer
