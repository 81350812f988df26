// One recorded input changed on purpose.

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "replayer/replay_session.h"
#include "tests/replayer/tape_builder.h"

namespace reenact::replayer {
namespace {

using schema::Boundary;

constexpr uint64_t kMarchFirst = 1'772'366'400'000'000'000;

Override Parse(const std::string& text) {
  auto parsed = ParseOverride(text);
  EXPECT_TRUE(parsed.ok()) << parsed.status();
  return parsed.value_or(Override());
}

TEST(ParseOverride, ReadsEveryForm) {
  EXPECT_EQ(Parse("clock=2026-03-01T12:00:00Z").target, Override::Target::kClock);
  EXPECT_EQ(Parse("clock:today=2026-03-01T13:00:00+01:00").name, "today");
  const Override tool = Parse("tool:lookup_order={\"a\":\"b=c\"}");
  EXPECT_EQ(tool.target, Override::Target::kTool);
  EXPECT_EQ(tool.name, "lookup_order");
  EXPECT_EQ(tool.value, "{\"a\":\"b=c\"}");
  EXPECT_EQ(Parse("retrieval:kb=").target, Override::Target::kRetrieval);
  EXPECT_EQ(Parse("component:refund=text").target, Override::Target::kComponent);
}

// reports.md 88: a time without a zone is refused.
TEST(ParseOverride, RefusesWhatItCannotReadAndListsTheForms) {
  for (const char* text :
       {"", "clock", "clock=", "clock=yesterday", "clock=2026-03-01T12:00:00", "tool=x", "tool:=x",
        "model:chat=x", "clock=9999-01-01T00:00:00Z", "clock=infinite-future"}) {
    const auto parsed = ParseOverride(text);
    EXPECT_EQ(parsed.status().code(), absl::StatusCode::kInvalidArgument) << text;
    EXPECT_TRUE(Contains(std::string(parsed.status().message()), "tool:NAME=")) << text;
  }
}

TEST(Override, ClockGivesTheSameTimeForEveryReading) {
  TapeBuilder tape;
  tape.Read(Boundary::kClock, "today", 1);
  tape.Read(Boundary::kClock, "deadline", 2);
  ReplaySession session(tape.run(), {.overrides = {Parse("clock=2026-03-01T12:00:00Z")}});
  auto program = ProgramOn(&session);
  program.Begin();
  EXPECT_EQ(program.Read(Boundary::kClock, "today"), kMarchFirst);
  EXPECT_EQ(program.Read(Boundary::kClock, "deadline"), kMarchFirst);
  bool diverged = false;
  EXPECT_EQ(program.Read(Boundary::kClock, "other", &diverged), kMarchFirst);
  EXPECT_TRUE(diverged);
}

TEST(Override, LowersTheLevelAndIsNamed) {
  TapeBuilder tape;
  tape.Read(Boundary::kClock, "today", 1);
  tape.Read(Boundary::kClock, "deadline", 2);
  ReplaySession session(tape.run(), {.overrides = {Parse("clock:today=2026-03-01T12:00:00Z")}});
  auto program = ProgramOn(&session);
  program.Begin();
  EXPECT_EQ(program.Read(Boundary::kClock, "today"), kMarchFirst);
  EXPECT_EQ(program.Read(Boundary::kClock, "deadline"), 2u);
  program.Finish();
  const ReplayReport report = session.Finish(kReplayTime);
  EXPECT_EQ(report.level, FidelityLevel::kR1);
  EXPECT_EQ(report.verdict, Verdict::kReproduced);
  ASSERT_EQ(report.relaxed_by.size(), 1u);
  EXPECT_EQ(report.relaxed_by[0], "clock \"today\" was overridden");
}

TEST(Override, ToolAndRetrievalAnswerWithTheGivenBytes) {
  TapeBuilder tape;
  tape.Tool("lookup_order", "{}", "1200");
  tape.Add({.boundary = Boundary::kRetrieval, .name = "kb", .request = "q", .reads = {"a", "b"}});
  ReplaySession session(tape.run(),
                        {.overrides = {Parse("tool:lookup_order=120"), Parse("retrieval:kb=")}});
  auto program = ProgramOn(&session);
  program.Begin();
  EXPECT_EQ(program.Tool("lookup_order", "{}"), "120");
  EXPECT_EQ(program.Call({.boundary = Boundary::kRetrieval, .name = "kb", .request = "q"}), "");
  program.Finish(R"({"refund":12})");
  const ReplayReport report = session.Finish(kReplayTime);
  EXPECT_EQ(report.level, FidelityLevel::kR1);
  ASSERT_EQ(Kinds(report), "output");
  EXPECT_TRUE(Contains(report.divergences[0].summary, "overridden"));
  EXPECT_FALSE(Contains(report.divergences[0].summary, "nondeterminism"));
  EXPECT_EQ(report.derived.events[0].response.bytes, "120");
  EXPECT_EQ(schema::BodySize(report.derived.events[0].exchange), 3u);
}

TEST(Override, ToolThatChangedAnErrorIntoAnAnswerIsComplete) {
  TapeBuilder tape;
  tape.Add({.boundary = Boundary::kTool,
            .name = "lookup",
            .request = "{}",
            .end_state = schema::EndState::kError,
            .end_detail = "exception: timeout"});
  ReplaySession session(tape.run(), {.overrides = {Parse("tool:lookup=120")}});
  auto program = ProgramOn(&session);
  program.Begin();
  const schema::Message answer =
      program.BeginCall({.boundary = Boundary::kTool, .name = "lookup", .request = "{}"});
  const auto& on_tape = std::get<schema::OnTape>(answer);
  EXPECT_EQ(on_tape.end_state, schema::EndState::kComplete);
  program.EndCall(on_tape, schema::EndState::kComplete, 3);
  program.Finish();
  const ReplayReport report = session.Finish(kReplayTime);
  EXPECT_EQ(Kinds(report), "");
  EXPECT_EQ(report.derived.events[0].end_state, schema::EndState::kComplete);
}

schema::Component Prompt(std::string content) {
  schema::Component prompt;
  prompt.kind = "prompt_template";
  prompt.name = "refund";
  prompt.content.bytes = std::move(content);
  return prompt;
}

TEST(Override, ComponentReachesTheProgramThatAsksForItsContent) {
  TapeBuilder tape;
  tape.run().components = {Prompt("recorded")};
  ReplaySession session(tape.run(), {.overrides = {Parse("component:refund=given")}});
  auto program = ProgramOn(&session);
  program.Begin("POST /refund", R"({"order":"A-17"})", {Prompt("announced")});
  EXPECT_EQ(program.Content("refund"), "given");
  EXPECT_EQ(program.Content("another"), std::nullopt);
  program.Finish();
  const ReplayReport report = session.Finish(kReplayTime);
  EXPECT_EQ(Kinds(report), "");
  ASSERT_EQ(report.derived.components.size(), 1u);
  EXPECT_EQ(report.derived.components[0].content.bytes, "given");
  EXPECT_EQ(report.verdict, Verdict::kReproduced);
  EXPECT_EQ(report.level, FidelityLevel::kR1);
  ASSERT_EQ(report.relaxed_by.size(), 1u);
  EXPECT_EQ(report.relaxed_by[0], "component \"refund\" was overridden");
}

TEST(Override, ComponentWhoseContentIsNeverAskedForMakesTheReplayInconclusive) {
  TapeBuilder tape;
  tape.run().components = {Prompt("recorded")};
  ReplaySession session(tape.run(), {.overrides = {Parse("component:refund=given")}});
  auto program = ProgramOn(&session);
  program.Begin("POST /refund", R"({"order":"A-17"})", {Prompt("recorded")});
  program.Finish();
  const ReplayReport report = session.Finish(kReplayTime);
  EXPECT_EQ(report.verdict, Verdict::kInconclusive);
  EXPECT_TRUE(Contains(report.inconclusive_because, "component \"refund\""))
      << report.inconclusive_because;
  EXPECT_TRUE(Contains(report.inconclusive_because, "went on with its own"))
      << report.inconclusive_because;
  ASSERT_EQ(report.derived.components.size(), 1u);
  EXPECT_EQ(report.derived.components[0].content.bytes, "recorded");
}

TEST(Override, ContentOfAComponentIsRedactedInTheDerivedRun) {
  TapeBuilder tape;
  tape.run().components = {Prompt("recorded")};
  const std::string key = "sk-proj-" + std::string(40, 'a') + "1B2c";
  ReplaySession session(tape.run(), {.overrides = {Parse("component:refund=key " + key)}});
  auto program = ProgramOn(&session);
  program.Begin("POST /refund", R"({"order":"A-17"})", {Prompt("recorded")});
  EXPECT_EQ(program.Content("refund"), "key " + key);
  program.Finish();
  const ReplayReport report = session.Finish(kReplayTime);
  ASSERT_EQ(report.derived.components.size(), 1u);
  EXPECT_FALSE(Contains(report.derived.components[0].content.bytes, key));
  EXPECT_TRUE(report.derived.components[0].content.redacted);
}

TEST(Override, ClockOfOneNameCountsOverTheClockOfAll) {
  TapeBuilder tape;
  tape.Read(Boundary::kClock, "today", 1);
  tape.Read(Boundary::kClock, "deadline", 2);
  ReplaySession session(tape.run(), {.overrides = {Parse("clock=2026-02-01T12:00:00Z"),
                                                   Parse("clock:today=2026-03-01T12:00:00Z")}});
  auto program = ProgramOn(&session);
  program.Begin();
  EXPECT_EQ(program.Read(Boundary::kClock, "today"), kMarchFirst);
  EXPECT_NE(program.Read(Boundary::kClock, "deadline"), kMarchFirst);
  program.Finish();
  EXPECT_EQ(session.Finish(kReplayTime).verdict, Verdict::kReproduced);
}

TEST(Override, OfSomethingThatNeverCameIsSaidToHaveHadNoEffect) {
  TapeBuilder tape;
  ReplaySession session(tape.run(), {.overrides = {Parse("tool:lookup_oder=120")}});
  auto program = ProgramOn(&session);
  program.Begin();
  program.Finish();
  const ReplayReport report = session.Finish(kReplayTime);
  ASSERT_EQ(report.relaxed_by.size(), 1u);
  EXPECT_TRUE(Contains(report.relaxed_by[0], "had no effect")) << report.relaxed_by[0];
  EXPECT_EQ(report.verdict, Verdict::kInconclusive);
  EXPECT_TRUE(Contains(report.inconclusive_because, "tool \"lookup_oder\""))
      << report.inconclusive_because;
}

}  // namespace
}  // namespace reenact::replayer
