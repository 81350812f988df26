#include "tools/reenact/runs/run_text.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

#include "tests/tools/has_text.h"
#include "tests/tools/sample_runs.h"

namespace reenact::tools {
namespace {

std::string Render(const schema::RecordedRun& run) {
  return RenderRun(ViewRun(run), {});
}

std::string LineWith(const std::string& text, const std::string& part) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (Has(line, part)) return line;
  }
  return "";
}

TEST(Timeline, SaysWhoAnsweredAndHow) {
  const std::string text = Render(tests::WrongRefund());
  const std::string line = text.substr(text.find("\n   #5 "));
  // cases/reports.md 37 and replay.md 35: the asked name and the served one.
  EXPECT_TRUE(Has(line, "gpt-4o -> gpt-4o-2024-11-20")) << line;
  EXPECT_TRUE(Has(line, "fp_b")) << line;
  EXPECT_TRUE(Has(line, "412 in 33 out")) << line;
  EXPECT_TRUE(Has(line, "finish stop")) << line;
  EXPECT_TRUE(Has(line, "3 others in flight")) << line;
}

TEST(Timeline, ShowsNearTiesWithMarginAndRunnerUp) {
  const std::string line = LineWith(Render(tests::WrongRefund()), "near-tie at");
  EXPECT_TRUE(Has(line, "token 1: \" 1,200\" over \" 120\" by 0.02 nats")) << line;
}

TEST(Timeline, ShowsReadingsExactly) {
  const std::string text = Render(tests::WrongRefund());
  EXPECT_TRUE(Has(text, "seed 18446744073709551615"));
  EXPECT_TRUE(Has(text, "2026-03-01T02:11:00Z"));
}

TEST(Timeline, IndentsScopesUnderTheirName) {
  const std::string text = Render(tests::WrongRefund());
  EXPECT_TRUE(Has(text, "call_a7/\n"));
  EXPECT_TRUE(Has(LineWith(text, "lookup_order  "), "  tool"));
}

TEST(Timeline, ServedModelThatWasNotNamedIsUnknown) {
  schema::RecordedRun run = tests::WrongRefund();
  run.events[3].response.bytes = "data: {\"choices\":[]}\n\ndata: [DONE]\n\n";
  run.events[3].exchange = {{.size = run.events[3].response.bytes.size()}};
  EXPECT_TRUE(Has(LineWith(Render(run), "   #3 "), "gpt-4o -> unknown"));
}

TEST(Concerns, PutWhatFailedFirst) {
  const schema::RecordedRun run = tests::BrokenStream();
  const std::vector<Concern> concerns = FindConcerns(ViewRun(run));
  ASSERT_GE(concerns.size(), 4u);
  EXPECT_TRUE(std::is_partitioned(concerns.begin(), concerns.end(),
                                  [](const Concern& concern) { return concern.wrong; }));
  const std::string text = Render(run);
  EXPECT_TRUE(Has(text, "the run ended error:the model did not answer"));
  EXPECT_TRUE(Has(text, "3 events of this process lost (ring_full)"));
  EXPECT_TRUE(Has(text, "model chat took 2 attempts"));
  EXPECT_TRUE(Has(text, "tool lookup_order ended error:no such order"));
}

TEST(Concerns, NameFloatingAliases) {
  const std::string text = Render(tests::WrongRefund());
  EXPECT_TRUE(Has(text, "model gpt-4o is a floating alias"));
  EXPECT_TRUE(Has(text, "gpt-4o-2024-11-20 served"));
}

TEST(Concerns, NameARunThatNeverEnded) {
  schema::RecordedRun run = tests::WrongRefund();
  run.end.reset();
  run.state = schema::EndState::kIncomplete;
  EXPECT_TRUE(Has(Render(run), "the run never ended"));
  run.in_progress = true;
  EXPECT_TRUE(Has(Render(run), "still going on"));
}

TEST(Timeline, ACallOfARunThatGoesOnIsRunning) {
  schema::RecordedRun run = tests::WrongRefund();
  run.end.reset();
  schema::Event& call = run.events.back();
  call.end_state = schema::EndState::kIncomplete;
  call.elapsed_ns = 0;
  EXPECT_TRUE(Has(Render(run), "incomplete"));
  run.in_progress = true;
  const std::string text = Render(run);
  EXPECT_TRUE(Has(text, "running")) << text;
  EXPECT_FALSE(Has(text, "incomplete")) << text;
  EXPECT_FALSE(Has(text, " 0 ns")) << text;
}

// cases/reports.md 70.
TEST(Concerns, NameBodiesThatWereCut) {
  schema::RecordedRun run = tests::WrongRefund();
  run.events[4].response.cut = true;
  run.events[4].response.original_size = 5'400'000;
  const std::string text = Render(run);
  EXPECT_TRUE(Has(text, "5.4 MB")) << text;
  EXPECT_TRUE(Has(text, "cannot be replayed"));
}

// cases/reports.md 82
TEST(Event, ShowsThatAnAnswerCameFromTheHostsCache) {
  schema::RecordedRun run = tests::WrongRefund();
  const auto lines = [&] {
    const RunView view = ViewRun(run);
    return RenderEvent(view, view.events[4], {});
  };
  EXPECT_FALSE(Has(lines(), "cache = hit"));
  run.events[4].meta.emplace_back("cache", "hit");
  EXPECT_TRUE(Has(LineWith(lines(), "fact "), "cache = hit"));
}

// cases/reports.md 70: what a run was given and what it gave back, too.
TEST(Concerns, NameInputOutputAndComponentsThatWereCut) {
  const schema::RecordedRun whole = tests::WrongRefund();
  ASSERT_TRUE(whole.end.has_value());
  ASSERT_FALSE(whole.components.empty());
  EXPECT_FALSE(Has(Render(whole), "was cut by a limit"));
  const auto cut = [](schema::Body* body) {
    body->cut = true;
    body->original_size = 5'400'000;
  };
  schema::RecordedRun input = whole;
  cut(&input.run.input);
  std::string line = LineWith(Render(input), "the run's input was cut by a limit");
  EXPECT_TRUE(Has(line, "of 5.4 MB are here; it cannot be replayed")) << line;
  schema::RecordedRun output = whole;
  cut(&output.end->output);
  line = LineWith(Render(output), "the run's output was cut by a limit");
  EXPECT_TRUE(Has(line, "of 5.4 MB are here; a replay compares no more than that")) << line;
  schema::RecordedRun component = whole;
  cut(&component.components[0].content);
  line = LineWith(Render(component), whole.components[0].name + " was cut by a limit");
  EXPECT_TRUE(Has(line, "of 5.4 MB are here; a replay compares no more than that")) << line;
}

TEST(Renderers, LetNothingRecordedActOnTheTerminal) {
  const schema::RecordedRun run = tests::HostileRun();
  const RunView view = ViewRun(run);
  std::string text = RenderRun(view, {});
  for (const EventView& event : view.events) text += RenderEvent(view, event, {});
  EXPECT_TRUE(IsValidUtf8(text));
  for (const char c : text) {
    const auto byte = static_cast<uint8_t>(c);
    EXPECT_TRUE(byte == '\n' || (byte >= 0x20 && byte != 0x7F)) << int{byte};
  }
  EXPECT_FALSE(Has(text, "\xE2\x80\xAE"));
  EXPECT_FALSE(Has(text, "\xC2\x9B"));
}

TEST(Event, ShowsMessagesAnswerHeadersAndReads) {
  const schema::RecordedRun run = tests::WrongRefund();
  const RunView view = ViewRun(run);
  const std::string text = RenderEvent(view, view.events[5], {});
  EXPECT_TRUE(Has(text, "[1] user\n  the order costs 120\n"));
  EXPECT_TRUE(Has(text, "  Refund 1,200 EUR\n"));
  EXPECT_TRUE(Has(text, "status 200\n"));
  EXPECT_TRUE(Has(text, "content-type: text/event-stream"));
  const auto reads = std::count_if(run.events[5].exchange.begin(), run.events[5].exchange.end(),
                                   [](const schema::ExchangeItem& item) {
                                     return item.kind == schema::ExchangeItemKind::kBytes;
                                   });
  int64_t shown = 0;
  for (size_t at = 0; (at = text.find("bytes  data: ", at)) != std::string::npos; ++at) ++shown;
  EXPECT_EQ(shown, reads);
}

TEST(Event, WithAnExchangeThatSumsToMoreThanTheBodyIsShownAllTheSame) {
  schema::RecordedRun run = tests::WrongRefund();
  run.events[5].exchange.push_back({.size = UINT64_MAX});
  run.events[5].exchange.push_back({.size = 9});
  const RunView view = ViewRun(run);
  EXPECT_FALSE(RenderEvent(view, view.events[5], {}).empty());
}

store::RunSummary Summary(int number) {
  store::RunSummary run;
  const schema::RecordedRun recorded = tests::RunBuilder(number).Build();
  run.id = recorded.run.id;
  run.started_wall_ns = recorded.run.started.wall_ns;
  run.service = "a-service-with-a-rather-long-name";
  run.entry = "POST /v1/refunds/{id}/approve";
  run.asked_models = {"gpt-4o"};
  run.served_models = {"gpt-4o-2024-11-20"};
  run.model_calls = 12;
  run.state = schema::EndState::kProviderError;
  run.state_detail = "overloaded_error";
  run.incidents = {run.id};
  return run;
}

TEST(RunList, FitsAHundredColumns) {
  const std::string text = RenderRunList({Summary(1), Summary(2)}, {});
  std::istringstream lines(text);
  int count = 0;
  for (std::string line; std::getline(lines, line); ++count) {
    EXPECT_LE(DisplayWidth(line), kTextWidth) << line;
  }
  EXPECT_EQ(count, 3);
  EXPECT_TRUE(Has(text, "! 01"));
}

TEST(RunList, IdsAreLongEnoughToTellRunsApart) {
  store::RunSummary a = Summary(1);
  store::RunSummary b = Summary(1);
  b.id.bytes[15] ^= 1;
  const std::string text = RenderRunList({a, b}, {});
  EXPECT_TRUE(Has(text, schema::ToString(a.id)));
  EXPECT_TRUE(Has(text, schema::ToString(b.id)));
}

}  // namespace
}  // namespace reenact::tools
