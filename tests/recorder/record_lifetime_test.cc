// A recorder from opening to closing: threads, late ends, deadlines, misuse, many of them.

#include <fcntl.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <fstream>
#include <thread>

#include "tests/recorder/recorder_fixture.h"

namespace reenact::testing {
namespace {

using schema::Boundary;
using schema::EndState;
using schema::ExchangeItemKind;

class RecordLifetime : public RecorderTest {};

TEST_F(RecordLifetime, HostClockIsTheClockUntilTheRecorderIsClosed) {
  static int64_t host_time;
  host_time = 1'700'000'000'000'000'000;
  reenact_options options = Options();
  options.wall_clock = [](void*) { return host_time; };
  Open(options);
  reenact_scope* run = Begin();
  reenact_set_enabled(recorder_, 0);
  reenact_scope* unrecorded = Begin();
  int64_t now = 0;
  reenact_now(run, B("t"), &now);
  EXPECT_EQ(now, host_time);
  reenact_now(unrecorded, B("t"), &now);
  EXPECT_EQ(now, host_time);
  Close();
  reenact_now(run, B("t"), &now);
  EXPECT_NE(now, host_time);
  Finish(unrecorded);
  Finish(run);
}

TEST_F(RecordLifetime, UseAfterCloseIsLiveAndCounted) {
  Open(Options());
  reenact_scope* run = Begin();
  reenact_recorder* const stale = recorder_;
  Close();
  EXPECT_EQ(Call(run, ToolCall("t", "{}"), "x"), REENACT_DROPPED);
  auto metrics = Sized<reenact_metrics>();
  reenact_get_metrics(stale, &metrics);
  EXPECT_GE(metrics.dropped_after_close, 1u);
  EXPECT_EQ(metrics.accepted, metrics.stored + metrics.lost);
  EXPECT_EQ(Finish(run), REENACT_DROPPED);
  // The last user is gone: only the handle is left, and it still answers.
  reenact_scope* late = nullptr;
  auto info = Sized<reenact_run_info>();
  EXPECT_EQ(reenact_run_begin(stale, &info, &late), REENACT_DROPPED);
  EXPECT_EQ(late, nullptr);
  EXPECT_EQ(reenact_close(stale, 0), REENACT_OK);
}

TEST_F(RecordLifetime, CloseWaitsNoLongerThanItsDeadlineAndLosesNothing) {
  Open(Options());
  reenact_scope* run = Begin();
  ASSERT_EQ(reenact_flush(recorder_, kPatienceMs), REENACT_OK);
  const std::string segments = store_path_ + "/segments";
  const std::string other = segments + ".other";
  std::ofstream(other) << "a file in the way";
  ASSERT_EQ(renameat2(AT_FDCWD, segments.c_str(), AT_FDCWD, other.c_str(), RENAME_EXCHANGE), 0);
  EXPECT_EQ(Call(run, ToolCall("t", "{}"), "x"), REENACT_OK);
  Finish(run);
  const auto begun = std::chrono::steady_clock::now();
  EXPECT_EQ(reenact_close(recorder_, 50), REENACT_DEADLINE);
  EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(10));
  recorder_ = nullptr;
  ASSERT_EQ(renameat2(AT_FDCWD, segments.c_str(), AT_FDCWD, other.c_str(), RENAME_EXCHANGE), 0);
  // What was left lies in memory; whoever opens the store next writes it down.
  for (int i = 0; i < 500 && (Runs().empty() || Runs()[0].events.empty()); ++i) {
    Open(Options());
    Close();
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  const schema::RecordedRun stored = OnlyRun();
  ASSERT_EQ(stored.events.size(), 1u);
  EXPECT_EQ(stored.events[0].end_state, EndState::kComplete);
}

TEST_F(RecordLifetime, CallMayEndOnAnotherThreadAndAfterItsRun) {
  Open(Options());
  reenact_scope* run = Begin();
  reenact_call* call = nullptr;
  const reenact_call_info info = ToolCall("slow", "{}");
  reenact_call_begin(run, &info, &call);
  Finish(run);
  std::thread([call] {
    reenact_call_chunk(call, B("late"));
    EXPECT_EQ(reenact_call_end(call, REENACT_END_COMPLETE, nullptr), REENACT_OK);
  }).join();
  Close();
  const schema::RecordedRun stored = OnlyRun();
  ASSERT_EQ(stored.events.size(), 1u);
  EXPECT_EQ(stored.events[0].response.bytes, "late");
}

TEST_F(RecordLifetime, UnendedCallIsIncomplete) {
  Open(Options());
  reenact_scope* run = Begin();
  reenact_call* call = nullptr;
  const reenact_call_info info = ToolCall("never", R"({"id":7})");
  reenact_call_begin(run, &info, &call);
  reenact_call_chunk(call, B("half"));
  Finish(run);
  Close();
  const schema::RecordedRun stored = OnlyRun();
  ASSERT_EQ(stored.events.size(), 1u);
  EXPECT_EQ(stored.events[0].end_state, EndState::kIncomplete);
  EXPECT_EQ(stored.events[0].request.bytes, R"({"id":7})");
  reenact_call_end(call, REENACT_END_COMPLETE, nullptr);
}

TEST_F(RecordLifetime, ManyThreadsStoreEveryCallOnce) {
  reenact_options options = Options();
  options.ring_bytes = 64 << 20;
  Open(options);
  constexpr int kThreads = 8;
  constexpr int kCalls = 500;
  std::atomic<int> acknowledged{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      reenact_scope* run = Begin("thread " + std::to_string(t));
      for (int i = 0; i < kCalls; ++i) {
        const std::string id = std::to_string(t) + ":" + std::to_string(i);
        if (Call(run, ToolCall("echo", id), id) == REENACT_OK) ++acknowledged;
      }
      Finish(run);
    });
  }
  for (std::thread& thread : threads) thread.join();
  Close();
  int stored = 0;
  for (const schema::RecordedRun& run : Runs()) {
    for (const schema::Event& event : run.events) {
      EXPECT_EQ(event.request.bytes, event.response.bytes);
      ++stored;
    }
  }
  EXPECT_EQ(acknowledged, kThreads * kCalls);
  EXPECT_EQ(stored, kThreads * kCalls);
}

TEST_F(RecordLifetime, InvalidArgumentsAreLiveAndSaidSo) {
  Open(Options());
  reenact_scope* run = Begin();
  reenact_call* call = nullptr;
  EXPECT_EQ(reenact_call_begin(run, nullptr, &call), REENACT_LIVE);
  reenact_call_info info = ToolCall("t", "{}");
  EXPECT_EQ(reenact_call_begin(run, &info, nullptr), REENACT_LIVE);
  info.boundary = 99;
  EXPECT_EQ(reenact_call_begin(run, &info, &call), REENACT_LIVE);
  EXPECT_EQ(call, nullptr);
  info = ToolCall("t", "{}");
  info.struct_size = 8;
  EXPECT_EQ(reenact_call_begin(run, &info, &call), REENACT_LIVE);
  EXPECT_EQ(call, nullptr);
  EXPECT_EQ(reenact_now(run, B("t"), nullptr), REENACT_INVALID_ARGUMENT);
  EXPECT_EQ(reenact_add_component(run, nullptr), REENACT_INVALID_ARGUMENT);
  auto incident = Sized<reenact_incident_info>();
  for (const int32_t severity : {-1, 5, 2'147'483'647}) {
    incident.severity = severity;
    EXPECT_EQ(reenact_incident(run, &incident), REENACT_INVALID_ARGUMENT) << severity;
  }
  reenact_scope* none = nullptr;
  EXPECT_EQ(reenact_run_begin(recorder_, nullptr, &none), REENACT_INVALID_ARGUMENT);
  EXPECT_EQ(none, nullptr);
  Finish(run);
}

TEST_F(RecordLifetime, StoreThatCannotBeWrittenGivesARecorderThatIsOff) {
  std::ofstream(store_path_) << "a file where the folder should be";
  const reenact_options options = Options();
  EXPECT_EQ(reenact_open(&options, &recorder_), REENACT_UNAVAILABLE);
  EXPECT_EQ(recorder_, nullptr);
  EXPECT_NE(OpenError().find(store_path_), std::string::npos) << OpenError();
}

TEST_F(RecordLifetime, ManyRecordersMayOpenAndCloseInOneProcess) {
  for (int i = 0; i < 5; ++i) {
    Open(Options());
    reenact_scope* run = Begin(std::to_string(i));
    EXPECT_EQ(Call(run, ToolCall("t", "{}"), "x"), REENACT_OK);
    Finish(run);
    Close();
  }
  EXPECT_EQ(Runs().size(), 5u);
}

}  // namespace
}  // namespace reenact::testing
