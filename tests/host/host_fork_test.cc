// Hosts that fork: prefork servers, and processes that fork while others record.

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <set>
#include <thread>

#include "tests/recorder/recorder_fixture.h"

namespace reenact::testing {
namespace {

class Fork : public RecorderTest {
 protected:
  // Runs `body` in a child, which ends with its answer.
  template <class Body>
  static pid_t InChild(Body body) {
    const pid_t pid = fork();
    if (pid == 0) _exit(body());
    return pid;
  }

  static int Wait(pid_t pid) {
    int status = 0;
    waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }

  static reenact_code CallQuietly(reenact_scope* scope, std::string_view request) {
    reenact_call* call = nullptr;
    const reenact_call_info info = ToolCall("echo", request);
    if (reenact_call_begin(scope, &info, &call) != REENACT_LIVE) return REENACT_INTERNAL;
    reenact_call_chunk(call, B(request));
    return reenact_call_end(call, REENACT_END_COMPLETE, nullptr);
  }

  reenact_scope* BeginQuietly(std::string_view entry) {
    auto info = Sized<reenact_run_info>();
    info.entry = B(entry);
    reenact_scope* run = nullptr;
    reenact_run_begin(recorder_, &info, &run);
    return run;
  }
};

TEST_F(Fork, PreforkServerStoresEveryCallOfEveryChildOnce) {
  Open(Options());
  constexpr int kChildren = 4;
  constexpr int kCalls = 1000;
  std::vector<pid_t> children;
  for (int c = 0; c < kChildren; ++c) {
    children.push_back(InChild([&] {
      reenact_scope* run = BeginQuietly("child " + std::to_string(c));
      for (int i = 0; i < kCalls; ++i) {
        const std::string request = std::to_string(c) + ":" + std::to_string(i);
        if (CallQuietly(run, request) != REENACT_OK) return 1;
      }
      reenact_run_end(run, REENACT_END_COMPLETE, {}, {});
      return reenact_close(recorder_, kPatienceMs) == REENACT_OK ? 0 : 2;
    }));
  }
  reenact_scope* parent = Begin("parent");
  EXPECT_EQ(CallQuietly(parent, "parent"), REENACT_OK);
  Finish(parent);
  for (const pid_t child : children) EXPECT_EQ(Wait(child), 0);
  Close();

  std::multiset<std::string> requests;
  for (const schema::RecordedRun& run : Runs()) {
    for (const schema::Event& event : run.events) {
      EXPECT_EQ(event.response.bytes, event.request.bytes);
      requests.insert(event.request.bytes);
    }
  }
  EXPECT_EQ(requests.size(), static_cast<size_t>(kChildren * kCalls + 1));
  EXPECT_EQ(std::set<std::string>(requests.begin(), requests.end()).size(), requests.size());
}

TEST_F(Fork, RunBegunBeforeIsARunOfItsOwnInTheChild) {
  Open(Options());
  reenact_scope* run = Begin();
  char id[27];
  reenact_run_id(run, id);
  EXPECT_EQ(CallQuietly(run, "before"), REENACT_OK);
  const pid_t child = InChild([&] {
    if (CallQuietly(run, "in the child") != REENACT_OK) return 1;
    return reenact_close(recorder_, kPatienceMs) == REENACT_OK ? 0 : 2;
  });
  EXPECT_EQ(Wait(child), 0);
  EXPECT_EQ(CallQuietly(run, "after"), REENACT_OK);
  Finish(run);
  Close();
  std::map<bool, std::vector<std::string>> requests;  // By whether the run names the other.
  for (const schema::RecordedRun& stored : Runs()) {
    const std::pair<std::string, std::string> tag("forked_from_run", id);
    const auto& tags = stored.run.tags;
    const bool forked = std::find(tags.begin(), tags.end(), tag) != tags.end();
    for (const schema::Event& event : stored.events) {
      requests[forked].push_back(event.request.bytes);
    }
  }
  EXPECT_EQ(requests[false], (std::vector<std::string>{"before", "after"}));
  EXPECT_EQ(requests[true], (std::vector<std::string>{"in the child"}));
}

TEST_F(Fork, ChildThatOnlyEndsAnInheritedRunLeavesNoTrace) {
  Open(Options());
  reenact_scope* run = Begin();
  const pid_t child = InChild([&] {
    reenact_run_end(run, REENACT_END_ABANDONED_BY_CALLER, {}, {});
    return reenact_close(recorder_, kPatienceMs) == REENACT_OK ? 0 : 2;
  });
  EXPECT_EQ(Wait(child), 0);
  Finish(run);
  Close();
  EXPECT_EQ(OnlyRun().state, schema::EndState::kComplete);
}

TEST_F(Fork, CallBegunBeforeIsTheParentsToEnd) {
  Open(Options());
  reenact_scope* run = Begin();
  reenact_call* call = nullptr;
  const reenact_call_info info = ToolCall("t", "{}");
  reenact_call_begin(run, &info, &call);
  const pid_t child = InChild([&] {
    if (reenact_call_chunk(call, B("from the child")) != REENACT_DROPPED) return 1;
    if (reenact_call_end(call, REENACT_END_COMPLETE, nullptr) != REENACT_DROPPED) return 2;
    return 0;
  });
  EXPECT_EQ(Wait(child), 0);
  reenact_call_chunk(call, B("from the parent"));
  EXPECT_EQ(reenact_call_end(call, REENACT_END_COMPLETE, nullptr), REENACT_OK);
  Finish(run);
  Close();
  const schema::RecordedRun stored = OnlyRun();
  ASSERT_EQ(stored.events.size(), 1u);
  EXPECT_EQ(stored.events[0].response.bytes, "from the parent");
}

TEST_F(Fork, ThousandForksOfABusyProcessEndAndLoseNothing) {
  reenact_options options = Options();
  options.ring_bytes = 32 << 20;
  Open(options);
  std::atomic<bool> stop{false};
  std::atomic<uint64_t> acknowledged{0};
  std::vector<std::thread> busy;
  for (int t = 0; t < 2; ++t) {
    busy.emplace_back([&] {
      reenact_scope* run = BeginQuietly("busy");
      while (!stop) {
        if (CallQuietly(run, "busy") == REENACT_OK) ++acknowledged;
        std::this_thread::sleep_for(std::chrono::microseconds(200));
      }
      reenact_run_end(run, REENACT_END_COMPLETE, {}, {});
    });
  }
  constexpr int kForks = 1000;
  for (int i = 0; i < kForks; ++i) {
    // Most children of a busy host exec or leave; each hundredth records.
    const pid_t child = InChild([&] {
      if (i % 100 != 0) return 0;
      reenact_scope* run = BeginQuietly("child");
      if (CallQuietly(run, std::to_string(i)) != REENACT_OK) return 1;
      reenact_run_end(run, REENACT_END_COMPLETE, {}, {});
      return reenact_close(recorder_, kPatienceMs) == REENACT_OK ? 0 : 2;
    });
    EXPECT_EQ(Wait(child), 0) << i;
  }
  stop = true;
  for (std::thread& thread : busy) thread.join();
  Close();
  uint64_t busy_calls = 0;
  int child_calls = 0;
  for (const schema::RecordedRun& run : Runs()) {
    if (run.run.entry == "busy") busy_calls += run.events.size();
    if (run.run.entry == "child") child_calls += static_cast<int>(run.events.size());
  }
  EXPECT_EQ(busy_calls, acknowledged);
  EXPECT_EQ(child_calls, kForks / 100);
}

}  // namespace
}  // namespace reenact::testing
