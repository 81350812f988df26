#include "tools/reenact/replay/fixture_bundle.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/tools/sample_runs.h"
#include "tools/reenact/exit_code.h"

namespace reenact::tools {
namespace {

constexpr int64_t kDay = int64_t{86'400} * 1'000'000'000;
using Kind = FixtureProblem::Kind;

Fixture SampleFixture() {
  Fixture fixture;
  fixture.tape = tests::WrongRefund();
  fixture.name = "wrong_refund";
  fixture.reviewed_wall_ns = tests::kSampleStartNs;
  fixture.max_age_ns = 90 * kDay;
  return fixture;
}

replayer::RunnerResult Passed() {
  replayer::RunnerResult result;
  result.verdict = replayer::Verdict::kReproduced;
  result.report.finished = true;
  result.report.calls_served = 4;
  result.report.fingerprint = "f1";
  result.report.derived = tests::WrongRefund();
  return result;
}

replayer::RunnerResult WithDivergence(replayer::DivergenceKind kind,
                                      std::optional<size_t> closest = {}) {
  replayer::RunnerResult result = Passed();
  result.verdict = replayer::Verdict::kDiverged;
  replayer::Divergence divergence;
  divergence.kind = kind;
  divergence.closest = closest;
  divergence.summary = "what happened";
  result.report.divergences = {divergence};
  return result;
}

std::vector<Kind> Kinds(const std::vector<FixtureProblem>& problems) {
  std::vector<Kind> kinds;
  for (const FixtureProblem& problem : problems) kinds.push_back(problem.kind);
  return kinds;
}

TEST(Fixture, SurvivesItsBundle) {
  const Fixture fixture = SampleFixture();
  const auto read = FromBundle(ToBundle(fixture), "f");
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->name, fixture.name);
  EXPECT_EQ(read->reviewed_wall_ns, fixture.reviewed_wall_ns);
  EXPECT_EQ(read->max_age_ns, fixture.max_age_ns);
  EXPECT_EQ(read->tape.events.size(), fixture.tape.events.size());
}

TEST(Fixture, ABundleThatIsNoneIsRefusedByName) {
  store::Bundle bundle;
  bundle.runs.push_back(tests::WrongRefund());
  const auto read = FromBundle(bundle, "incident.reenact");
  ASSERT_FALSE(read.ok());
  EXPECT_NE(read.status().message().find("incident.reenact"), absl::string_view::npos);
}

TEST(Fixture, MetaThatCannotBeReadIsAnErrorNotADefault) {
  store::Bundle bundle = ToBundle(SampleFixture());
  for (auto& [key, value] : bundle.meta) {
    if (key == "fixture.max_age_s") value = "soon";
  }
  EXPECT_EQ(FromBundle(bundle, "f").status().code(), absl::StatusCode::kDataLoss);
}

// cases/replay.md 25: a gate that would compare nothing is refused when it is made.
TEST(Fixture, RunsThatProveNothingAreRefused) {
  EXPECT_TRUE(CheckFixtureTape(tests::WrongRefund()).ok());
  schema::RecordedRun run = tests::WrongRefund();
  run.events.clear();
  EXPECT_FALSE(CheckFixtureTape(run).ok());
  run = tests::WrongRefund();
  run.end.reset();
  EXPECT_FALSE(CheckFixtureTape(run).ok());
  run = tests::WrongRefund();
  run.events[2].response.cut = true;
  EXPECT_FALSE(CheckFixtureTape(run).ok());
  run = tests::WrongRefund();
  run.run.input.cut = true;
  EXPECT_FALSE(CheckFixtureTape(run).ok());
}

TEST(Fixture, PassesWhenReproduced) {
  EXPECT_TRUE(JudgeFixture(SampleFixture(), Passed(), tests::kSampleStartNs + kDay).empty());
}

TEST(Fixture, FailsWhenStale) {
  const auto problems = JudgeFixture(SampleFixture(), Passed(), tests::kSampleStartNs + 91 * kDay);
  EXPECT_EQ(Kinds(problems), std::vector<Kind>{Kind::kStale});
  EXPECT_EQ(ExitCodeOf(problems), kExitFinding);
  Fixture never = SampleFixture();
  never.max_age_ns.reset();
  EXPECT_TRUE(JudgeFixture(never, Passed(), tests::kSampleStartNs + 9999 * kDay).empty());
}

// cases/replay.md 32: records that nobody asked for.
TEST(Fixture, FailsWhenRecordsAreUnused) {
  const auto problems =
      JudgeFixture(SampleFixture(), WithDivergence(replayer::DivergenceKind::kOmittedCall, 5),
                   tests::kSampleStartNs);
  EXPECT_EQ(Kinds(problems), std::vector<Kind>{Kind::kUnused});
  EXPECT_EQ(ExitCodeOf(problems), kExitFinding);
}

TEST(Fixture, FailsWhenDiverged) {
  const auto problems = JudgeFixture(
      SampleFixture(), WithDivergence(replayer::DivergenceKind::kNovelCall), tests::kSampleStartNs);
  EXPECT_EQ(Kinds(problems), std::vector<Kind>{Kind::kDiverged});
}

TEST(Fixture, FailsWhenNothingWasCompared) {
  replayer::RunnerResult result = Passed();
  result.report.calls_served = 0;
  const auto problems = JudgeFixture(SampleFixture(), result, tests::kSampleStartNs);
  EXPECT_EQ(Kinds(problems), std::vector<Kind>{Kind::kEmpty});
  EXPECT_EQ(ExitCodeOf(problems), kExitInconclusive);
}

// cases/replay.md 25: a program that never began the run is not one that behaved otherwise.
TEST(Fixture, AProgramThatNeverBeganTheRunIsEmptyNotDiverged) {
  replayer::RunnerResult result = WithDivergence(replayer::DivergenceKind::kNoRun);
  result.verdict = replayer::Verdict::kInconclusive;
  result.report.calls_served = 0;
  const auto problems = JudgeFixture(SampleFixture(), result, tests::kSampleStartNs);
  EXPECT_EQ(Kinds(problems), std::vector<Kind>{Kind::kEmpty});
  EXPECT_EQ(ExitCodeOf(problems), kExitInconclusive);
}

TEST(Fixture, SaysHowOldItMayBe) {
  Fixture fixture = SampleFixture();
  fixture.max_age_ns = kDay / 24;
  const auto problems = JudgeFixture(fixture, Passed(), tests::kSampleStartNs + kDay);
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_NE(problems[0].text.find("1 h 00 min"), std::string::npos) << problems[0].text;
  fixture.max_age_ns = kDay;
  const auto later = JudgeFixture(fixture, Passed(), tests::kSampleStartNs + 2 * kDay);
  ASSERT_EQ(later.size(), 1u);
  EXPECT_NE(later[0].text.find("1 day"), std::string::npos) << later[0].text;
}

TEST(Fixture, FailsWhenTheAcceptedFingerprintIsAnother) {
  Fixture fixture = SampleFixture();
  fixture.fingerprint = "f2";
  EXPECT_EQ(Kinds(JudgeFixture(fixture, Passed(), tests::kSampleStartNs)),
            std::vector<Kind>{Kind::kDiverged});
}

TEST(FixtureUpdate, AcceptsAnotherOutcome) {
  Fixture fixture = SampleFixture();
  replayer::RunnerResult result = WithDivergence(replayer::DivergenceKind::kOutput);
  result.report.output_equal = false;
  result.report.output = R"({"refund":120})";
  ASSERT_TRUE(AcceptReplay(result, tests::kSampleStartNs + kDay, &fixture).ok());
  EXPECT_EQ(fixture.tape.end->output.bytes, R"({"refund":120})");
  EXPECT_EQ(fixture.reviewed_wall_ns, tests::kSampleStartNs + kDay);
  EXPECT_EQ(fixture.tape.events.size(), SampleFixture().tape.events.size());
}

TEST(FixtureUpdate, LeavesOutWhatIsNoLongerAskedFor) {
  Fixture fixture = SampleFixture();
  const schema::RecordedRun before = fixture.tape;
  ASSERT_TRUE(AcceptReplay(WithDivergence(replayer::DivergenceKind::kOmittedCall, 2),
                           tests::kSampleStartNs, &fixture)
                  .ok());
  ASSERT_EQ(fixture.tape.events.size(), before.events.size() - 1);
  EXPECT_EQ(fixture.tape.events[1].sequence, before.events[1].sequence);
  EXPECT_EQ(fixture.tape.events[2].sequence, before.events[3].sequence);
}

TEST(FixtureUpdate, LeavesTheValuesThatDifferToTheReport) {
  Fixture fixture = SampleFixture();
  replayer::RunnerResult result = WithDivergence(replayer::DivergenceKind::kNovelCall);
  schema::JsonDifference difference;
  difference.path = "messages[3].content";
  difference.expected = R"("{\"order\":\"A-17\"}")";
  difference.actual = R"("{\"order\":\"A-18\"}")";
  result.report.divergences[0].differences = {difference};
  const absl::Status refused = AcceptReplay(result, tests::kSampleStartNs, &fixture);
  EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(refused.message().find('\\'), absl::string_view::npos) << refused;
}

TEST(FixtureUpdate, RefusesWhatTheTapeCannotAnswer) {
  for (const auto kind :
       {replayer::DivergenceKind::kNovelCall, replayer::DivergenceKind::kExhausted,
        replayer::DivergenceKind::kNetwork, replayer::DivergenceKind::kProcess}) {
    Fixture fixture = SampleFixture();
    EXPECT_FALSE(AcceptReplay(WithDivergence(kind), tests::kSampleStartNs, &fixture).ok());
    EXPECT_EQ(fixture.tape.events.size(), SampleFixture().tape.events.size());
  }
}

}  // namespace
}  // namespace reenact::tools
