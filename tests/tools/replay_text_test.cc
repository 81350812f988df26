#include "tools/reenact/replay/replay_text.h"

#include <gtest/gtest.h>

#include <string>

#include "schema/json_view.h"
#include "schema/recorded_command.h"
#include "tests/tools/sample_runs.h"
#include "tools/reenact/exit_code.h"
#include "tools/reenact/replay/replay_command.h"

namespace reenact::tools {
namespace {

replayer::RunnerResult Reproduced() {
  replayer::RunnerResult result;
  result.verdict = replayer::Verdict::kReproduced;
  result.report.bound = true;
  result.report.finished = true;
  result.report.verdict = replayer::Verdict::kReproduced;
  result.report.level = replayer::FidelityLevel::kR2;
  result.report.calls_on_tape = result.report.calls_served = 4;
  result.report.readings_on_tape = result.report.readings_served = 2;
  result.report.fingerprint = "sha256:0011223344556677";
  result.network.guarded = true;
  return result;
}

replayer::RunnerResult Diverged() {
  replayer::RunnerResult result = Reproduced();
  result.verdict = replayer::Verdict::kDiverged;
  result.report.level = replayer::FidelityLevel::kR0;
  result.report.relaxed_by = {"a request was not on the tape"};
  replayer::Divergence divergence;
  divergence.kind = replayer::DivergenceKind::kNovelCall;
  divergence.name = "chat";
  divergence.ordinal = 1;
  divergence.key = "sha256:1f0c2233445566";
  divergence.closest = 5;
  divergence.summary = "no record has this request; closest is event #5";
  divergence.differences = {
      {.path = "messages[0].content", .expected = "\"a\"", .actual = "\"b\x1b\""}};
  result.report.divergences = {divergence};
  result.network.refused = 1;
  result.network.attempts = {{.pid = 42, .call = "connect", .address = "203.0.113.7:443"}};
  return result;
}

// cases/replay.md 1: the number of outbound attempts is printed, zero too.
TEST(ReplayText, SaysLevelServedAndNetwork) {
  const std::string text = RenderReplay(tests::WrongRefund(), Reproduced(), {});
  EXPECT_NE(text.find("verdict     reproduced"), std::string::npos) << text;
  EXPECT_NE(text.find("R2, the same answers"), std::string::npos) << text;
  EXPECT_NE(text.find("4 of 4 calls, 2 of 2 readings"), std::string::npos) << text;
  EXPECT_NE(text.find("0 outbound attempts refused"), std::string::npos) << text;
}

// cases/replay.md 19.
TEST(ReplayText, DivergenceNamesKeyClosestRecordAndPaths) {
  const std::string text = RenderReplay(tests::WrongRefund(), Diverged(), {});
  EXPECT_NE(text.find("novel_call  model chat [1]  key sha256:1f0c2233445566"), std::string::npos);
  EXPECT_NE(text.find("closest is event #5; 1 path differs\n"), std::string::npos) << text;
  EXPECT_NE(text.find("messages[0].content"), std::string::npos);
  EXPECT_NE(text.find("attempted  \"b\\x1b\""), std::string::npos) << text;
  EXPECT_NE(text.find("connect 203.0.113.7:443 (pid 42)"), std::string::npos);
}

TEST(ReplayText, ExitCodesFollowTheVerdict) {
  EXPECT_EQ(ExitCodeOf(Reproduced()), kExitOk);
  EXPECT_EQ(ExitCodeOf(Diverged()), kExitFinding);
  EXPECT_EQ(ExitCodeOf(replayer::RunnerResult{}), kExitInconclusive);
}

// cases/replay.md 25: a replay that compared nothing is no success.
TEST(ReplayText, NothingComparedIsInconclusiveWhateverTheVerdict) {
  replayer::RunnerResult result = Reproduced();
  result.report.calls_served = result.report.readings_served = 0;
  EXPECT_EQ(ExitCodeOf(result), kExitInconclusive);
  EXPECT_EQ(VerdictText(result), "inconclusive");
  EXPECT_EQ(InconclusiveReason(result), "nothing was compared");
}

TEST(ReplayText, EqualOutcomesAreCountedTogether) {
  std::vector<ReplayOutcome> outcomes;
  EXPECT_TRUE(AddOutcome(Reproduced(), &outcomes));
  EXPECT_FALSE(AddOutcome(Reproduced(), &outcomes));
  EXPECT_TRUE(AddOutcome(Diverged(), &outcomes));
  replayer::RunnerResult other = Reproduced();
  other.report.fingerprint = "sha256:other";
  EXPECT_TRUE(AddOutcome(other, &outcomes));
  ASSERT_EQ(outcomes.size(), 3u);
  EXPECT_EQ(outcomes[0].count, 2);
  const std::string text = RenderOutcomes(outcomes, {});
  EXPECT_NE(text.find("novel_call chat"), std::string::npos) << text;
}

TEST(ReplayJson, IsOneDocument) {
  JsonWriter json;
  WriteReplay(tests::WrongRefund(), Diverged(), &json);
  const std::string text = json.Take();
  const auto document = schema::JsonDocument::Parse(text);
  ASSERT_NE(document, nullptr);
  const schema::JsonValue divergence = document->root()["divergences"][0];
  EXPECT_EQ(divergence["kind"].AsString(), "novel_call");
  EXPECT_EQ(divergence["closest_event"].AsInt64(), 5);
  EXPECT_EQ(document->root()["network"]["refused"].AsInt64(), 1);
}

TEST(ReproducingCommand, CanBePastedIntoAShell) {
  ReplayFlags flags;
  flags.overrides = {"tool:lookup_order={\"total\": 1}"};
  flags.timeout = "5";
  EXPECT_EQ(ReproducingCommand("/var/my store", "replay 01X", flags, {"./svc", "--name", "a b"}),
            "reenact replay 01X --store '/var/my store' --override "
            "'tool:lookup_order={\"total\": 1}' --timeout 5 -- ./svc --name 'a b'");
}

TEST(ToRunnerOptions, RefusesWhatItCannotRun) {
  Context context;
  EXPECT_FALSE(ToRunnerOptions({}, context, {}).ok());  // No program.
  context.command = {"./svc"};
  EXPECT_TRUE(ToRunnerOptions({}, context, {}).ok());
  EXPECT_EQ(ToRunnerOptions({.timeout = "5"}, context, {})->timeout_ms, 5000);
  EXPECT_EQ(ToRunnerOptions({.timeout = "2m"}, context, {})->timeout_ms, 120'000);
  EXPECT_FALSE(ToRunnerOptions({.timeout = "0"}, context, {}).ok());
  EXPECT_FALSE(ToRunnerOptions({.timeout = "soon"}, context, {}).ok());
  EXPECT_FALSE(ToRunnerOptions({.overrides = {"weather=sunny"}}, context, {}).ok());
  EXPECT_FALSE(ToRunnerOptions({.overrides = {"tool:x=@/no/such/file"}}, context, {}).ok());
}

TEST(ToRunnerOptions, ARecordedCommandNeedsNoProgram) {
  schema::RecordedCommand command;
  command.argv = {"node", "agent.mjs"};
  schema::Run run;
  run.entry = schema::EntryOf(command);
  run.input.bytes = schema::EncodeCommand(command);
  EXPECT_TRUE(ToRunnerOptions({}, Context(), run).ok());
}

}  // namespace
}  // namespace reenact::tools
