#include "replayer/eval/results.h"

#include "gtest/gtest.h"

namespace reenact::eval {
namespace {

EvalResults Parsed(const std::string& text) {
  auto results = ParseResults(text);
  EXPECT_TRUE(results.ok()) << results.status();
  return results.ok() ? *std::move(results) : EvalResults();
}

std::string RefusalOfResults(const std::string& text) {
  const auto results = ParseResults(text);
  EXPECT_FALSE(results.ok());
  return std::string(results.status().message());
}

ResultHeader Header() {
  return {.name = "refunds",
          .mode = Mode::kDistribution,
          .target = "url http://127.0.0.1:1/v1",
          .model = "gpt-4o",
          .cases = "12ab",
          .grader = "regex",
          .repeats = 5,
          .threshold = 0.8};
}

SampleResult Sample(std::string id, int64_t repeat, double score) {
  return {.case_id = std::move(id),
          .repeat = repeat,
          .score = score,
          .pass = score >= 1,
          .answer = "120 \xE2\x82\xAC",
          .fingerprint = "fp_a",
          .least_margin_nats = 0.25,
          .judge_scores = {1, 0, 1}};
}

TEST(Results, WhatIsWrittenIsRead) {
  EvalResults results{Header(), {Sample("q1", 0, 1), Sample("q1", 1, 0.5), Sample("q2", 0, 0)}};
  results.samples.push_back({.case_id = "q2", .repeat = 1, .status = "rate_limited"});
  std::string text = HeaderLine(results.header);
  for (const SampleResult& sample : results.samples) text += SampleLine(sample);
  const EvalResults read = Parsed(text);
  EXPECT_EQ(read.header, results.header);
  EXPECT_EQ(read.samples, results.samples);
}

TEST(Results, ALineThatWasCutOffIsLeftOutAndALaterOneReplacesAnEarlier) {
  const std::string text = HeaderLine(Header()) + SampleLine(Sample("q1", 0, 0)) +
                           SampleLine(Sample("q1", 1, 1)) + SampleLine(Sample("q1", 0, 1)) +
                           R"({"case":"q1","rep)";
  const EvalResults read = Parsed(text);
  ASSERT_EQ(read.samples.size(), 2U);
  EXPECT_EQ(read.samples[0].score, 1);
  EXPECT_NE(RefusalOfResults(HeaderLine(Header()) + "{\"case\":\n" + SampleLine(Sample("q1", 0, 1)))
                .find("line 2"),
            std::string::npos);
}

TEST(Results, CsvWithQuotesIsRead) {
  const EvalResults read = Parsed(
      "Case,Pass,Output\r\nq1,true,\"120, \"\"EUR\"\"\nper day\"\r\nq1,fail,\r\nq2,1,yes\r\n");
  ASSERT_EQ(read.samples.size(), 3U);
  EXPECT_EQ(read.header.source, "csv");
  EXPECT_EQ(read.samples[0].answer, "120, \"EUR\"\nper day");
  EXPECT_EQ(read.samples[1].repeat, 1);
  EXPECT_EQ(read.samples[1].score, 0);
  EXPECT_FALSE(read.samples[1].pass);
  EXPECT_TRUE(read.samples[2].pass);
}

TEST(Results, JsonLinesAreRead) {
  const EvalResults read = Parsed(
      "{\"id\":\"q1\",\"score\":0.25,\"repeat\":3}\n\n{\"id\":7,\"passed\":true}\n"
      "{\"id\":\"q3\",\"error\":\"timeout\"}\n");
  ASSERT_EQ(read.samples.size(), 3U);
  EXPECT_EQ(read.samples[0].repeat, 3);
  EXPECT_EQ(read.samples[0].score, 0.25);
  EXPECT_EQ(read.samples[1].case_id, "7");
  EXPECT_EQ(read.samples[2].status, "error");
  EXPECT_FALSE(read.samples[2].graded());
}

// The form of `promptfoo eval --output results.json`, version 3.
TEST(Results, PromptfooIsReadAndAFailedAssertionIsNoError) {
  const EvalResults read = Parsed(R"({"evalId":"eval-1","results":{"version":3,"results":[
    {"id":"a","promptIdx":0,"testIdx":0,"provider":{"id":"openai:gpt-4o"},"vars":{"q":"1+1"},
     "success":true,"score":1,"failureReason":0,"response":{"output":"2"}},
    {"id":"b","promptIdx":0,"testIdx":1,"provider":{"id":"openai:gpt-4o"},"vars":{"q":"2+2"},
     "success":false,"score":0,"failureReason":1,"error":"Expected 4","response":{"output":"5"}},
    {"id":"c","promptIdx":0,"testIdx":1,"provider":{"id":"openai:gpt-4o"},"vars":{"q":"2+2"},
     "success":false,"score":0,"failureReason":2,"error":"HTTP 500"}]}})");
  ASSERT_EQ(read.samples.size(), 3U);
  EXPECT_EQ(read.header.source, "promptfoo");
  EXPECT_EQ(read.header.target, "openai:gpt-4o, prompt 0");
  EXPECT_EQ(read.samples[0].case_id, R"({"q":"1+1"})");
  EXPECT_EQ(read.samples[0].answer, "2");
  EXPECT_TRUE(read.samples[1].graded());
  EXPECT_EQ(read.samples[1].score, 0);
  EXPECT_EQ(read.samples[2].status, "error");
  EXPECT_EQ(read.samples[2].repeat, 1);
}

TEST(Results, TwoSystemsInOneFileAreRefused) {
  EXPECT_NE(RefusalOfResults(R"({"results":[{"provider":"a","vars":{"q":1},"score":1},
                                   {"provider":"b","vars":{"q":1},"score":1}]})")
                .find("2 systems"),
            std::string::npos);
}

TEST(Results, WhatIsNoResultIsRefusedWithItsPlace) {
  EXPECT_NE(RefusalOfResults("").find("empty"), std::string::npos);
  EXPECT_NE(RefusalOfResults("case,score\nq1,high\n").find("row 2"), std::string::npos);
  EXPECT_NE(RefusalOfResults("case,score\nq1\n").find("row 2"), std::string::npos);
  EXPECT_NE(RefusalOfResults("case,score\n\"q1,1\n").find("quoted"), std::string::npos);
  EXPECT_NE(RefusalOfResults("{\"score\":1}\n").find("line 1"), std::string::npos);
  EXPECT_NE(RefusalOfResults("{\"id\":\"q\"}\n").find("neither"), std::string::npos);
  EXPECT_NE(RefusalOfResults("case,score\n").find("no result"), std::string::npos);
  EXPECT_NE(RefusalOfResults("[1,2]").find("no result"), std::string::npos);
}

}  // namespace
}  // namespace reenact::eval
