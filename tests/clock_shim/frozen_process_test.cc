// The clock of programs in C and C++, the second time days away.

#include "clock_shim/frozen_process.h"

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdint>
#include <string>
#include <vector>

#include "clock_shim/tape_layout.h"
#include "schema/redaction.h"
#include "tests/clock_shim/frozen_runs.h"

namespace reenact::clock_shim {
namespace {

// cases/replay.md 10
TEST(FrozenClock, EveryFunctionGivesWhatItGave) {
  ExpectTheSame({kProgram, "read"}, 8);
}

TEST(FrozenClock, EachThreadHasATapeByItsPlaceInTheTree) {
  ExpectTheSame({kProgram, "threads"}, 165 * 8);
}

TEST(FrozenClock, ForkExecSpawnAndShellKeepTheirPlaces) {
  ExpectTheSame({kProgram, "processes"}, 12 * 8);
}

TEST(FrozenClock, AMillionReadsStayAMappingOfAFile) {
  const std::vector<std::string> argv = {kProgram, "many", "1000000"};
  const Recording first = Record(argv);
  EXPECT_EQ(RecordedReads(first.report), 1'000'000U);
  size_t bytes = 0;
  for (const schema::Component& part : first.run.components) bytes += part.content.bytes.size();
  EXPECT_LT(bytes, 5'000'000U);
  EXPECT_GT(first.run.components.size(), 3U);  // Parts that a record can hold.
  const Replayed second = Replay(first.run, argv);
  EXPECT_EQ(second.outcome.output, first.outcome.output);
  EXPECT_TRUE(second.report.equal());
}

TEST(FrozenClock, NoWaitEndsEarlyOrHangsWhenTheTapeIsDaysOld) {
  Recording first = Record({kProgram, "waits"});
  EXPECT_EQ(first.outcome.output, "");
  for (const int64_t days : {2, -2}) {
    schema::RecordedRun run = first.run;
    MoveBack(days * kDayNs, &run);
    const Replayed second = Replay(run, {kProgram, "waits"});
    EXPECT_FALSE(second.outcome.hung) << days;
    EXPECT_EQ(second.outcome.output, "") << days;
    EXPECT_EQ(second.outcome.status, 0) << days;
  }
}

TEST(FrozenClock, ADeadlineFromAnotherThreadIsNotWaitedForByTheHour) {
  Recording first = Record({kProgram, "handed"});
  MoveBack(2 * kDayNs, &first.run);
  // While the waiter had nothing to do, the recorded main thread waited an hour for something that
  // the replay has at once.
  constexpr int64_t kHourNs = int64_t{3'600} * 1'000'000'000;
  for (schema::Component& thread : first.run.components) {
    if (thread.name != "thread 0") continue;
    std::vector<TapeRead> reads = ReadsOf(thread);
    ASSERT_EQ(reads.size(), 1U);
    for (TapeRead& read : reads) read.value_ns += kHourNs;
    SetReads(reads, &thread);
  }
  const Replayed second = Replay(first.run, {kProgram, "handed"});
  EXPECT_FALSE(second.outcome.hung);
  EXPECT_EQ(second.outcome.output, "");
}

TEST(FrozenClock, ALoopThatPollsUntilAMomentEnds) {
  ExpectTheSame({kProgram, "poll"}, 3);
  Recording first = Record({kProgram, "poll"});
  // The tape ends in the middle of the loop.
  for (schema::Component& thread : first.run.components) {
    if (thread.name == "seed") continue;
    std::vector<TapeRead> reads = ReadsOf(thread);
    reads.resize(3);
    SetReads(reads, &thread);
  }
  const Replayed second = Replay(first.run, {kProgram, "poll"});
  EXPECT_EQ(second.outcome.output, "done\n");
  EXPECT_FALSE(second.report.equal());
}

TEST(FrozenClock, SignalHandlersMayReadInsideOfARead) {
  const Recording first = Record({kProgram, "signals"});
  EXPECT_EQ(first.outcome.output, "done\n");
  EXPECT_EQ(first.outcome.status, 0);
  const Replayed second = Replay(first.run, {kProgram, "signals"});
  EXPECT_EQ(second.outcome.output, "done\n");
  EXPECT_EQ(second.outcome.status, 0);
}

TEST(FrozenClock, ReadsPastTheTapeGoOnFromItsEndAndAreCounted) {
  const Recording first = Record({kProgram, "hours"});
  const Replayed second = Replay(first.run, {kProgram, "hours"}, {{"MORE_READS", "1"}});
  EXPECT_TRUE(second.outcome.output.starts_with(first.outcome.output));
  EXPECT_FALSE(second.report.equal());
  ASSERT_EQ(second.report.threads.size(), 1U);
  EXPECT_EQ(second.report.threads[0].replayed, 24U);
  EXPECT_EQ(second.report.threads[0].past_tape, 16U);
}

TEST(FrozenClock, AReadThatIsNotMadeIsCounted) {
  const Recording first = Record({kProgram, "threads"});
  const Replayed second = Replay(first.run, {kProgram, "read"});
  EXPECT_FALSE(second.report.equal());
  EXPECT_EQ(second.report.threads.size(), 7U);
}

TEST(FrozenClock, AKilledProgramLeavesAWholeTape) {
  const Recording first = Record({kProgram, "die"});
  EXPECT_TRUE(WIFSIGNALED(first.outcome.status));
  ASSERT_EQ(first.run.components.size(), 2U);
  EXPECT_EQ(ReadsOf(first.run.components[1]).size(), 1000U);
}

TEST(FrozenClock, ATapeThatIsNotWholeIsRefused) {
  const Recording first = Record({kProgram, "read"});
  schema::RecordedRun run = first.run;
  run.components[1].content.bytes.pop_back();
  EXPECT_EQ(FrozenProcess::Replay(run).status().code(), absl::StatusCode::kDataLoss);
  run = first.run;
  run.components[1].content.redacted = true;
  EXPECT_EQ(FrozenProcess::Replay(run).status().code(), absl::StatusCode::kDataLoss);
  run = first.run;
  run.components[1].name = "thread ../0";
  EXPECT_EQ(FrozenProcess::Replay(run).status().code(), absl::StatusCode::kDataLoss);
}

TEST(FrozenClock, TapesAreNoText) {
  const Recording first = Record({kProgram, "many", "100000"}, /*random=*/true);
  for (const schema::Component& component : first.run.components) {
    EXPECT_FALSE(schema::NeedsRedaction(component.content.bytes, schema::RedactionPolicy()));
    EXPECT_TRUE(IsTape(component));
  }
}

}  // namespace
}  // namespace reenact::clock_shim
