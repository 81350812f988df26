// What show, list and diff print of calls in every dialect, and of plain HTTP.

#include <gtest/gtest.h>

#include <string>

#include "tests/schema/dialect_samples.h"
#include "tests/tools/has_text.h"
#include "tests/tools/sample_runs.h"
#include "tools/reenact/runs/run_diff.h"
#include "tools/reenact/runs/run_json.h"
#include "tools/reenact/runs/run_text.h"

namespace reenact::tools {
namespace {

using schema::DialectSample;

schema::RecordedRun RunOf(const DialectSample& sample, const std::string& body) {
  tests::RunBuilder builder(1);
  builder.Model(sample.call.request, {body});
  builder.last().provider = sample.call.provider;
  builder.last().endpoint = sample.call.endpoint;
  return builder.Build();
}

std::string EventText(const DialectSample& sample) {
  const schema::RecordedRun run = RunOf(sample, sample.body);
  const RunView view = ViewRun(run);
  return RenderEvent(view, view.events.at(0), {});
}

TEST(DialectText, AnEventShowsWhatAMessageSaid) {
  const std::string text = EventText(schema::SampleNamed("message_stream"));
  for (const char* part :
       {"dialect      anthropic_messages", "model        claude-opus-5",
        "fingerprint  the provider gave no fingerprint", "tier         standard", "Look it up.",
        "Let me see.", R"(asks for weather {"city":"Oslo"}  toolu_1)",
        "reasoning that only the provider can read: 2", "finish: tool_use"}) {
    EXPECT_TRUE(Has(text, part)) << part << "\n" << text;
  }
}

TEST(DialectText, AnEventShowsTokensAndWhatElseWasSaid) {
  const std::string gemini = EventText(schema::SampleNamed("gemini_events"));
  EXPECT_TRUE(Has(gemini, "model        gemini-2.5-flash -> gemini-2.5-flash-001")) << gemini;
  EXPECT_TRUE(Has(gemini, R"("We" -2.5)")) << gemini;
  EXPECT_TRUE(
      Has(EventText(schema::SampleNamed("ollama_stream")), "said         total_duration = 9"));
  EXPECT_TRUE(Has(EventText(schema::SampleNamed("embeddings")), "said         dimensions = 3"));
  EXPECT_TRUE(Has(EventText(schema::SampleNamed("completion_stream")), R"(finish: stop at "\n")"));
}

// A chat stays as it was shown.
TEST(DialectText, AChatNamesNoDialect) {
  EXPECT_FALSE(Has(EventText(schema::SampleNamed("chat_stream")), "dialect"));
}

TEST(DialectText, TheTimelineCountsTokensAndCalls) {
  const DialectSample& sample = schema::SampleNamed("response_stream");
  const std::string text = RenderRun(ViewRun(RunOf(sample, sample.body)), {});
  EXPECT_TRUE(Has(text, "30 in 12 out")) << text;
  EXPECT_TRUE(Has(text, R"(asks for weather {"city":"Oslo"})")) << text;
}

TEST(DialectText, JsonHasTheDialectAndItsFacts) {
  const DialectSample& sample = schema::SampleNamed("message");
  const schema::RecordedRun run = RunOf(sample, sample.body);
  JsonWriter json;
  WriteEvent(ViewRun(run).events.at(0), false, &json);
  const std::string text = json.Take();
  EXPECT_TRUE(Has(text, R"("dialect": "anthropic_messages")")) << text;
  EXPECT_TRUE(Has(text, R"("cache_write_tokens": 10)")) << text;
  EXPECT_TRUE(Has(text, R"("reasoning": "Look it up.")")) << text;
}

TEST(DialectText, DiffNamesTheOtherAnswer) {
  const DialectSample& sample = schema::SampleNamed("message");
  std::string other = sample.body;
  other.replace(other.find("Let me see."), 11, "I will not.");
  const schema::RecordedRun a = RunOf(sample, sample.body);
  const schema::RecordedRun b = RunOf(sample, other);
  const RunDiff diff = DiffRuns(ViewRun(a), ViewRun(b));
  ASSERT_EQ(diff.differences.size(), 1u);
  EXPECT_EQ(diff.differences[0].kind, DifferenceKind::kAnswer);
  EXPECT_EQ(diff.differences[0].a, "Let me see.");
  EXPECT_EQ(diff.differences[0].b, "I will not.");
}

TEST(DialectText, PlainHttpShowsItsUrl) {
  tests::RunBuilder builder(1);
  builder.Tool("GET orders", "", R"({"total":120})");
  builder.last().provider = std::string(schema::kPlainHttp);
  builder.last().endpoint = "http://orders:81/orders/7?unit=eur";
  const schema::RecordedRun run = builder.Build();
  const RunView view = ViewRun(run);
  EXPECT_TRUE(Has(RenderRun(view, {}), "http://orders:81/orders/7?unit=eur"));
  EXPECT_TRUE(Has(RenderEvent(view, view.events.at(0), {}), "endpoint     http://orders:81/"));
}

}  // namespace
}  // namespace reenact::tools
