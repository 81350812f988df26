// What is compared at the end: outputs, answers that were not read, records that nobody asked for.

#include <gtest/gtest.h>

#include <string>
#include <variant>

#include "replayer/replay_session.h"
#include "tests/replayer/tape_builder.h"

namespace reenact::replayer {
namespace {

using schema::Boundary;
using schema::EndState;

// cases/replay.md 32
TEST(ReplayEnd, RecordThatNobodyAskedForIsOmitted) {
  TapeBuilder tape;
  tape.Model(kUser, "A");
  tape.Tool("send_email", R"({"to":"a@b.example"})", "sent");
  tape.Read(Boundary::kClock, "today", 1);
  ReplaySession session(tape.run(), {});
  auto program = ProgramOn(&session);
  program.Begin();
  EXPECT_EQ(program.Model(kUser), "A");
  program.Finish();
  const ReplayReport report = session.Finish(kReplayTime);
  ASSERT_EQ(Kinds(report), "omitted_call omitted_reading");
  EXPECT_TRUE(Contains(MessageOf(report.divergences[0]), "tool \"send_email\""));
  EXPECT_EQ(report.divergences[0].closest, 1u);
  EXPECT_EQ(report.verdict, Verdict::kDiverged);
  EXPECT_EQ(report.level, FidelityLevel::kR0);
}

// reports.md 31
TEST(ReplayEnd, OtherOutputOnEqualInputsIsUnrecordedNondeterminism) {
  TapeBuilder tape;
  tape.Model(kUser, "A");
  for (int i = 0; i < 50; ++i) {
    ReplaySession session(tape.run(), {});
    auto program = ProgramOn(&session);
    program.Begin();
    EXPECT_EQ(program.Model(kUser), "A");
    const bool hold = i % 10 == 0;
    program.Finish(hold ? R"({"hold":true})" : R"({ "refund": 120 })");
    const ReplayReport report = session.Finish(kReplayTime);
    EXPECT_EQ(Kinds(report), hold ? "output" : "");
    EXPECT_EQ(report.output_equal, !hold);
    if (!hold) continue;
    EXPECT_TRUE(
        Contains(MessageOf(report.divergences[0]),
                 "decision differs with identical recorded inputs: unrecorded nondeterminism"));
    EXPECT_FALSE(Contains(MessageOf(report.divergences[0]), "drift"));
  }
}

TEST(ReplayEnd, OtherOutputOfAProgramWhoseClockIsNotFrozenTellsNothing) {
  TapeBuilder tape;
  tape.Model(kUser, "A");
  tape.Model(kAfterTool, "B");
  for (const bool asks_the_same : {true, false}) {
    ReplaySession session(tape.run(), {});
    session.NoteInconclusive("clock not frozen: static");
    auto program = ProgramOn(&session);
    program.Begin();
    program.Model(kUser);
    if (asks_the_same) program.Model(kAfterTool);
    program.Finish(R"({"at":"another time"})");
    const ReplayReport report = session.Finish(kReplayTime);
    EXPECT_FALSE(report.output_equal);
    EXPECT_EQ(report.verdict, asks_the_same ? Verdict::kInconclusive : Verdict::kDiverged);
    if (!asks_the_same) continue;
    EXPECT_EQ(report.inconclusive_because, "clock not frozen: static");
    EXPECT_TRUE(Contains(MessageOf(report.divergences.at(0)), "clock not frozen: static"));
  }
}

TEST(ReplayEnd, OutputThatFollowsFromAnotherDivergenceIsNotBlamedOnChance) {
  TapeBuilder tape;
  tape.Model(kUser, "A");
  ReplaySession session(tape.run(), {});
  auto program = ProgramOn(&session);
  program.Begin();
  program.Model(R"({"model":"other"})");
  program.Finish("none");
  const ReplayReport report = session.Finish(kReplayTime);
  EXPECT_EQ(Kinds(report), "novel_call omitted_call");
  EXPECT_FALSE(report.output_equal);
}

// cases/replay.md 31
TEST(ReplayEnd, ErrorTextsThatDifferInAddressesOrTimesAreCosmetic) {
  TapeBuilder tape;
  tape.run().end->state = EndState::kError;
  tape.run().end->detail = "bad_alloc at 0x7f3a12c0 on 2026-05-20T10:00:00Z";
  tape.run().end->output.bytes = "";
  const auto replay = [&](const std::string& detail) {
    ReplaySession session(tape.run(), {});
    auto program = ProgramOn(&session);
    program.Begin();
    program.Finish("", EndState::kError, detail);
    return session.Finish(kReplayTime);
  };
  const ReplayReport cosmetic = replay("bad_alloc at 0x55d0e1 on 2026-09-01T11:30:00Z");
  EXPECT_EQ(Kinds(cosmetic), "");
  EXPECT_TRUE(cosmetic.output_equal);
  ASSERT_EQ(cosmetic.notes.size(), 1u);
  EXPECT_TRUE(Contains(cosmetic.notes[0], "addresses or times"));
  EXPECT_EQ(Kinds(replay("out of range at 0x55d0e1 on 2026-09-01T11:30:00Z")), "output");
}

void Cut(schema::Body* body, uint64_t kept) {
  body->original_size = body->bytes.size();
  body->bytes.resize(kept);
  body->cut = true;
}

// cases/reports.md 70: what is not there was not compared, and nobody may think that it was.
TEST(ReplayEnd, CutOutputIsComparedAsFarAsItIsKept) {
  TapeBuilder tape;
  tape.Model(kUser, "A");
  tape.run().end->output.bytes = R"({"refund":120,"note":"as agreed"})";
  const auto replay = [&](const std::string& output) {
    ReplaySession session(tape.run(), {});
    auto program = ProgramOn(&session);
    program.Begin();
    program.Model(kUser);
    program.Finish(output);
    return session.Finish(kReplayTime);
  };
  const ReplayReport whole = replay(R"({"refund":120,"note":"as agreed"})");
  EXPECT_EQ(whole.level, FidelityLevel::kR2);
  EXPECT_TRUE(whole.relaxed_by.empty());
  Cut(&tape.run().end->output, 14);
  for (const char* output : {R"({"refund":120,"note":"as agreed"})", R"({"refund":120,"no)"}) {
    const ReplayReport report = replay(output);
    EXPECT_EQ(Kinds(report), "");
    EXPECT_EQ(report.verdict, Verdict::kReproduced);
    EXPECT_EQ(report.level, FidelityLevel::kR1);
    ASSERT_EQ(report.relaxed_by.size(), 1u);
    EXPECT_EQ(
        report.relaxed_by[0],
        "the output was cut at 14 of 33 bytes when it was recorded: the rest is not compared");
  }
  for (const char* output : {R"({"refund":121,"note":"as agreed"})", R"({"refund":)", ""}) {
    const ReplayReport report = replay(output);
    EXPECT_EQ(Kinds(report), "output") << output;
    EXPECT_FALSE(report.output_equal);
  }
}

// cases/replay.md 25: an empty tape, and an output of which nothing was kept.
TEST(ReplayEnd, OutputOfWhichNothingIsKeptIsNoComparison) {
  TapeBuilder tape;
  Cut(&tape.run().end->output, 0);
  ReplaySession session(tape.run(), {});
  auto program = ProgramOn(&session);
  program.Begin();
  program.Finish();
  EXPECT_EQ(session.Finish(kReplayTime).verdict, Verdict::kInconclusive);
}

// cases/reports.md 70
TEST(ReplayEnd, CutComponentIsComparedAsFarAsItIsKept) {
  TapeBuilder tape;
  tape.Model(kUser, "A");
  schema::Component prompt;
  prompt.kind = "prompt_template";
  prompt.name = "refund";
  prompt.version = "v1";
  prompt.content.bytes = "Refund politely, within thirty days.";
  tape.run().components = {prompt};
  Cut(&tape.run().components[0].content, 15);
  const auto replay = [&](const std::string& content) {
    prompt.content.bytes = content;
    ReplaySession session(tape.run(), {});
    auto program = ProgramOn(&session);
    program.Begin("POST /refund", R"({"order":"A-17"})", {prompt});
    program.Model(kUser);
    program.Finish();
    return session.Finish(kReplayTime);
  };
  const ReplayReport equal = replay("Refund politely, within thirty days.");
  EXPECT_EQ(Kinds(equal), "");
  EXPECT_EQ(equal.level, FidelityLevel::kR1);
  ASSERT_EQ(equal.relaxed_by.size(), 1u);
  EXPECT_TRUE(Contains(equal.relaxed_by[0],
                       "content of prompt_template \"refund\" was cut at 15 of 36 bytes"))
      << equal.relaxed_by[0];
  EXPECT_EQ(Kinds(replay("Refund rudely, within thirty days.")), "component");
}

// cases/reports.md 70: a replay from a cut body is refused, not run.
TEST(ReplayEnd, CutInputIsRefusedByName) {
  TapeBuilder tape;
  tape.Model(kUser, "A");
  Cut(&tape.run().run.input, 5);
  for (const char* input : {R"({"order":"A-17"})", R"({"or)"}) {
    ReplaySession session(tape.run(), {});
    auto program = ProgramOn(&session);
    const schema::Message answer = program.Begin("POST /refund", input);
    ASSERT_TRUE(std::holds_alternative<schema::Diverged>(answer)) << input;
    EXPECT_TRUE(Contains(std::get<schema::Diverged>(answer).message,
                         "the recorded input was cut at 5 of 16 bytes"));
    EXPECT_EQ(program.Model(kUser).substr(0, 8), "DIVERGED");
    const ReplayReport report = session.Finish(kReplayTime);
    EXPECT_EQ(report.verdict, Verdict::kInconclusive);
    EXPECT_EQ(report.level, FidelityLevel::kR0);
    EXPECT_NE(Find(report, DivergenceKind::kUnusable), nullptr) << Kinds(report);
  }
}

TEST(ReplayEnd, DateInAnAnswerIsNoCosmeticDifference) {
  TapeBuilder tape;
  tape.run().end->output.bytes = "due 2026-05-20";
  ReplaySession session(tape.run(), {});
  auto program = ProgramOn(&session);
  program.Begin();
  program.Finish("due 2026-05-21");
  EXPECT_EQ(Kinds(session.Finish(kReplayTime)), "output");
}

TEST(ReplayEnd, ReadingLessOfAnAnswerIsADivergence) {
  TapeBuilder tape;
  tape.Add({.request = kUser, .reads = {"one ", "two ", "three"}});
  const auto replay = [&](EndState state, uint64_t consumed) {
    ReplaySession session(tape.run(), {});
    auto program = ProgramOn(&session);
    program.Begin();
    const schema::Message answer = program.BeginCall({.request = kUser});
    program.EndCall(std::get<schema::OnTape>(answer), state, consumed);
    program.Finish();
    return Kinds(session.Finish(kReplayTime));
  };
  EXPECT_EQ(replay(EndState::kComplete, 13), "");
  // cases/replay.md 7: closing after the last byte is no early stop.
  EXPECT_EQ(replay(EndState::kAbandonedByCaller, 13), "");
  EXPECT_EQ(replay(EndState::kAbandonedByCaller, 8), "not_read");
  EXPECT_EQ(replay(EndState::kError, 13), "not_read");
}

// cases/replay.md 7
TEST(ReplayEnd, ReadingMoreThanWasReadIsADivergence) {
  TapeBuilder tape;
  tape.Add({.request = kUser, .reads = {"one "}, .end_state = EndState::kAbandonedByCaller});
  const auto replay = [&](EndState state) {
    ReplaySession session(tape.run(), {});
    auto program = ProgramOn(&session);
    program.Begin();
    const schema::Message answer = program.BeginCall({.request = kUser});
    program.EndCall(std::get<schema::OnTape>(answer), state, 4);
    program.Finish();
    return Kinds(session.Finish(kReplayTime));
  };
  EXPECT_EQ(replay(EndState::kAbandonedByCaller), "");
  EXPECT_EQ(replay(EndState::kComplete), "not_read");
}

TEST(ReplayEnd, CallThatIsNeverEndedIsNamed) {
  TapeBuilder tape;
  tape.Model(kUser, "A");
  ReplaySession session(tape.run(), {});
  auto program = ProgramOn(&session);
  program.Begin();
  program.BeginCall({.request = kUser});
  program.Finish();
  EXPECT_EQ(Kinds(session.Finish(kReplayTime)), "not_read");
}

}  // namespace
}  // namespace reenact::replayer
