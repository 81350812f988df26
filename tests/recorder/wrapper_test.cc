// reenact.hpp in its three modes: the same code, the same bytes, the same exceptions.

#include <stdexcept>

#include "reenact/reenact.hpp"
#include "tests/recorder/fake_replayer.h"
#include "tests/recorder/recorder_fixture.h"

namespace reenact {
namespace {

using testing::FakeReplayer;
using testing::ServeEverything;

class Wrapper : public testing::RecorderTest {
 protected:
  reenact::Options WrapperOptions() {
    reenact::Options options;
    options.store = store_path_;
    options.mode = Mode::kRecord;
    options.close_deadline_ms = testing::kPatienceMs;
    return options;
  }
};

TEST(Philox, GivesThePublishedBits) {
  // Known answers of Random123 for counter 0 and key 0.
  Philox zero(0);
  EXPECT_EQ(zero(), 0xe169c58d6627e8d5u);
  EXPECT_EQ(zero(), 0x9b00dbd8bc57ac4cu);
  Philox seeded(1234);
  Philox again(1234);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(seeded(), again());
}

TEST(WrapperOff, EverythingRunsLive) {
  Recorder recorder;
  reenact::Run run = recorder.StartRun({});
  int lives = 0;
  const Result tool = run.CallTool("t", "{}", [&] {
    ++lives;
    return "text";
  });
  EXPECT_TRUE(tool.ok());
  EXPECT_EQ(tool.text(), "text");
  EXPECT_TRUE(run.Retrieve("kb", "q", [&] { ++lives; }).ok());
  std::string seen;
  const Result model = run.CallModel(
      {},
      [&](Sink& sink) {
        ++lives;
        sink.Head(200, {{"a", "b"}});
        sink.Bytes("x");
        sink.Bytes("y");
      },
      [&](std::string_view bytes) { seen += bytes; });
  EXPECT_EQ(lives, 3);
  EXPECT_EQ(seen, "xy");
  EXPECT_EQ(model.text(), "xy");
  EXPECT_EQ(model.status(), 200);
  EXPECT_FALSE(model.replayed());
  EXPECT_EQ(run.run_id(), "");
  EXPECT_EQ(run.ContentOf(PromptTemplate("refund", "v14", "own")), "own");
  run.Child("c").MarkIncident({});
}

TEST_F(Wrapper, RecordedRunHoldsWhatTheLambdasDid) {
  Recorder recorder(WrapperOptions());
  ASSERT_EQ(recorder.code(), REENACT_OK) << recorder.error();
  {
    reenact::Run run = recorder.StartRun({.entry = "POST /refund",
                                          .input = "in",
                                          .components = {PromptTemplate("refund", "v14", "text"),
                                                         ModelAlias("gpt-4o", "gpt-4o-2024-08-06")},
                                          .tags = {{"a", "b"}}});
    const Result answer = run.CallModel({.provider = "openai", .request = "{}"}, [](Sink& sink) {
      sink.Head(500);
      sink.Bytes("try later");
      sink.AttemptFailed("provider_error:http_500");
      sink.Head(200);
      sink.Bytes("fine");
      sink.Fact("cache", "hit");
    });
    EXPECT_EQ(answer.text(), "fine");
    EXPECT_EQ(answer.status(), 200);
    EXPECT_TRUE(answer.ok());
    run.CallTool("sinks", "{}", [](Sink& sink) { sink.End(EndState::kError, "no such order"); });
    run.Finish("out");
    EXPECT_TRUE(run.finished());
  }
  recorder.Close(testing::kPatienceMs);
  const schema::RecordedRun stored = OnlyRun();
  ASSERT_EQ(stored.events.size(), 2u);
  EXPECT_EQ(stored.components.size(), 2u);
  EXPECT_EQ(stored.events[0].response.bytes, "try laterfine");
  EXPECT_EQ(schema::AttemptCount(stored.events[0].exchange), 2);
  EXPECT_EQ(stored.events[1].end_state, schema::EndState::kError);
  EXPECT_EQ(stored.events[1].end_detail, "no such order");
}

TEST_F(Wrapper, ThrowingToolEndsAsErrorAndPassesThrough) {
  Recorder recorder(WrapperOptions());
  EXPECT_THROW(
      {
        reenact::Run run = recorder.StartRun({.entry = "e"});
        run.CallTool("t", "{}", []() -> std::string { throw std::out_of_range("order 7"); });
      },
      std::out_of_range);
  recorder.Close(testing::kPatienceMs);
  const schema::RecordedRun stored = OnlyRun();
  EXPECT_EQ(stored.state, schema::EndState::kError);
  ASSERT_EQ(stored.events.size(), 1u);
  EXPECT_EQ(stored.events[0].end_state, schema::EndState::kError);
  EXPECT_EQ(stored.events[0].end_detail, "exception: order 7");
}

// cases/replay.md 7
TEST_F(Wrapper, ConsumerThatStopsOrThrowsAbandonsTheCall) {
  Recorder recorder(WrapperOptions());
  reenact::Run run = recorder.StartRun({.entry = "e"});
  bool transport_returned = false;
  const auto transport = [&](Sink& sink) {
    EXPECT_FALSE(sink.Bytes("first"));
    EXPECT_TRUE(sink.stopped());
    EXPECT_FALSE(sink.Bytes("never delivered"));
    transport_returned = true;
  };
  std::string seen;
  const Result stopped = run.CallModel({.request = "1"}, transport, [&](std::string_view bytes) {
    seen += bytes;
    return false;
  });
  EXPECT_EQ(stopped.end_state(), EndState::kAbandonedByCaller);
  EXPECT_EQ(seen, "first");
  transport_returned = false;
  EXPECT_THROW(run.CallModel({.request = "2"}, transport,
                             [](std::string_view) { throw std::runtime_error("ui is gone"); }),
               std::runtime_error);
  EXPECT_TRUE(transport_returned);
  run.Finish();
  recorder.Close(testing::kPatienceMs);
  const schema::RecordedRun stored = OnlyRun();
  ASSERT_EQ(stored.events.size(), 2u);
  for (const schema::Event& event : stored.events) {
    EXPECT_EQ(event.end_state, schema::EndState::kAbandonedByCaller);
    EXPECT_EQ(event.response.bytes, "first");
  }
}

TEST_F(Wrapper, UnfinishedRunIsAbandoned) {
  Recorder recorder(WrapperOptions());
  {
    reenact::Run run = recorder.StartRun({.entry = "e"});
    reenact::Run moved = std::move(run);
    EXPECT_TRUE(run.finished());
  }
  recorder.Close(testing::kPatienceMs);
  EXPECT_EQ(OnlyRun().state, schema::EndState::kAbandonedByCaller);
}

class WrapperReplay : public Wrapper {
 protected:
  reenact::Options ReplayOptions(const FakeReplayer& replayer) {
    reenact::Options options;
    options.mode = Mode::kReplay;
    options.replay_socket = replayer.path();
    return options;
  }

  std::string Socket() const { return folder_.File("socket"); }
};

TEST_F(WrapperReplay, ConsumerSeesTheRecordedReadsAndNoLambdaIsLive) {
  FakeReplayer replayer(Socket(), ServeEverything);
  Recorder recorder(ReplayOptions(replayer));
  reenact::Run run = recorder.StartRun({.entry = "POST /refund"});
  std::vector<std::string> reads;
  const Result answer = run.CallModel(
      {.request = "{}"}, [](Sink&) { FAIL() << "went live"; },
      [&](std::string_view bytes) { reads.emplace_back(bytes); });
  EXPECT_EQ(reads, (std::vector<std::string>{"hello", "abc"}));
  EXPECT_EQ(answer.text(), "helloabc");
  EXPECT_EQ(answer.status(), 200);
  EXPECT_EQ(answer.headers(), (Headers{{"content-type", "text/event-stream"}}));
  EXPECT_EQ(answer.end_state(), EndState::kReset);
  EXPECT_EQ(answer.error(), "curl 56: reset");
  EXPECT_TRUE(answer.replayed());
  EXPECT_FALSE(answer.diverged());
  EXPECT_EQ(run.Now("today").time_since_epoch().count(), 1'700'000'000'000'000'000);
}

TEST_F(WrapperReplay, ConsumerThatStopsEarlyConsumesNoMore) {
  FakeReplayer replayer(Socket(), ServeEverything);
  Recorder recorder(ReplayOptions(replayer));
  reenact::Run run = recorder.StartRun({.entry = "POST /refund"});
  const Result answer = run.CallModel(
      {.request = "{}"}, [](Sink&) { FAIL() << "went live"; },
      [](std::string_view) { return false; });
  EXPECT_EQ(answer.end_state(), EndState::kAbandonedByCaller);
  const auto ended = replayer.AskedFor<schema::EndCall>();
  ASSERT_EQ(ended.size(), 1u);
  EXPECT_EQ(ended[0].consumed_bytes, 5u);
}

TEST_F(WrapperReplay, RecordedExceptionIsThrownAgain) {
  FakeReplayer replayer(Socket(), [](const schema::Message& request) {
    if (!std::holds_alternative<schema::BeginCall>(request)) return ServeEverything(request);
    schema::OnTape tape;
    tape.end_state = schema::EndState::kError;
    tape.end_detail = "exception: order 7";
    return std::optional<schema::Message>(tape);
  });
  Recorder recorder(ReplayOptions(replayer));
  reenact::Run run = recorder.StartRun({.entry = "POST /refund"});
  try {
    run.CallTool("t", "{}", []() -> std::string {
      ADD_FAILURE() << "went live";
      return {};
    });
    ADD_FAILURE() << "nothing was thrown";
  } catch (const ReplayedError& error) {
    EXPECT_STREQ(error.what(), "order 7");
  }
}

TEST_F(WrapperReplay, DivergenceIsAResultWithItsReason) {
  FakeReplayer replayer(Socket(), [](const schema::Message& request) {
    if (!std::holds_alternative<schema::BeginCall>(request)) return ServeEverything(request);
    return std::optional<schema::Message>(schema::Diverged{"not on the tape"});
  });
  Recorder recorder(ReplayOptions(replayer));
  reenact::Run run = recorder.StartRun({.entry = "POST /refund"});
  const Result answer = run.CallTool("t", "{}", [] { ADD_FAILURE() << "went live"; });
  EXPECT_TRUE(answer.diverged());
  EXPECT_FALSE(answer.ok());
  EXPECT_EQ(answer.error(), "not on the tape");
  EXPECT_EQ(answer.text(), "");
}

}  // namespace
}  // namespace reenact
