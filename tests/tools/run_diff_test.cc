#include "tools/reenact/runs/run_diff.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/tools/sample_runs.h"
#include "tools/reenact/runs/run_diff_text.h"

namespace reenact::tools {
namespace {

RunDiff Diff(const schema::RecordedRun& a, const schema::RecordedRun& b) {
  return DiffRuns(ViewRun(a), ViewRun(b));
}

const RunDifference* Find(const RunDiff& diff, DifferenceKind kind) {
  for (const RunDifference& difference : diff.differences) {
    if (difference.kind == kind) return &difference;
  }
  return nullptr;
}

TEST(DiffRuns, OfARunWithItselfIsEmpty) {
  const schema::RecordedRun run = tests::WrongRefund();
  const RunDiff diff = Diff(run, run);
  EXPECT_TRUE(diff.differences.empty());
  EXPECT_TRUE(diff.readings.empty());
  EXPECT_EQ(diff.pairs, 6);
  EXPECT_EQ(diff.equal_pairs, 6);
}

// cases/replay.md 35: the same request, another snapshot behind the alias.
TEST(DiffRuns, NamesWhatServedAndWhereTheTokensPart) {
  const RunDiff diff = Diff(tests::RightRefund(), tests::WrongRefund());
  const RunDifference* component = Find(diff, DifferenceKind::kComponent);
  ASSERT_NE(component, nullptr);
  EXPECT_EQ(component->b, "version v14");
  const RunDifference* served = Find(diff, DifferenceKind::kServedModel);
  ASSERT_NE(served, nullptr);
  EXPECT_EQ(served->a, "gpt-4o-2024-08-06");
  EXPECT_EQ(served->b, "gpt-4o-2024-11-20");
  EXPECT_EQ(Find(diff, DifferenceKind::kRequest), nullptr);
  const RunDifference* answer = Find(diff, DifferenceKind::kAnswer);
  ASSERT_NE(answer, nullptr);
  ASSERT_TRUE(answer->token.has_value());
  EXPECT_EQ(answer->token->token_index, 1);
  EXPECT_EQ(answer->token->a, " 120");
  EXPECT_EQ(answer->token->b, " 1,200");
  EXPECT_NEAR(*answer->token->margin_a, 1.7, 1e-9);
  EXPECT_NEAR(*answer->token->margin_b, 0.02, 1e-9);
  EXPECT_EQ(diff.readings.size(), 2u);
}

// cases/replay.md 19: exactly the paths that differ.
TEST(DiffRuns, NamesExactlyThePathsOfAChangedRequest) {
  const schema::RecordedRun a = tests::WrongRefund();
  schema::RecordedRun b = a;
  std::string& request = b.events[5].request.bytes;
  request.replace(request.find("costs 120"), 9, "costs 121");
  request.replace(request.find("\"temperature\":0"), 15, "\"temperature\":0.2");
  const RunDiff diff = Diff(a, b);
  ASSERT_EQ(diff.differences.size(), 1u);
  ASSERT_EQ(diff.differences[0].paths.size(), 2u);
  std::string paths = diff.differences[0].paths[0].path + " " + diff.differences[0].paths[1].path;
  EXPECT_NE(paths.find("messages[1].content"), std::string::npos) << paths;
  EXPECT_NE(paths.find("temperature"), std::string::npos) << paths;
}

TEST(DiffRuns, AnInsertedCallDoesNotShiftTheOthers) {
  const schema::RecordedRun a = tests::WrongRefund();
  schema::RecordedRun b = a;
  schema::Event extra = b.events[3];
  extra.sequence = 100;
  extra.request.bytes = tests::ChatRequest("gpt-4o", "title", "make a title");
  b.events.insert(b.events.begin() + 3, extra);
  const RunDiff diff = Diff(a, b);
  ASSERT_EQ(diff.differences.size(), 1u);
  EXPECT_EQ(diff.differences[0].kind, DifferenceKind::kOnlyInB);
  EXPECT_EQ(diff.differences[0].event_b, 3);
  EXPECT_EQ(diff.equal_pairs, 6);
}

// A provider makes up the ids of tool calls anew each time, and they key the scopes.
TEST(DiffRuns, ScopesThatOnlyOneRunHasArePairedByName) {
  const schema::RecordedRun a = tests::WrongRefund();
  schema::RecordedRun b = a;
  ASSERT_FALSE(b.events[4].scope.empty());
  b.events[4].scope = "call_of_another_day";
  EXPECT_TRUE(Diff(a, b).differences.empty());
  b.events[4].name = "another_tool";
  const RunDiff diff = Diff(a, b);
  EXPECT_NE(Find(diff, DifferenceKind::kOnlyInA), nullptr);
  EXPECT_NE(Find(diff, DifferenceKind::kOnlyInB), nullptr);
}

TEST(DiffRuns, EqualTokensWithOtherProbabilitiesAreADifference) {
  schema::RecordedRun a = tests::RightRefund();
  schema::RecordedRun b = a;
  std::string& answer = b.events[5].response.bytes;
  for (size_t at = 0; (at = answer.find("-0.200000", at)) != std::string::npos; ++at) {
    answer.replace(at, 9, "-0.200001");
  }
  const RunDiff diff = Diff(a, b);
  ASSERT_EQ(diff.differences.size(), 1u);
  EXPECT_EQ(diff.differences[0].kind, DifferenceKind::kLogprobs);
}

// cases/replay.md 25: a comparison that compared nothing says so.
TEST(DiffRuns, OfTwoRunsWithoutEventsComparedNothing) {
  const schema::RecordedRun empty = tests::RunBuilder(9).Build();
  EXPECT_TRUE(Diff(empty, empty).nothing_to_compare);
  EXPECT_FALSE(Diff(empty, tests::WrongRefund()).nothing_to_compare);
}

// cases/reports.md 23: digits survive.
TEST(DiffRuns, LargeIntegersAreComparedDigitByDigit) {
  schema::RecordedRun a =
      tests::RunBuilder(1).Tool("t", R"({"id":9007199254740993123})", "1").Build();
  schema::RecordedRun b =
      tests::RunBuilder(2).Tool("t", R"({"id":9007199254740993124})", "1").Build();
  const RunDiff diff = Diff(a, b);
  ASSERT_EQ(diff.differences.size(), 1u);
  ASSERT_EQ(diff.differences[0].paths.size(), 1u);
  EXPECT_EQ(diff.differences[0].paths[0].expected, "9007199254740993123");
}

TEST(RenderDiff, FitsTheTerminalAndIsSafe) {
  const schema::RecordedRun a = tests::HostileRun();
  const schema::RecordedRun b = tests::WrongRefund();
  const RunView view_a = ViewRun(a);
  const RunView view_b = ViewRun(b);
  const std::string text = RenderDiff(view_a, view_b, DiffRuns(view_a, view_b), {});
  EXPECT_TRUE(IsValidUtf8(text));
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
}

}  // namespace
}  // namespace reenact::tools
