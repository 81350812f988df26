// A process that records at full speed is killed at a random moment, again and again. What it was
// told is recorded must be there afterwards. cases/replay.md 21
//
// REENACT_LONG=1: 1,000 rounds instead of 100. REENACT_SEED: the moments of an earlier run.

#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <random>
#include <thread>

#include "gtest/gtest.h"

#include "recorder/event_log.h"
#include "store/format/sqlite.h"
#include "store/reader/store_reader.h"
#include "store/reader/verify.h"
#include "store/writer/drain.h"
#include "tests/store/memory_folder.h"
#include "tests/store/recording.h"

namespace reenact::recorder {
namespace {

constexpr int kThreads = 3;
constexpr char kSecret[] = "hunter2-is-no-password";

// What the child was told, in memory that it shares with the test.
struct Acknowledged {
  struct OfThread {
    schema::Ulid run;
    std::atomic<bool> begun;
    std::atomic<uint64_t> calls;     // Begun: their request is "call <n>".
    std::atomic<uint64_t> finished;  // Of those.
    std::atomic<uint64_t> readings;
  } threads[kThreads];

  std::atomic<int> running;
};

void Record(EventLog* log, Acknowledged::OfThread* told) {
  store::Recording run([log](store::RecordKind kind, std::string_view head, std::string_view tail) {
    const std::string_view pieces[] = {head, tail};
    store::DropReason reason;
    return log->Append(kind, pieces, 2, &reason);
  });
  told->run = run.run();
  while (run.Begin(kSecret) == 0) std::this_thread::yield();
  told->begun = true;
  const std::string padding(1500, 'p');
  for (uint64_t i = 0;; ++i) {
    const std::string text = "call " + std::to_string(i) + " ";
    uint64_t begin = 0;
    while ((begin = run.BeginCall(text + padding)) == 0) std::this_thread::yield();
    told->calls = i + 1;
    // Every hundredth answer is larger than a chunk of the ring.
    const std::string answer = text + kSecret + (i % 100 == 99 ? std::string(90000, 'a') : padding);
    while (run.EndCall(begin, answer) == 0) std::this_thread::yield();
    told->finished = i + 1;
    while (run.Read(i) == 0) std::this_thread::yield();
    told->readings = i + 1;
  }
}

[[noreturn]] void RunChild(const EventLogOptions& options, Acknowledged* told) {
  std::string why;
  std::unique_ptr<EventLog> log = EventLog::Open(options, &why);
  if (log == nullptr) _exit(1);
  std::vector<std::thread> threads;
  for (Acknowledged::OfThread& thread : told->threads) {
    threads.emplace_back([&log, &thread] { Record(log.get(), &thread); });
  }
  told->running = 1;
  for (std::thread& thread : threads) thread.join();
  _exit(1);
}

class KillWriterTest : public ::testing::Test {
 protected:
  KillWriterTest() {
    options_.store_path = disk_.path() + "/store";
    options_.ring_bytes = 4 << 20;
    options_.segment_max_bytes = 2 << 20;  // Several rotations a round.
    options_.redaction.secrets = {kSecret};
    options_.retention.min_free_bytes = 0;
    options_.retention.min_free_percent = 0;
    void* memory = mmap(nullptr, sizeof(Acknowledged), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    told_ = new (memory) Acknowledged();
  }

  ~KillWriterTest() override { munmap(told_, sizeof(Acknowledged)); }

  void KillAfter(std::chrono::microseconds delay) {
    told_->~Acknowledged();
    new (told_) Acknowledged();
    const pid_t child = fork();
    if (child == 0) RunChild(options_, told_);
    while (told_->running == 0) std::this_thread::yield();
    std::this_thread::sleep_for(delay);  // The random moment, not a synchronisation.
    kill(child, SIGKILL);
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status)) << "the child ended by itself: " << status;
  }

  // Counted from fork: most delays of a few milliseconds end it while it opens its recorder.
  void KillWhileOpening(std::chrono::microseconds delay) {
    const pid_t child = fork();
    if (child == 0) {
      std::string why;
      const std::unique_ptr<EventLog> log = EventLog::Open(options_, &why);
      told_->running = 1;
      pause();
      _exit(1);
    }
    std::this_thread::sleep_for(delay);  // The random moment, not a synchronisation.
    kill(child, SIGKILL);
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
  }

  // Recovery itself may be killed; the next one goes on.
  void KillRecoveryAfter(std::chrono::microseconds delay) {
    const pid_t child = fork();
    if (child == 0) {
      store::RecoverStore(options_.store_path);
      _exit(0);
    }
    std::this_thread::sleep_for(delay);
    kill(child, SIGKILL);
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
  }

  void CheckRun(store::StoreReader* reader, const Acknowledged::OfThread& told) {
    if (!told.begun) return;
    auto loaded = reader->LoadRun(told.run, {});
    ASSERT_TRUE(loaded.ok()) << loaded.status();
    EXPECT_EQ(loaded->state, schema::EndState::kIncomplete);
    EXPECT_EQ(loaded->run.input.bytes, "[redacted]");
    uint64_t calls = 0;
    uint64_t finished = 0;
    uint64_t readings = 0;
    for (const schema::Event& event : loaded->events) {
      if (event.boundary == schema::Boundary::kClock) {
        EXPECT_EQ(event.value, readings++);
        continue;
      }
      const std::string text = "call " + std::to_string(calls++) + " ";
      EXPECT_EQ(event.request.bytes.substr(0, text.size()), text);
      if (event.end_state == schema::EndState::kIncomplete) {
        EXPECT_TRUE(event.response.bytes.empty());
        continue;
      }
      ++finished;
      const std::string answer = text + "[redacted]";
      EXPECT_EQ(event.response.bytes.substr(0, answer.size()), answer);
    }
    EXPECT_GE(calls, told.calls);
    EXPECT_LE(calls, told.calls + 1) << "one more may be stored than the caller heard of";
    EXPECT_GE(finished, told.finished);
    EXPECT_GE(readings, told.readings);
  }

  void CheckIntegrity() {
    const store::StoreLayout layout{options_.store_path};
    for (const std::string& name : store::ListSegments(layout)) {
      store::sqlite::Connection connection;
      ASSERT_EQ(connection.Open(layout.segments() + "/" + name, store::sqlite::OpenMode::kReadOnly),
                store::sqlite::Failure::kNone);
      std::string answer;
      EXPECT_EQ(connection.QueryText("PRAGMA integrity_check", &answer),
                store::sqlite::Failure::kNone);
      EXPECT_EQ(answer, "ok") << name;
    }
    const auto report = store::VerifyStore(options_.store_path, nullptr);
    ASSERT_TRUE(report.ok()) << report.status();
    for (const store::VerifyFinding& finding : report->findings) {
      ADD_FAILURE() << finding.segment << ": " << finding.record << ": " << finding.problem;
    }
  }

  store::MemoryFolder memory_;
  store::DiskFolder disk_;
  EventLogOptions options_;
  Acknowledged* told_;
};

TEST_F(KillWriterTest, WhatWasAcknowledgedIsStored) {
  const bool is_long = getenv("REENACT_LONG") != nullptr;
  const char* given = getenv("REENACT_SEED");
  const auto seed = given != nullptr ? static_cast<uint32_t>(atoll(given)) : std::random_device{}();
  SCOPED_TRACE("REENACT_SEED=" + std::to_string(seed));
  std::mt19937 random(seed);
  uint64_t acknowledged = 0;
  for (int round = 0; round < (is_long ? 1000 : 100); ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    std::filesystem::remove_all(options_.store_path);
    KillAfter(std::chrono::microseconds(std::uniform_int_distribution<>(0, 150'000)(random)));
    if (round % 2 == 1) {
      KillRecoveryAfter(
          std::chrono::microseconds(std::uniform_int_distribution<>(0, 50'000)(random)));
    }
    const store::RecoveryResult result = store::RecoverStore(options_.store_path);
    EXPECT_EQ(result.problems, std::vector<std::string>());
    EXPECT_TRUE(std::filesystem::is_empty(memory_.rings()));
    EXPECT_EQ(store::FilesWith(disk_.path(), kSecret), std::vector<std::string>());
    auto reader = store::StoreReader::Open(options_.store_path);
    ASSERT_TRUE(reader.ok()) << reader.status();
    for (const Acknowledged::OfThread& thread : told_->threads) {
      CheckRun(reader->get(), thread);
      acknowledged += thread.calls;
    }
    CheckIntegrity();
    if (HasFailure()) break;
  }
  EXPECT_GT(acknowledged, 0u) << "a child that records nothing proves nothing";
}

TEST_F(KillWriterTest, AKillWhileARecorderOpensLeavesNothingBehind) {
  std::mt19937 random(std::random_device{}());
  bool opening = false;
  for (int round = 0; round < 60; ++round) {
    told_->running = 0;
    const std::chrono::microseconds delay(std::uniform_int_distribution<>(0, 12'000)(random));
    KillWhileOpening(delay);
    opening = opening || told_->running == 0;
    const store::RecoveryResult result = store::RecoverStore(options_.store_path);
    EXPECT_EQ(result.problems, std::vector<std::string>()) << delay.count();
    EXPECT_EQ(result.records, 0) << delay.count();
    std::error_code none;
    const bool empty = std::filesystem::is_empty(memory_.rings(), none);
    EXPECT_TRUE(none || empty) << delay.count();
  }
  EXPECT_TRUE(opening) << "nothing was killed in time";
}

}  // namespace
}  // namespace reenact::recorder
