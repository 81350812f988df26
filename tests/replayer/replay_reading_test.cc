// Clock and random: readings by name and position.

#include <gtest/gtest.h>

#include "replayer/replay_session.h"
#include "tests/replayer/tape_builder.h"

namespace reenact::replayer {
namespace {

using schema::Boundary;

// cases/replay.md 13
TEST(ReplayReading, NovelDrawShiftsNoOther) {
  TapeBuilder tape;
  tape.Read(Boundary::kRandom, "uuid", 11);
  tape.Read(Boundary::kRandom, "uuid", 22);
  ReplaySession session(tape.run(), {});
  auto program = ProgramOn(&session);
  program.Begin();
  bool diverged = false;
  EXPECT_EQ(program.Read(Boundary::kRandom, "uuid"), 11u);
  EXPECT_EQ(program.Read(Boundary::kRandom, "jitter", &diverged), 0u);
  EXPECT_TRUE(diverged);
  EXPECT_EQ(program.Read(Boundary::kRandom, "uuid"), 22u);
  program.Finish();
  const ReplayReport report = session.Finish(kReplayTime);
  ASSERT_EQ(Kinds(report), "novel_reading");
  EXPECT_TRUE(Contains(MessageOf(report.divergences[0]), "random \"jitter\""))
      << MessageOf(report.divergences[0]);
  EXPECT_TRUE(Contains(MessageOf(report.divergences[0]), "reading 1 there"));
  EXPECT_EQ(report.level, FidelityLevel::kR1);
}

TEST(ReplayReading, ClockPastItsEndStaysAtTheLastReading) {
  TapeBuilder tape;
  tape.Read(Boundary::kClock, "today", 100);
  tape.Read(Boundary::kClock, "today", 200);
  ReplaySession session(tape.run(), {});
  auto program = ProgramOn(&session);
  program.Begin();
  bool diverged = false;
  EXPECT_EQ(program.Read(Boundary::kClock, "today"), 100u);
  EXPECT_EQ(program.Read(Boundary::kClock, "deadline", &diverged), 100u);
  EXPECT_TRUE(diverged);
  EXPECT_EQ(program.Read(Boundary::kClock, "today"), 200u);
  EXPECT_EQ(program.Read(Boundary::kClock, "today", &diverged), 200u);
  EXPECT_TRUE(diverged);
  EXPECT_EQ(Kinds(session.Finish(kReplayTime)), "novel_reading novel_reading process");
}

TEST(ReplayReading, ClockBeforeAnyReadingIsTheBeginningOfTheRun) {
  TapeBuilder tape;
  ReplaySession session(tape.run(), {});
  auto program = ProgramOn(&session);
  program.Begin();
  EXPECT_EQ(program.Read(Boundary::kClock, "today"), 1'779'271'200'000'000'000u);
}

}  // namespace
}  // namespace reenact::replayer
