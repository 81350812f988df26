// Secrets in what a program sends: neither a difference nor a line in a report.

#include <gtest/gtest.h>

#include <string>
#include <variant>

#include "replayer/replay_session.h"
#include "tests/replayer/tape_builder.h"

namespace reenact::replayer {
namespace {

// cases/replay.md 16, 17
TEST(ReplaySecrets, RotatedCredentialChangesNothingAndIsNowhereInTheReport) {
  TapeBuilder tape;
  tape.Tool("http", R"({"url":"u","api_key":"[redacted]"})", "ok");
  ReplaySession session(tape.run(), {});
  auto program = ProgramOn(&session);
  program.Begin();
  EXPECT_EQ(program.Tool("http", R"({"url":"u","api_key":"sk-rotated-4711-4711-4711"})"), "ok");
  const std::string miss =
      program.Tool("http", R"({"url":"v","api_key":"sk-rotated-4711-4711-4711"})");
  EXPECT_TRUE(Contains(miss, "DIVERGED")) << miss;
  EXPECT_FALSE(Contains(miss, "4711")) << miss;
  program.Finish();
  const ReplayReport report = session.Finish(kReplayTime);
  for (const schema::Event& event : report.derived.events) {
    EXPECT_FALSE(Contains(event.request.bytes, "4711"));
  }
}

// cases/replay.md 16: secrets that only the recording process knew, by value.
TEST(ReplaySecrets, SecretThatNoPatternFindsIsLearnedFromItsPlace) {
  TapeBuilder tape;
  tape.run().run.input.bytes = R"({"order":"A-17","who":"[redacted]"})";
  tape.run().end->output.bytes = "refunded for [redacted].";
  tape.Tool("mail", R"({"to":"x","body":"code [redacted], thanks"})", "sent");
  tape.Tool("mail", R"({"to":"y","body":"[redacted]"})", "sent again");
  ReplaySession session(tape.run(), {});
  auto program = ProgramOn(&session);
  ASSERT_TRUE(std::holds_alternative<schema::RunBound>(
      program.Begin("POST /refund", R"({"order":"A-17","who":"customer#4711"})")));
  EXPECT_EQ(program.Tool("mail", R"({"to":"x","body":"code pear-plum-fig, thanks"})"), "sent");
  EXPECT_EQ(program.Tool("mail", R"({"body":"pear-plum-fig","to":"y"})"), "sent again");
  const std::string miss = program.Tool("mail", R"({"to":"z","body":"pear-plum-fig"})");
  EXPECT_FALSE(Contains(miss, "plum")) << miss;
  program.Finish("refunded for customer#4711.");
  const ReplayReport report = session.Finish(kReplayTime);
  EXPECT_EQ(Kinds(report), "novel_call");
  EXPECT_TRUE(report.output_equal);
  for (const schema::Event& event : report.derived.events) {
    EXPECT_FALSE(Contains(event.request.bytes, "plum"));
  }
}

TEST(ReplaySecrets, MarkDoesNotStandForAnythingElse) {
  TapeBuilder tape;
  tape.Tool("mail", R"({"to":"[redacted]","n":1})", "sent");
  for (const char* other : {R"({"to":"pear-plum-fig","n":2})", R"({"to":"two words","n":1})",
                            R"({"to":"","n":1})", R"({"to":["pear-plum-fig"],"n":1})"}) {
    ReplaySession session(tape.run(), {});
    auto program = ProgramOn(&session);
    program.Begin();
    EXPECT_TRUE(Contains(program.Tool("mail", other), "DIVERGED novel_call")) << other;
  }
}

TEST(ReplaySecrets, WhatWasErasedLaterIsLearnedAlsoWhenItIsSeveralWords) {
  TapeBuilder tape;
  tape.run().run.process.emplace_back("redacted_texts", "yes");
  tape.Tool("mail", R"({"to":"[redacted]","body":"Dear [redacted], thanks"})", "sent");
  ReplaySession session(tape.run(), {});
  auto program = ProgramOn(&session);
  program.Begin();
  EXPECT_EQ(
      program.Tool("mail", R"({"to":"Zo\u00eb Quigley","body":"Dear Zo\u00eb Quigley, thanks"})"),
      "sent");
  const std::string miss = program.Tool("mail", R"({"to":"Zo\u00eb Quigley","body":"other"})");
  EXPECT_TRUE(Contains(miss, "DIVERGED")) << miss;
  EXPECT_FALSE(Contains(miss, "Quigley")) << miss;
  program.Finish();
}

TEST(ReplaySecrets, ValuesOfANameThatWereErasedLaterMatchWhateverTheyAre) {
  TapeBuilder tape;
  tape.run().run.process.emplace_back("redacted_keys", "email,patient_name");
  tape.Tool("mail", R"({"patient_name":"[redacted]","n":1})", "sent");
  ReplaySession session(tape.run(), {});
  auto program = ProgramOn(&session);
  program.Begin();
  EXPECT_EQ(program.Tool("mail", R"({"patient_name":"two words","n":1})"), "sent");
  const std::string miss = program.Tool("mail", R"({"patient_name":"two words","n":2})");
  EXPECT_TRUE(Contains(miss, "DIVERGED")) << miss;
  EXPECT_FALSE(Contains(miss, "two words")) << miss;
  program.Finish();
}

}  // namespace
}  // namespace reenact::replayer
