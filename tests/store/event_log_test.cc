#include "recorder/event_log.h"

#include <dirent.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <thread>

#include "gtest/gtest.h"

#include "store/reader/store_reader.h"
#include "store/writer/drain.h"
#include "tests/store/memory_folder.h"
#include "tests/store/recording.h"

namespace reenact::recorder {
namespace {

using store::DropReason;
using store::MonotonicNowNs;
using store::Recording;

constexpr int64_t kSecond = 1'000'000'000;

int64_t In(int64_t ns) {
  return MonotonicNowNs() + ns;
}

uint64_t Dropped(const EventLogMetrics& metrics, DropReason reason) {
  return metrics.dropped[static_cast<size_t>(reason)];
}

// Waits for something that another thread brings about; the deadline only ends a broken test.
template <typename Condition>
bool Eventually(Condition condition) {
  for (const int64_t deadline = In(30 * kSecond); MonotonicNowNs() < deadline;) {
    if (condition()) return true;
    std::this_thread::yield();
  }
  return false;
}

class EventLogTest : public ::testing::Test {
 protected:
  EventLogTest() {
    options_.store_path = disk_.path() + "/store";
    options_.ring_bytes = 4 << 20;
    options_.retention.min_free_bytes = 0;
    options_.retention.min_free_percent = 0;
  }

  std::unique_ptr<EventLog> Open() {
    std::string why;
    std::unique_ptr<EventLog> log = EventLog::Open(options_, &why);
    EXPECT_NE(log, nullptr) << why;
    return log;
  }

  static Recording RecordingOf(EventLog* log) {
    return Recording([log](store::RecordKind kind, std::string_view head, std::string_view tail) {
      const std::string_view pieces[] = {head, tail};
      DropReason reason;
      return log->Append(kind, pieces, 2, &reason);
    });
  }

  std::vector<std::string> Segments() const { return store::ListSegments({options_.store_path}); }

  std::vector<std::string> Rings() const {
    std::vector<std::string> names;
    std::error_code ignored;
    for (const auto& entry : std::filesystem::directory_iterator(memory_.rings(), ignored)) {
      names.push_back(entry.path());
    }
    return names;
  }

  schema::RecordedRun Load(const schema::Ulid& run) const {
    auto reader = store::StoreReader::Open(options_.store_path);
    EXPECT_TRUE(reader.ok()) << reader.status();
    if (!reader.ok()) return {};
    auto loaded = (*reader)->LoadRun(run, {});
    EXPECT_TRUE(loaded.ok()) << loaded.status();
    return loaded.ok() ? *std::move(loaded) : schema::RecordedRun{};
  }

  uint64_t GapCount(const schema::Ulid& run, const std::string& reason) const {
    uint64_t count = 0;
    for (const schema::Gap& gap : Load(run).gaps) count += gap.reason == reason ? gap.count : 0;
    return count;
  }

  store::MemoryFolder memory_;
  store::DiskFolder disk_;
  EventLogOptions options_;
};

TEST_F(EventLogTest, CloseStoresEverythingSealsAndLeavesNoRing) {
  auto log = Open();
  Recording run = RecordingOf(log.get());
  run.Begin();
  for (int i = 0; i < 1000; ++i) run.Call("request", "response");
  run.End();
  EXPECT_TRUE(log->Close(In(30 * kSecond)));
  const EventLogMetrics metrics = log->Metrics();
  EXPECT_EQ(metrics.accepted, 2002u);
  EXPECT_EQ(metrics.stored, 2002u);
  EXPECT_EQ(metrics.lost, 0u);
  EXPECT_TRUE(metrics.durable_ack);
  EXPECT_EQ(metrics.last_error, "");
  ASSERT_EQ(Segments().size(), 1u);

  struct stat status {};

  ASSERT_EQ(stat((options_.store_path + "/segments/" + Segments()[0]).c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0444u);
  EXPECT_TRUE(Rings().empty());
  EXPECT_EQ(run.Read(1), 0u) << "closed";
  EXPECT_EQ(Dropped(log->Metrics(), DropReason::kAfterClose), 1u);
  EXPECT_EQ(Load(run.run()).events.size(), 1000u);
}

TEST_F(EventLogTest, NothingRecordedMakesNoSegment) {
  auto log = Open();
  EXPECT_TRUE(log->Flush(In(10 * kSecond)));
  EXPECT_TRUE(log->Close(In(10 * kSecond)));
  EXPECT_TRUE(Segments().empty());
  EXPECT_TRUE(Rings().empty());
}

TEST_F(EventLogTest, FlushReturnsWhenEverythingIsCommitted) {
  auto log = Open();
  Recording run = RecordingOf(log.get());
  run.Begin();
  for (int i = 0; i < 300; ++i) run.Call("request", "response");
  ASSERT_TRUE(log->Flush(In(30 * kSecond)));
  EXPECT_EQ(log->Metrics().stored, 601u);
  EXPECT_EQ(Load(run.run()).events.size(), 300u) << "while the segment is still being written";
  EXPECT_TRUE(log->Close(In(30 * kSecond)));
}

TEST_F(EventLogTest, SegmentsRotateBySizeAndRunsSpanThem) {
  options_.segment_max_bytes = 256 << 10;
  auto log = Open();
  Recording run = RecordingOf(log.get());
  run.Begin();
  const uint64_t open = run.BeginCall("spans segments");
  std::string noise(2000, '\0');
  uint64_t seed = 1;
  for (int i = 0; i < 600; ++i) {
    for (char& c : noise) c = static_cast<char>((seed = seed * 6364136223846793005u + 1) >> 56);
    run.Call(noise, "response");
    if (i % 100 == 0) {
      ASSERT_TRUE(log->Flush(In(30 * kSecond)));
    }
  }
  run.EndCall(open, "at last");
  run.End();
  EXPECT_TRUE(log->Close(In(30 * kSecond)));
  EXPECT_GE(Segments().size(), 3u);
  const schema::RecordedRun loaded = Load(run.run());
  ASSERT_EQ(loaded.events.size(), 601u);
  EXPECT_EQ(loaded.events[0].response.bytes, "at last");
  EXPECT_EQ(loaded.events[0].end_state, schema::EndState::kComplete);
  EXPECT_EQ(loaded.run.input.bytes, "input");
}

TEST_F(EventLogTest, AnOldSegmentIsSealedThoughNothingHappens) {
  options_.segment_max_age_ns = 50'000'000;
  auto log = Open();
  Recording run = RecordingOf(log.get());
  run.Begin();
  run.End();
  ASSERT_TRUE(log->Flush(In(30 * kSecond)));
  ASSERT_EQ(Segments().size(), 1u);
  const std::string path = options_.store_path + "/segments/" + Segments()[0];
  EXPECT_TRUE(Eventually([&] {
    struct stat status {};
    return stat(path.c_str(), &status) == 0 && (status.st_mode & 0200) == 0;
  }));
  EXPECT_TRUE(log->Close(In(30 * kSecond)));
}

// cases/reports.md 77
TEST_F(EventLogTest, AStoreThatCannotBeWrittenCostsNoMemoryAndRecordingResumes) {
  auto log = Open();
  Recording before = RecordingOf(log.get());
  before.Begin();
  ASSERT_TRUE(log->Flush(In(30 * kSecond)));
  const std::string segments = options_.store_path + "/segments";
  std::filesystem::remove_all(segments);
  std::ofstream(segments) << "a file in the way";
  const auto resident = [] {
    std::ifstream statm("/proc/self/statm");
    size_t size = 0;
    size_t pages = 0;
    statm >> size >> pages;
    return pages * 4096;
  };
  const size_t resident_before = resident();
  const std::string body(2000, 'x');
  Recording lost = RecordingOf(log.get());
  lost.Begin();
  uint64_t refused = 0;
  for (int i = 0; i < 10000; ++i) refused += lost.Call(body, body) == 0;
  EXPECT_GT(refused, 0u);
  EXPECT_LT(resident(), resident_before + options_.ring_bytes + (16 << 20));
  EXPECT_TRUE(Eventually([&] { return !log->Metrics().last_error.empty(); }));
  EXPECT_NE(log->Metrics().last_error.find(options_.store_path), std::string::npos);

  std::filesystem::remove(segments);
  Recording after = RecordingOf(log.get());
  EXPECT_TRUE(Eventually([&] { return after.Begin() != 0; }));
  EXPECT_TRUE(Eventually([&] { return after.Call("request", "response") != 0; }));
  after.End();
  EXPECT_TRUE(log->Close(In(30 * kSecond)));
  const EventLogMetrics metrics = log->Metrics();
  EXPECT_EQ(metrics.accepted, metrics.stored + metrics.lost);
  EXPECT_EQ(Load(after.run()).events.size(), 1u);
  const uint64_t dropped =
      Dropped(metrics, DropReason::kStoreError) + Dropped(metrics, DropReason::kRingFull);
  EXPECT_GE(dropped, refused);
  EXPECT_EQ(GapCount(before.run(), "store_error") + GapCount(before.run(), "ring_full"), dropped);
}

TEST_F(EventLogTest, AVanishedStoreIsMadeAgain) {
  auto log = Open();
  Recording run = RecordingOf(log.get());
  run.Begin();
  const uint64_t open = run.BeginCall("before");
  ASSERT_TRUE(log->Flush(In(30 * kSecond)));
  std::filesystem::remove_all(options_.store_path);
  run.EndCall(open, "after");
  run.End();
  ASSERT_TRUE(log->Flush(In(30 * kSecond)));
  const schema::RecordedRun loaded = Load(run.run());
  ASSERT_EQ(loaded.events.size(), 1u);
  EXPECT_EQ(loaded.events[0].request.bytes, "before");
  EXPECT_EQ(loaded.events[0].response.bytes, "after");
  EXPECT_TRUE(log->Close(In(30 * kSecond)));
}

TEST_F(EventLogTest, AtTheFloorOfFreeSpaceRecordsAreRefusedUntilThereIsRoom) {
  options_.retention.min_free_bytes = uint64_t{1} << 60;  // No disk has that much.
  auto log = Open();
  Recording run = RecordingOf(log.get());
  run.Begin();
  DropReason reason = DropReason::kNone;
  const std::string_view piece = "x";
  EXPECT_TRUE(Eventually([&] {
    run.Read(1);
    return log->Append(store::RecordKind::kReading, &piece, 1, &reason) == 0;
  }));
  EXPECT_EQ(reason, DropReason::kDiskFull);
  EXPECT_GE(Dropped(log->Metrics(), DropReason::kDiskFull), 1u);
  EXPECT_TRUE(log->Close(In(30 * kSecond)));
}

// cases/replay.md 21, cases/reports.md 61
TEST_F(EventLogTest, AFullDiskCostsRecordsNotTheHostAndRecordingResumes) {
  const std::string mount_point = disk_.path() + "/small";
  ASSERT_EQ(mkdir(mount_point.c_str(), 0700), 0);
  if (mount("tmpfs", mount_point.c_str(), "tmpfs", 0, "size=6m") != 0) {
    GTEST_SKIP() << "no permission to mount a small file system: " << strerror(errno);
  }

  struct Unmounter {
    std::string path;

    ~Unmounter() { umount2(path.c_str(), MNT_DETACH); }
  } unmounter{mount_point};

  options_.store_path = mount_point + "/store";
  auto log = Open();
  Recording run = RecordingOf(log.get());
  run.Begin();
  std::string noise(4000, '\0');
  uint64_t seed = 1;
  const auto call = [&] {
    for (char& c : noise) c = static_cast<char>((seed = seed * 6364136223846793005u + 1) >> 56);
    return run.Call(noise, "response");
  };
  EXPECT_TRUE(Eventually([&] {
    call();
    return Dropped(log->Metrics(), DropReason::kDiskFull) > 0;
  }));
  const EventLogMetrics full = log->Metrics();
  EXPECT_NE(full.last_error, "");
  ASSERT_EQ(mount("tmpfs", mount_point.c_str(), "tmpfs", MS_REMOUNT, "size=64m"), 0);
  EXPECT_TRUE(Eventually([&] { return run.Read(77) != 0; }));
  EXPECT_TRUE(log->Close(In(30 * kSecond)));
  const EventLogMetrics metrics = log->Metrics();
  EXPECT_EQ(metrics.accepted, metrics.stored);
  uint64_t dropped = 0;
  for (const uint64_t count : metrics.dropped) dropped += count;
  uint64_t told = 0;
  const schema::RecordedRun loaded = Load(run.run());
  for (const schema::Gap& gap : loaded.gaps) told += gap.count;
  EXPECT_EQ(told, dropped);
  ASSERT_FALSE(loaded.events.empty());
  EXPECT_EQ(loaded.events.back().value, 77u);
}

TEST_F(EventLogTest, WhatCouldNotBeWrittenInTimeIsRecoveredLater) {
  auto log = Open();
  const std::string segments = options_.store_path + "/segments";
  Recording run = RecordingOf(log.get());
  std::filesystem::remove_all(segments);
  std::ofstream(segments) << "a file in the way";
  run.Begin();
  const uint64_t open = run.BeginCall("request");
  EXPECT_NE(open, 0u);
  EXPECT_FALSE(log->Flush(In(50'000'000)));
  EXPECT_FALSE(log->Close(In(50'000'000)));
  log.reset();
  EXPECT_TRUE(Eventually(
      [&] { return !Rings().empty() && Rings()[0].find(".left") != std::string::npos; }));
  std::filesystem::remove(segments);
  log = Open();  // The same process: it may be long-lived.
  EXPECT_TRUE(Eventually([&] { return Segments().size() == 1; }));
  EXPECT_TRUE(log->Close(In(30 * kSecond)));
  const schema::RecordedRun loaded = Load(run.run());
  ASSERT_EQ(loaded.events.size(), 1u);
  EXPECT_EQ(loaded.events[0].request.bytes, "request");
  EXPECT_EQ(loaded.events[0].end_state, schema::EndState::kIncomplete);
  EXPECT_TRUE(Rings().empty());
}

TEST_F(EventLogTest, ALogThatIsNeverClosedLosesNothing) {
  Recording run = [&] {
    auto log = Open();
    Recording recording = RecordingOf(log.get());
    recording.Begin();
    for (int i = 0; i < 500; ++i) recording.Call("request", "response");
    return recording;
  }();
  EXPECT_TRUE(Eventually([&] {
    const auto rings = Rings();
    return rings.empty() || rings[0].find(".left") != std::string::npos;
  }));
  store::RecoverStore(options_.store_path);
  EXPECT_EQ(Load(run.run()).events.size(), 500u);
}

TEST_F(EventLogTest, ABodyBeyondTheRingTravelsInAFile) {
  options_.spill_budget_bytes = 8 << 20;
  auto log = Open();
  Recording run = RecordingOf(log.get());
  run.Begin();
  auto spill = log->NewSpill();
  ASSERT_NE(spill, nullptr);
  for (int i = 0; i < 5; ++i) spill->Append(std::string(1 << 20, static_cast<char>('a' + i)));
  auto too_much = log->NewSpill();
  for (int i = 0; i < 5; ++i) too_much->Append(std::string(1 << 20, 'z'));
  const store::SpilledBody whole = spill->Finish();
  const store::SpilledBody cut = too_much->Finish();
  EXPECT_EQ(whole.size, uint64_t{5} << 20);
  EXPECT_FALSE(whole.cut);
  EXPECT_EQ(cut.size, uint64_t{3} << 20);
  EXPECT_TRUE(cut.cut);
  EXPECT_EQ(cut.original_size, uint64_t{5} << 20);
  EXPECT_EQ(cut.original_digest, schema::HashBytes(std::string(5 << 20, 'z')));
  EXPECT_EQ(Dropped(log->Metrics(), DropReason::kOversize), 1u);
  run.EndCall(run.BeginCall("", whole), "", {}, cut);
  ASSERT_TRUE(log->Flush(In(30 * kSecond)));
  EXPECT_EQ(Rings().size(), 1u) << "the spill files are gone";
  auto discarded = log->NewSpill();
  discarded->Append(std::string(8 << 20, 'y'));
  EXPECT_FALSE(discarded->Finish().cut) << "the budget is free again";
  discarded->Discard();
  { auto unfinished = log->NewSpill(); }
  EXPECT_EQ(Rings().size(), 1u);
  EXPECT_TRUE(log->Close(In(30 * kSecond)));
  const schema::Event event = Load(run.run()).events.at(0);
  EXPECT_EQ(event.request.bytes.size(), size_t{5} << 20);
  EXPECT_TRUE(event.response.cut);
  EXPECT_EQ(GapCount(run.run(), "oversize"), 1u);
}

TEST_F(EventLogTest, SecretsAreInNoFileOnceFlushed) {
  options_.redaction.secrets = {"given-secret-value"};
  auto log = Open();
  log->LearnSecret("learned-secret-value");
  Recording run = RecordingOf(log.get());
  run.Begin("given-secret-value");
  run.Call("learned-secret-value", "given-secret-value");
  ASSERT_TRUE(log->Flush(In(30 * kSecond)));
  EXPECT_TRUE(store::FilesWith(disk_.path(), "-secret-value").empty());
  EXPECT_TRUE(log->Close(In(30 * kSecond)));
  EXPECT_TRUE(store::FilesWith(disk_.path(), "-secret-value").empty());
  EXPECT_TRUE(store::FilesWith(memory_.path(), "-secret-value").empty());
  EXPECT_EQ(Load(run.run()).run.input.bytes, "[redacted]");
}

TEST_F(EventLogTest, SignalsGoToTheHostsThreads) {
  auto log = Open();
  uint64_t blocked = 0;
  std::error_code ignored;
  const bool found = Eventually([&] {
    for (const auto& task : std::filesystem::directory_iterator("/proc/self/task", ignored)) {
      if (store::ReadBytes(task.path().string() + "/comm") != "reenact-writer\n") continue;
      const std::string status = store::ReadBytes(task.path().string() + "/status");
      blocked = std::stoull(status.substr(status.find("SigBlk:") + 7), nullptr, 16);
      return true;
    }
    return false;
  });
  ASSERT_TRUE(found);
  for (const int signal : {SIGTERM, SIGINT, SIGUSR1, SIGPROF, SIGXFSZ}) {
    EXPECT_NE(blocked & (uint64_t{1} << (signal - 1)), 0u) << signal;
  }
  EXPECT_TRUE(log->Close(In(30 * kSecond)));
}

TEST_F(EventLogTest, APlaceThatMayNotBeWrittenIsNamed) {
  options_.store_path = disk_.path() + "/file/store";
  std::ofstream(disk_.path() + "/file") << "x";
  std::string why;
  EXPECT_EQ(EventLog::Open(options_, &why), nullptr);
  EXPECT_NE(why.find(options_.store_path), std::string::npos) << why;
}

TEST_F(EventLogTest, ManyThreadsLoseNothing) {
  auto log = Open();
  std::vector<std::thread> threads;
  std::atomic<uint64_t> acknowledged{0};
  for (int t = 0; t < 6; ++t) {
    threads.emplace_back([&] {
      Recording run = RecordingOf(log.get());
      while (run.Begin() == 0) std::this_thread::yield();
      ++acknowledged;
      for (int i = 0; i < 400; ++i) {
        const uint64_t begin = run.BeginCall("request");
        if (begin == 0) continue;
        ++acknowledged;
        acknowledged += run.EndCall(begin, "response") != 0;
      }
      acknowledged += run.End() != 0;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(log->Close(In(60 * kSecond)));
  EXPECT_EQ(log->Metrics().stored, acknowledged);
  EXPECT_EQ(log->Metrics().accepted, acknowledged);
}

// cases/reports.md 59 and 80
TEST_F(EventLogTest, AChildLeavesTheParentsLogAloneAndMayOpenItsOwn) {
  auto log = Open();
  Recording run = RecordingOf(log.get());
  run.Begin();
  for (int i = 0; i < 250; ++i) run.Call("request", "response");
  const pid_t child = fork();
  if (child == 0) {
    const bool noticed = log->InForkedChild() && run.Read(1) == 0 && !log->Flush(In(kSecond)) &&
                         Dropped(log->Metrics(), DropReason::kForkChild) == 1;
    log.reset();
    std::string why;
    auto own = EventLog::Open(options_, &why);
    bool ok = noticed && own != nullptr;
    if (ok) {
      Recording in_child = RecordingOf(own.get());
      in_child.Begin();
      for (int i = 0; i < 10; ++i) ok = ok && in_child.Call("request", "response") != 0;
      ok = ok && own->Close(In(30 * kSecond)) && own->Metrics().stored == 21;
    }
    _exit(ok ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(log->Close(In(30 * kSecond)));
  EXPECT_EQ(log->Metrics().stored, 501u);
  EXPECT_EQ(Segments().size(), 2u);
  EXPECT_EQ(Load(run.run()).events.size(), 250u);
}

}  // namespace
}  // namespace reenact::recorder
