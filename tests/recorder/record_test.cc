// What a host tells the C ABI in record mode, and what stands in the store afterwards.

#include <fcntl.h>
#include <stdio.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <fstream>
#include <sstream>
#include <thread>

#include "tests/recorder/recorder_fixture.h"

namespace reenact::testing {
namespace {

using schema::Boundary;
using schema::EndState;
using schema::ExchangeItemKind;

class Record : public RecorderTest {};

TEST_F(Record, RunKeepsItsInputOutputComponentsAndTags) {
  Open(Options());
  auto component = Sized<reenact_component>();
  component.kind = B("prompt_template");
  component.name = B("refund");
  component.version = B("v14");
  component.content = B("You are {{name}}.");
  const reenact_pair tags[] = {{B("tenant"), B("acme")}};
  auto info = Sized<reenact_run_info>();
  info.entry = B("POST /refund");
  info.input = B(std::string_view("a\0b", 3));
  info.trace_id = B("00-0AF7651916CD43DD8448EB211C80319C-00f067aa0ba902b7-01");
  info.components = &component;
  info.component_count = 1;
  info.tags = tags;
  info.tag_count = 1;
  reenact_scope* run = nullptr;
  ASSERT_EQ(reenact_run_begin(recorder_, &info, &run), REENACT_OK);
  char id[27];
  reenact_run_id(run, id);
  EXPECT_EQ(reenact_tag(run, B("later"), B("yes")), REENACT_OK);
  EXPECT_EQ(Finish(run, "done"), REENACT_OK);
  Close();

  const schema::RecordedRun stored = OnlyRun();
  EXPECT_EQ(schema::ToString(stored.run.id), id);
  EXPECT_EQ(stored.run.service, "refund-agent");
  EXPECT_EQ(stored.run.entry, "POST /refund");
  EXPECT_EQ(stored.run.input.bytes, std::string("a\0b", 3));
  EXPECT_EQ(stored.run.trace_id, "0af7651916cd43dd8448eb211c80319c");
  EXPECT_EQ(stored.state, EndState::kComplete);
  ASSERT_TRUE(stored.end);
  EXPECT_EQ(stored.end->output.bytes, "done");
  ASSERT_EQ(stored.components.size(), 1u);
  EXPECT_EQ(stored.components[0].content.bytes, "You are {{name}}.");
  for (const auto& tag : schema::Tags{{"tenant", "acme"}, {"later", "yes"}}) {
    EXPECT_NE(std::find(stored.run.tags.begin(), stored.run.tags.end(), tag),
              stored.run.tags.end());
  }
}

TEST_F(Record, StreamKeepsEveryReadHeadAndAttempt) {
  Open(Options());
  reenact_scope* run = Begin();
  const std::string request = R"({"model":"gpt-4o-2024-08-06","stream":true})";
  reenact_call* call = nullptr;
  const reenact_call_info info = ModelCall(request);
  ASSERT_EQ(reenact_call_begin(run, &info, &call), REENACT_LIVE);
  const reenact_pair limited[] = {{B("retry-after"), B("2")}};
  EXPECT_EQ(reenact_call_head(call, 429, limited, 1), REENACT_OK);
  EXPECT_EQ(reenact_call_attempt_failed(call, B("provider_error:http_429")), REENACT_OK);
  const reenact_pair headers[] = {{B("content-type"), B("text/event-stream")},
                                  {B("x-request-id"), B("req_1")},
                                  {B("set-cookie"), B("session=1")}};
  EXPECT_EQ(reenact_call_head(call, 200, headers, 3), REENACT_OK);
  EXPECT_EQ(reenact_call_chunk(call, B("data: \xe2\x82")), REENACT_OK);
  EXPECT_EQ(reenact_call_chunk(call, B("\xac\n\n")), REENACT_OK);
  const reenact_pair facts[] = {{B("cache"), B("hit")}};
  auto meta = Sized<reenact_call_meta>();
  meta.detail = B("connection reset");
  meta.facts = facts;
  meta.fact_count = 1;
  EXPECT_EQ(reenact_call_end(call, REENACT_END_RESET, &meta), REENACT_OK);
  Finish(run);
  Close();

  const schema::RecordedRun stored = OnlyRun();
  ASSERT_EQ(stored.events.size(), 1u);
  const schema::Event& event = stored.events[0];
  EXPECT_EQ(event.request.bytes, request);
  EXPECT_EQ(event.response.bytes, "data: \xe2\x82\xac\n\n");
  EXPECT_EQ(event.end_state, EndState::kReset);
  EXPECT_EQ(event.end_detail, "connection reset");
  EXPECT_EQ(event.meta, (schema::Tags{{"cache", "hit"}}));
  ASSERT_EQ(event.exchange.size(), 5u);
  EXPECT_EQ(event.exchange[0].status, 429);
  EXPECT_EQ(event.exchange[1].kind, ExchangeItemKind::kAttemptEnd);
  EXPECT_EQ(event.exchange[2].status, 200);
  EXPECT_EQ(event.exchange[2].headers,
            (schema::Headers{{"content-type", "text/event-stream"}, {"x-request-id", "req_1"}}));
  EXPECT_EQ(event.exchange[3].size, 8u);
  EXPECT_EQ(event.exchange[4].size, 3u);
  for (size_t i = 1; i < event.exchange.size(); ++i) {
    EXPECT_GE(event.exchange[i].offset_ns, event.exchange[i - 1].offset_ns);
  }
  EXPECT_GE(event.elapsed_ns, event.exchange.back().offset_ns);
}

// cases/replay.md 16
TEST_F(Record, CredentialsReachNoFileOfTheStore) {
  Open(Options());
  reenact_scope* run = Begin();
  const std::string key = "sk-live-0123456789abcdef";
  const std::string header = "Bearer " + key;
  const reenact_pair headers[] = {{B("Authorization"), B(header)}, {B("accept"), B("*/*")}};
  const std::string request = R"({"model":"m","note":")" + key + R"("})";
  const std::string endpoint = "https://api.example.com/v1/chat/completions?key=" + key;
  reenact_call_info info = ModelCall(request);
  info.endpoint = B(endpoint);
  info.headers = headers;
  info.header_count = 2;
  EXPECT_EQ(Call(run, info, "your key is " + key), REENACT_OK);
  Finish(run, key);
  Close();

  const schema::RecordedRun stored = OnlyRun();
  ASSERT_EQ(stored.events.size(), 1u);
  EXPECT_TRUE(stored.events[0].request.redacted);
  for (const auto& entry : std::filesystem::recursive_directory_iterator(store_path_)) {
    if (!entry.is_regular_file()) continue;
    std::ifstream file(entry.path(), std::ios::binary);
    std::stringstream bytes;
    bytes << file.rdbuf();
    EXPECT_EQ(bytes.str().find(key), std::string::npos) << entry.path();
  }
}

TEST_F(Record, ReadingsAreEventsOfTheirScope) {
  Open(Options());
  reenact_scope* run = Begin();
  reenact_scope* child = nullptr;
  ASSERT_EQ(reenact_scope_begin(run, B("turn/1~"), &child), REENACT_OK);
  int64_t now = 0;
  uint64_t seed = 0;
  int32_t want = -1;
  EXPECT_EQ(reenact_now(child, B("today"), &now), REENACT_OK);
  EXPECT_EQ(reenact_random_seed(child, B("draw"), &seed), REENACT_OK);
  EXPECT_EQ(reenact_want_logprobs(child, B("logprobs"), &want), REENACT_OK);
  reenact_scope_end(child);
  Finish(run);
  Close();

  const schema::RecordedRun stored = OnlyRun();
  ASSERT_EQ(stored.events.size(), 3u);
  EXPECT_EQ(stored.events[0].scope, "turn~11~0");
  EXPECT_EQ(stored.events[0].boundary, Boundary::kClock);
  EXPECT_EQ(static_cast<int64_t>(stored.events[0].value), now);
  EXPECT_EQ(stored.events[1].boundary, Boundary::kRandom);
  EXPECT_EQ(stored.events[1].value, seed);
  EXPECT_EQ(stored.events[2].boundary, Boundary::kEnv);
  EXPECT_EQ(stored.events[2].value, 0u);
  EXPECT_EQ(want, 0);
}

TEST_F(Record, PolicyOfRateOneAlwaysWantsLogprobs) {
  reenact_options options = Options();
  options.logprob_rate = 1;
  Open(options);
  reenact_scope* run = Begin();
  for (int i = 0; i < 10; ++i) {
    int32_t want = 0;
    reenact_want_logprobs(run, B("logprobs"), &want);
    EXPECT_EQ(want, 1);
  }
  Finish(run);
}

TEST_F(Record, IncidentMarksTheRun) {
  Open(Options());
  reenact_scope* run = Begin();
  auto info = Sized<reenact_incident_info>();
  info.title = B("refund of 1,200 instead of 120");
  info.severity = 2;
  EXPECT_EQ(reenact_incident(run, &info), REENACT_OK);
  Finish(run);
  Close();
  const schema::RecordedRun stored = OnlyRun();
  ASSERT_EQ(stored.marks.size(), 1u);
  EXPECT_EQ(stored.marks[0].title, "refund of 1,200 instead of 120");
  EXPECT_EQ(stored.marks[0].severity, 2);
}

TEST_F(Record, SamplingKeepsAboutItsShareAndCountsTheRest) {
  reenact_options options = Options();
  options.run_sample_rate = 0.25;
  Open(options);
  constexpr int kRuns = 2000;
  int recorded = 0;
  for (int i = 0; i < kRuns; ++i) {
    reenact_scope* run = Begin();
    char id[27];
    reenact_run_id(run, id);
    if (id[0] != '\0') ++recorded;
    Call(run, ToolCall("t", "{}"), "live all the same");
    Finish(run);
  }
  // Six standard deviations of a binomial: 6 * sqrt(2000 * 0.25 * 0.75).
  EXPECT_NEAR(recorded, kRuns / 4, 117);
  EXPECT_EQ(Metrics().unsampled_runs, static_cast<uint64_t>(kRuns - recorded));
}

TEST_F(Record, KillSwitchStopsNewRunsOnly) {
  Open(Options());
  reenact_scope* before = Begin("before");
  reenact_set_enabled(recorder_, 0);
  reenact_scope* during = Begin("during");
  EXPECT_EQ(Call(before, ToolCall("t", "{}"), "1"), REENACT_OK);
  Call(during, ToolCall("t", "{}"), "2");
  Finish(during);
  Finish(before);
  reenact_set_enabled(recorder_, 1);
  Finish(Begin("after"));
  Close();
  const std::vector<schema::RecordedRun> runs = Runs();
  ASSERT_EQ(runs.size(), 2u);
  EXPECT_EQ(runs[0].run.entry, "before");
  EXPECT_EQ(runs[0].events.size(), 1u);
  EXPECT_EQ(runs[1].run.entry, "after");
}

TEST_F(Record, DisabledBoundaryIsLiveAndLeavesNoEvent) {
  reenact_options options = Options();
  options.disabled_boundaries = 1u << REENACT_TOOL | 1u << REENACT_CLOCK;
  Open(options);
  reenact_scope* run = Begin();
  Call(run, ToolCall("t", "{}"), "x");
  int64_t now = 0;
  EXPECT_EQ(reenact_now(run, B("today"), &now), REENACT_OK);
  EXPECT_GT(now, 0);
  Call(run, ModelCall("{}"), "y");
  Finish(run);
  Close();
  const schema::RecordedRun stored = OnlyRun();
  ASSERT_EQ(stored.events.size(), 1u);
  EXPECT_EQ(stored.events[0].boundary, Boundary::kModel);
}

// What is stored of a whole that was cut: only who has the whole can tell it by that.
schema::Digest SaltedDigest(const schema::Body& stored, std::string_view whole) {
  EXPECT_TRUE(stored.salt.has_value());
  std::string text(stored.salt->begin(), stored.salt->end());
  text += schema::AsBytes(schema::HashBytes(whole));
  return schema::HashBytes(text);
}

// cases/replay.md 28
TEST_F(Record, BodiesOverTheLimitAreCutWithSizeAndHash) {
  reenact_options options = Options();
  options.body_limit_bytes = 1000;
  Open(options);
  reenact_scope* run = Begin();
  const std::string request(5000, 'q');
  const std::string part(700, 'a');
  reenact_call* call = nullptr;
  const reenact_call_info info = ToolCall("t", request);
  reenact_call_begin(run, &info, &call);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(reenact_call_chunk(call, B(part)), REENACT_OK);
  EXPECT_EQ(reenact_call_end(call, REENACT_END_COMPLETE, nullptr), REENACT_OK);
  EXPECT_EQ(Call(run, ToolCall("small", "{}"), "whole"), REENACT_OK);
  Finish(run, std::string(3000, 'o'));
  Close();

  const schema::RecordedRun stored = OnlyRun();
  ASSERT_EQ(stored.events.size(), 2u);
  const schema::Event& cut = stored.events[0];
  EXPECT_EQ(cut.request.bytes, request.substr(0, 1000));
  EXPECT_TRUE(cut.request.cut);
  EXPECT_EQ(cut.request.original_size, request.size());
  EXPECT_EQ(cut.request.original_digest, SaltedDigest(cut.request, request));
  EXPECT_EQ(cut.end_state, EndState::kTruncatedByLimit);
  EXPECT_EQ(cut.response.bytes, std::string(1000, 'a'));
  EXPECT_EQ(cut.response.original_size, 2100u);
  EXPECT_EQ(cut.response.original_digest, SaltedDigest(cut.response, part + part + part));
  EXPECT_EQ(schema::BodySize(cut.exchange), 1000u);
  EXPECT_EQ(stored.events[1].end_state, EndState::kComplete);
  EXPECT_TRUE(stored.end->output.cut);
}

// cases/replay.md 28
TEST_F(Record, LargeBodiesSpillAndComeBackWhole) {
  Open(Options());
  reenact_scope* run = Begin();
  std::string request;
  while (request.size() < (size_t{3} << 20)) request += std::to_string(request.size()) + ",";
  std::string answer;
  reenact_call* call = nullptr;
  const reenact_call_info info = ModelCall(request);
  reenact_call_begin(run, &info, &call);
  for (int i = 0; i < 400; ++i) {
    const std::string part = std::to_string(i) + std::string(5000, static_cast<char>('a' + i % 26));
    answer += part;
    EXPECT_EQ(reenact_call_chunk(call, B(part)), REENACT_OK);
  }
  EXPECT_EQ(reenact_call_end(call, REENACT_END_COMPLETE, nullptr), REENACT_OK);
  EXPECT_EQ(Call(run, ToolCall("one_piece", "{}"), request), REENACT_OK);
  Finish(run);
  Close();
  const schema::RecordedRun stored = OnlyRun();
  ASSERT_EQ(stored.events.size(), 2u);
  EXPECT_TRUE(stored.events[0].request.bytes == request);
  EXPECT_TRUE(stored.events[0].response.bytes == answer);
  EXPECT_EQ(stored.events[0].exchange.size(), 400u);
  EXPECT_EQ(stored.events[0].end_state, EndState::kComplete);
  EXPECT_TRUE(stored.events[1].response.bytes == request);
}

TEST_F(Record, SpillBudgetCutsAndKeepsTheEvent) {
  reenact_options options = Options();
  options.body_budget_bytes = 2 << 20;
  Open(options);
  reenact_scope* run = Begin();
  const std::string part(1 << 20, 'z');
  reenact_call* call = nullptr;
  const reenact_call_info info = ToolCall("t", "{}");
  reenact_call_begin(run, &info, &call);
  for (int i = 0; i < 5; ++i) reenact_call_chunk(call, B(part));
  EXPECT_EQ(reenact_call_end(call, REENACT_END_COMPLETE, nullptr), REENACT_OK);
  Finish(run);
  Close();
  const schema::RecordedRun stored = OnlyRun();
  ASSERT_EQ(stored.events.size(), 1u);
  const schema::Event& event = stored.events[0];
  EXPECT_EQ(event.end_state, EndState::kTruncatedByLimit);
  EXPECT_TRUE(event.response.cut);
  EXPECT_EQ(event.response.original_size, part.size() * 5);
  EXPECT_EQ(schema::BodySize(event.exchange), event.response.bytes.size());
}

TEST_F(Record, ModelCallsInFlightAreCounted) {
  Open(Options());
  reenact_scope* run = Begin();
  reenact_call* calls[3];
  for (reenact_call*& call : calls) {
    const reenact_call_info info = ModelCall("{}");
    reenact_call_begin(run, &info, &call);
  }
  for (reenact_call* call : calls) reenact_call_end(call, REENACT_END_COMPLETE, nullptr);
  Call(run, ModelCall("{}"), "");
  Finish(run);
  Close();
  const schema::RecordedRun stored = OnlyRun();
  ASSERT_EQ(stored.events.size(), 4u);
  for (uint32_t i = 0; i < 3; ++i) EXPECT_EQ(stored.events[i].in_flight, i);
  EXPECT_EQ(stored.events[3].in_flight, 0u);
}

TEST_F(Record, FloatingModelNamesWarnAtTheCall) {
  std::vector<std::string> warnings;
  reenact_options options = Options();
  options.require_pinned = 1;
  options.user = &warnings;
  options.warn = [](void* user, reenact_bytes text) {
    static_cast<std::vector<std::string>*>(user)->emplace_back(text.data, text.size);
  };
  Open(options);
  reenact_scope* run = Begin();
  Call(run, ModelCall(R"({"model":"gpt-4o"})"), "");
  Call(run, ModelCall(R"({"model":"gpt-4o-2024-08-06"})"), "");
  Call(run, ModelCall("no JSON"), "");
  Finish(run);
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_NE(warnings[0].find("\"gpt-4o\""), std::string::npos);
  EXPECT_EQ(Metrics().floating_models, 1u);
}

// cases/reports.md 76: a writer that cannot go on blocks no caller; the sums are exact, in the
// metrics and in the store, and the host is told once.
TEST_F(Record, DroppedRecordsAreCountedExactlyAndWarnedOfOnce) {
  constexpr int kCalls = 10'000;
  std::vector<std::string> warnings;
  reenact_options options = Options();
  options.ring_bytes = 1 << 20;
  options.user = &warnings;
  options.warn = [](void* user, reenact_bytes text) {
    static_cast<std::vector<std::string>*>(user)->emplace_back(text.data, text.size);
  };
  Open(options);
  reenact_scope* run = Begin();
  ASSERT_EQ(reenact_flush(recorder_, kPatienceMs), REENACT_OK);
  EXPECT_TRUE(warnings.empty());
  // A file in the way, and away again, each in one step: else the writer would make a new folder.
  const std::string segments = store_path_ + "/segments";
  std::ofstream(segments + ".other") << "a file in the way";
  const auto exchange = [&] {
    const std::string other = segments + ".other";
    return renameat2(AT_FDCWD, segments.c_str(), AT_FDCWD, other.c_str(), RENAME_EXCHANGE);
  };
  ASSERT_EQ(exchange(), 0);
  const std::string request(500, 'q');
  size_t recorded = 0;
  const auto begun = std::chrono::steady_clock::now();
  for (int i = 0; i < kCalls; ++i) {
    const reenact_code code = Call(run, ToolCall("t", request), "answer");
    ASSERT_TRUE(code == REENACT_OK || code == REENACT_DROPPED) << code;
    recorded += code == REENACT_OK ? 1 : 0;
  }
  EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(10));
  EXPECT_LT(recorded, static_cast<size_t>(kCalls));
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_NE(warnings[0].find("records are being dropped ("), std::string::npos) << warnings[0];

  ASSERT_EQ(exchange(), 0);
  ASSERT_EQ(reenact_flush(recorder_, kPatienceMs), REENACT_OK);
  const reenact_metrics metrics = Metrics();
  EXPECT_EQ(metrics.lost, 0u);
  EXPECT_EQ(metrics.accepted, metrics.stored);
  const uint64_t dropped = metrics.dropped_ring_full + metrics.dropped_store_error;
  EXPECT_GT(dropped, 0u);
  Finish(run);
  Close();
  const schema::RecordedRun stored = OnlyRun();
  size_t complete = 0;
  for (const schema::Event& event : stored.events) {
    complete += event.end_state == EndState::kComplete ? 1 : 0;
  }
  EXPECT_EQ(complete, recorded);
  uint64_t in_gaps = 0;
  for (const schema::Gap& gap : stored.gaps) in_gaps += gap.count;
  EXPECT_EQ(in_gaps, dropped);
}

}  // namespace
}  // namespace reenact::testing
