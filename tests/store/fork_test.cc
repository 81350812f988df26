// A process forks a thousand times while its threads record. cases/reports.md 80

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "gtest/gtest.h"

#include "recorder/event_log.h"
#include "store/reader/store_reader.h"
#include "tests/store/memory_folder.h"
#include "tests/store/recording.h"

namespace reenact::recorder {
namespace {

constexpr int kForks = 1000;
constexpr int kForksPerLog = 100;  // Every hundredth child opens a log of its own.
constexpr int64_t kSecond = 1'000'000'000;

store::Recording RecordingOf(EventLog* log) {
  return store::Recording(
      [log](store::RecordKind kind, std::string_view head, std::string_view tail) {
        const std::string_view pieces[] = {head, tail};
        store::DropReason reason;
        return log->Append(kind, pieces, 2, &reason);
      });
}

bool RecordInChild(const EventLogOptions& options) {
  std::string why;
  std::unique_ptr<EventLog> log = EventLog::Open(options, &why);
  if (log == nullptr) return false;
  store::Recording run = RecordingOf(log.get());
  run.Begin();
  for (int i = 0; i < 10; ++i) run.Call("request", "response");
  return log->Close(store::MonotonicNowNs() + 60 * kSecond) && log->Metrics().stored == 21;
}

TEST(Fork, AThousandChildrenOfABusyParentTouchNothingOfIt) {
  store::MemoryFolder memory;
  store::DiskFolder disk;
  EventLogOptions options;
  options.store_path = disk.path() + "/store";
  options.ring_bytes = 4 << 20;
  std::string why;
  std::unique_ptr<EventLog> log = EventLog::Open(options, &why);
  ASSERT_NE(log, nullptr) << why;
  std::atomic<bool> stop{false};
  std::atomic<uint64_t> acknowledged{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 2; ++t) {
    threads.emplace_back([&] {
      store::Recording run = RecordingOf(log.get());
      acknowledged += run.Begin() != 0;
      while (!stop) {
        const uint64_t begin = run.BeginCall(std::string(500, 'x'));
        if (begin == 0) continue;
        ++acknowledged;
        acknowledged += run.EndCall(begin, "response") != 0;
        // A pace, not a synchronisation: a few thousand records a second.
        std::this_thread::sleep_for(std::chrono::microseconds(200));
      }
    });
  }
  int failed = 0;
  for (int i = 0; i < kForks; ++i) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      store::DropReason reason;
      const std::string_view piece = "x";
      bool ok = log->InForkedChild() &&
                log->Append(store::RecordKind::kReading, &piece, 1, &reason) == 0 &&
                reason == store::DropReason::kForkChild;
      log.reset();
      if (i % kForksPerLog == 0) ok = ok && RecordInChild(options);
      _exit(ok ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    failed += status != 0;
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(failed, 0);
  EXPECT_TRUE(log->Close(store::MonotonicNowNs() + 60 * kSecond));
  EXPECT_EQ(log->Metrics().stored, acknowledged);
  EXPECT_EQ(log->Metrics().dropped[static_cast<size_t>(store::DropReason::kForkChild)], 0u)
      << "children count in their own copy";
  auto reader = store::StoreReader::Open(options.store_path);
  ASSERT_TRUE(reader.ok()) << reader.status();
  const auto runs = (*reader)->ListRuns({});
  ASSERT_TRUE(runs.ok()) << runs.status();
  EXPECT_EQ(runs->size(), 2u + kForks / kForksPerLog);
  EXPECT_TRUE(std::filesystem::is_empty(memory.rings()));
}

}  // namespace
}  // namespace reenact::recorder
