#include "store/ring/ring.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <fstream>
#include <map>
#include <sstream>
#include <thread>

#include "gtest/gtest.h"

#include "store/store_layout.h"
#include "tests/store/file_bytes.h"
#include "tests/store/memory_folder.h"

namespace reenact::store {
namespace {

using schema::RedactionPolicy;

RingIdentity Identity() {
  RingIdentity identity;
  const ProcessIdentity process = ThisProcess();
  identity.pid = process.pid;
  identity.process_start = process.start;
  identity.boot_id = process.boot_id;
  identity.store_path = "/tmp/reenact-ring-test";
  return identity;
}

class RingTest : public ::testing::Test {
 protected:
  std::unique_ptr<Ring> Make(size_t size = 1 << 20, const RedactionPolicy& policy = {}) {
    std::string why;
    std::unique_ptr<Ring> ring = Ring::Create(Identity(), policy, size, &why);
    EXPECT_NE(ring, nullptr) << why;
    return ring;
  }

  static uint64_t Append(Ring* ring, std::string_view payload, DropReason* reason = nullptr) {
    DropReason ignored;
    return ring->Append(1, &payload, 1, reason != nullptr ? reason : &ignored);
  }

  static std::vector<RingRecord> TakeAll(Ring* ring, bool everything = false) {
    std::vector<RingRecord> records;
    ring->Take(SIZE_MAX, SIZE_MAX, everything, &records);
    return records;
  }

  MemoryFolder folder_;
};

long PageFaultsOfThisThread() {
  rusage usage{};
  getrusage(RUSAGE_THREAD, &usage);
  return usage.ru_minflt;
}

TEST_F(RingTest, FillingItForTheFirstTimeFaultsInNoPage) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "the thread sanitizer notes every access in pages of its own, which fault";
#endif
  auto ring = Make(4 << 20);
  const std::string payload(1000, 'x');
  ASSERT_NE(Append(ring.get(), payload), 0u);
  const long before = PageFaultsOfThisThread();
  while (Append(ring.get(), payload) != 0) {
  }
  EXPECT_LT(PageFaultsOfThisThread() - before, 16) << "of " << (4 << 20) / 4096 << " pages";
}

TEST_F(RingTest, RecordsComeOutAsTheyWentIn) {
  auto ring = Make();
  const std::string_view pieces[] = {"head", "", "tail"};
  DropReason reason;
  EXPECT_EQ(ring->Append(5, pieces, 3, &reason), 1u);
  EXPECT_EQ(Append(ring.get(), ""), 2u);
  const auto records = TakeAll(ring.get());
  ASSERT_EQ(records.size(), 2u);
  EXPECT_EQ(records[0].sequence, 1u);
  EXPECT_EQ(records[0].kind, 5);
  EXPECT_EQ(records[0].payload, "headtail");
  EXPECT_EQ(records[1].payload, "");
  EXPECT_EQ(ring->counters().accepted, 2u);
  EXPECT_EQ(ring->TakenBelow(), 3u);
}

TEST_F(RingTest, SizesAroundAChunkAndAboveSurvive) {
  auto ring = Make(8 << 20);
  std::vector<std::string> sent;
  for (const size_t size :
       {8191u, 8192u, 8193u, 32679u, 32680u, 32681u, 32704u, 65360u, 65361u, 100u, 1u << 20, 7u}) {
    std::string payload(size, '\0');
    for (size_t i = 0; i < size; ++i) payload[i] = static_cast<char>(i * 31 + size);
    ASSERT_NE(Append(ring.get(), payload), 0u) << size;
    sent.push_back(payload);
  }
  const auto records = TakeAll(ring.get());
  ASSERT_EQ(records.size(), sent.size());
  for (size_t i = 0; i < sent.size(); ++i) EXPECT_TRUE(records[i].payload == sent[i]) << i;
}

TEST_F(RingTest, AFullRingDropsCountsAndWorksAgainAfterRelease) {
  auto ring = Make();
  const std::string payload(2000, 'x');
  uint64_t sent = 0;
  DropReason reason = DropReason::kNone;
  while (Append(ring.get(), payload, &reason) != 0) ++sent;
  EXPECT_EQ(reason, DropReason::kRingFull);
  ring->SetFullReason(DropReason::kDiskFull);
  EXPECT_EQ(Append(ring.get(), payload, &reason), 0u);
  EXPECT_EQ(reason, DropReason::kDiskFull);
  const auto losses = ring->UndeclaredLosses();
  ASSERT_EQ(losses.size(), 2u);
  EXPECT_EQ(losses[0].count, 1u);
  EXPECT_EQ(losses[0].bytes, payload.size());
  ring->DeclareLosses(losses);
  EXPECT_TRUE(ring->UndeclaredLosses().empty());
  // The lane keeps the chunk that it filled last until it needs another.
  const uint64_t in_a_chunk = kRingChunkSize / payload.size();
  for (int round = 0; round < 3; ++round) {
    EXPECT_GE(TakeAll(ring.get()).size(), sent - in_a_chunk);
    ring->Release();
    for (uint64_t i = 0; i < sent - in_a_chunk; ++i) ASSERT_NE(Append(ring.get(), payload), 0u);
  }
}

TEST_F(RingTest, ALargeRecordThatDoesNotFitGivesItsChunksBack) {
  auto ring = Make();
  const size_t before = ring->used_bytes();
  DropReason reason;
  EXPECT_EQ(Append(ring.get(), std::string(ring->capacity_bytes() - 1000, 'x'), &reason), 0u);
  EXPECT_EQ(ring->used_bytes(), before);
  EXPECT_EQ(Append(ring.get(), std::string(ring->capacity_bytes() + 1, 'x'), &reason), 0u);
  EXPECT_EQ(Append(ring.get(), "small"), 1u) << "dropped records use no sequence";
}

TEST_F(RingTest, RewindGivesTheSameRecordsAgain) {
  auto ring = Make();
  for (int i = 0; i < 10; ++i) Append(ring.get(), std::to_string(i));
  std::vector<RingRecord> records;
  ring->Take(4, SIZE_MAX, false, &records);
  EXPECT_EQ(ring->TakenBelow(), 5u);
  ring->Rewind();
  records.clear();
  ring->Take(SIZE_MAX, 2, false, &records);
  ASSERT_EQ(records.size(), 2u);
  EXPECT_EQ(records[0].payload, "0");
  ring->Release();
  EXPECT_EQ(TakeAll(ring.get()).size(), 8u);
}

TEST_F(RingTest, ReleasedBytesAreZeroed) {
  auto ring = Make();
  Append(ring.get(), "a-very-secret-word");
  EXPECT_NE(reenact::testing::FileBytes(ring->path()).find("a-very-secret-word"),
            std::string::npos);
  TakeAll(ring.get());
  EXPECT_NE(reenact::testing::FileBytes(ring->path()).find("a-very-secret-word"),
            std::string::npos);
  ring->Release();
  EXPECT_EQ(reenact::testing::FileBytes(ring->path()).find("a-very-secret-word"),
            std::string::npos);
}

TEST_F(RingTest, FileIsOursAloneAndGoesWithItsSpills) {
  RedactionPolicy policy;
  policy.secrets = {"hunter2-hunter2"};
  auto ring = Make(1 << 20, policy);

  struct stat status {};

  ASSERT_EQ(stat(ring->path().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
  const std::string spill = ring->SpillPath(7);
  std::ofstream(spill) << "body";
  EXPECT_TRUE(ring->IsSpill(spill));
  EXPECT_FALSE(ring->IsSpill("/etc/passwd"));
  EXPECT_FALSE(ring->IsSpill(spill + "/../x.spill"));
  const std::string copy = folder_.path() + "/hard-link";
  ASSERT_EQ(link(ring->path().c_str(), copy.c_str()), 0);
  ring->Remove();
  EXPECT_NE(access(spill.c_str(), F_OK), 0);
  const std::string bytes = reenact::testing::FileBytes(copy);
  EXPECT_EQ(bytes.find_first_not_of('\0'), std::string::npos) << "zeroed before it is unlinked";
}

TEST_F(RingTest, AFolderThatOthersMayEnterIsRefused) {
  const std::string ours = folder_.path() + "/reenact";
  ASSERT_EQ(mkdir(ours.c_str(), 0755), 0);
  ASSERT_EQ(chmod(ours.c_str(), 0755), 0);
  auto ring = Make();  // In the next folder of the list.
  EXPECT_NE(ring->path().rfind(ours, 0), 0u);
  ring->Remove();
}

TEST_F(RingTest, AForkedChildTouchesNothing) {
  auto ring = Make();
  Append(ring.get(), "parent");
  const pid_t child = fork();
  if (child == 0) {
    DropReason reason;
    bool ok = ring->InForkedChild() && Append(ring.get(), "child", &reason) == 0 &&
              reason == DropReason::kForkChild;
    ring->CountDrop(DropReason::kForkChild, 1);
    ring->LearnSecret("some-secret");
    ring.reset();
    _exit(ok ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_FALSE(ring->InForkedChild());
  EXPECT_EQ(TakeAll(ring.get()).size(), 1u);
}

TEST_F(RingTest, LeftoverOfADeadProcessHoldsAllButWhatWasReleased) {
  const pid_t child = fork();
  if (child == 0) {
    std::string why;
    RedactionPolicy policy;
    policy.secrets = {"given-secret"};
    auto ring = Ring::Create(Identity(), policy, 1 << 20, &why);
    for (int i = 0; i < 100; ++i) Append(ring.get(), "record " + std::to_string(i));
    Append(ring.get(), std::string(100000, 'y'));
    std::vector<RingRecord> records;
    ring->Take(10, SIZE_MAX, false, &records);
    ring->Release();
    ring->SetSegmentName("first.db");
    ring->SetSegmentName("second.db");
    for (int i = 0; i < 80; ++i) ring->LearnSecret("learned-secret-" + std::to_string(i));
    ring->CountDrop(DropReason::kOversize, 77);
    _exit(0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  const auto paths = Ring::FindFor(Identity().store_path);
  ASSERT_EQ(paths.size(), 1u);
  auto [state, ring, why] = Ring::OpenLeftover(paths[0]);
  ASSERT_EQ(state, RingFileState::kLeft) << why;
  EXPECT_EQ(ring->identity().segment_name, "second.db");
  EXPECT_EQ(ring->identity().store_path, Identity().store_path);
  ASSERT_EQ(ring->policy().secrets.size(), 65u);
  EXPECT_EQ(ring->policy().secrets.front(), "given-secret");
  EXPECT_EQ(ring->policy().secrets.back(), "learned-secret-79");
  const auto records = TakeAll(ring.get(), true);
  ASSERT_EQ(records.size(), 91u);
  EXPECT_EQ(records[0].payload, "record 10");
  EXPECT_EQ(records[0].sequence, 11u);
  EXPECT_EQ(records[90].payload, std::string(100000, 'y'));
  ASSERT_EQ(ring->UndeclaredLosses().size(), 1u);
  EXPECT_EQ(ring->UndeclaredLosses()[0].bytes, 77u);
  EXPECT_EQ(Ring::OpenLeftover(paths[0]).state, RingFileState::kInUse) << "one recovery at a time";
  ring->Remove();
  EXPECT_TRUE(Ring::FindFor(Identity().store_path).empty());
}

TEST_F(RingTest, ALivingRingIsNotFoundByItsProcessUntilItLetsGo) {
  auto ring = Make();
  Append(ring.get(), "left behind");
  EXPECT_TRUE(Ring::FindFor(Identity().store_path).empty());
  ring->LetGo();
  ring.reset();
  const auto paths = Ring::FindFor(Identity().store_path);
  ASSERT_EQ(paths.size(), 1u);
  auto [state, left, why] = Ring::OpenLeftover(paths[0]);
  ASSERT_EQ(state, RingFileState::kLeft) << why;
  EXPECT_EQ(TakeAll(left.get(), true).size(), 1u);
}

TEST_F(RingTest, ALivingRingOfAnotherProcessIsRefused) {
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  int done[2];
  ASSERT_EQ(pipe(done), 0);
  const pid_t child = fork();
  if (child == 0) {
    std::string why;
    auto ring = Ring::Create(Identity(), {}, 1 << 20, &why);
    char byte = 'r';
    if (write(ready[1], &byte, 1) != 1 || read(done[0], &byte, 1) != 1) _exit(1);
    _exit(0);
  }
  char byte = 0;
  ASSERT_EQ(read(ready[0], &byte, 1), 1);
  const auto paths = Ring::FindFor(Identity().store_path);
  ASSERT_EQ(paths.size(), 1u);
  EXPECT_EQ(Ring::OpenLeftover(paths[0]).state, RingFileState::kInUse);
  ASSERT_EQ(write(done[1], &byte, 1), 1);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  for (const int fd : {ready[0], ready[1], done[0], done[1]}) close(fd);
}

TEST_F(RingTest, GarbageIsNoRing) {
  auto ring = Make();
  ring->LetGo();
  ring.reset();
  const std::string path = Ring::FindFor(Identity().store_path).at(0);
  for (const size_t offset : {0u, 8u, 12u, 16u, 24u, 32u, 40u}) {
    std::string bytes = reenact::testing::FileBytes(path);
    bytes[offset + 3] = '\x7f';
    const std::string damaged = path + ".damaged";
    std::ofstream(damaged, std::ios::binary) << bytes;
    const LeftoverRing found = Ring::OpenLeftover(damaged);
    EXPECT_EQ(found.state, RingFileState::kUnreadable) << offset;
    EXPECT_FALSE(found.why.empty());
    Ring::RemoveNeverOpened(damaged);
    EXPECT_TRUE(std::filesystem::exists(damaged)) << "what cannot be read may hold records";
  }
}

// Killed before its file had its size, and at any later moment before the magic was written.
TEST_F(RingTest, AFileThatNeverBecameARingIsRemoved) {
  for (const size_t size : {0u, 100u, 4096u, 1u << 20}) {
    auto ring = Make();
    ring->LetGo();
    ring.reset();
    const std::string path = Ring::FindFor(Identity().store_path).at(0);
    std::ofstream(path, std::ios::binary | std::ios::trunc) << std::string(size, '\0');
    EXPECT_EQ(Ring::OpenLeftover(path).state, RingFileState::kNeverOpened) << size;
    Ring::RemoveNeverOpened(path);
    EXPECT_TRUE(Ring::FindFor(Identity().store_path).empty()) << size;
  }
}

TEST_F(RingTest, OverwrittenMemoryLosesItsChunkAndSaysSo) {
  auto ring = Make();
  for (int i = 0; i < 100; ++i) Append(ring.get(), std::string(2000, 'a'));
  ring->LetGo();
  ring.reset();
  const std::string path = Ring::FindFor(Identity().store_path).at(0);
  std::string bytes = reenact::testing::FileBytes(path);
  const size_t victim = bytes.find(std::string(2000, 'a')) - 24;
  for (size_t i = 8; i < 12; ++i) bytes[victim + i] = '\xff';  // The size of the first record.
  std::ofstream(path, std::ios::binary) << bytes;
  auto [state, left, why] = Ring::OpenLeftover(path);
  ASSERT_EQ(state, RingFileState::kLeft) << why;
  const auto records = TakeAll(left.get(), true);
  EXPECT_GT(records.size(), 50u);
  EXPECT_LT(records.size(), 100u);
  EXPECT_EQ(left->damaged_chunks(), 1u);
}

// A record's number is passed on to another thread, which appends a second one that names it.
TEST_F(RingTest, AnEndNeverComesBeforeItsBeginning) {
  auto ring = Make(4 << 20);
  constexpr int kPairs = 1500;
  std::atomic<uint64_t> begun[4] = {};
  std::atomic<int> running{8};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < kPairs; ++i) {
        uint64_t sequence = 0;
        while ((sequence = Append(ring.get(), "begin")) == 0) std::this_thread::yield();
        uint64_t expected = 0;
        while (!begun[t].compare_exchange_weak(expected, sequence)) {
          expected = 0;
          std::this_thread::yield();
        }
      }
      --running;
    });
    threads.emplace_back([&, t] {
      for (int i = 0; i < kPairs; ++i) {
        uint64_t sequence = 0;
        while ((sequence = begun[t].exchange(0)) == 0) std::this_thread::yield();
        const std::string payload(reinterpret_cast<const char*>(&sequence), 8);
        while (Append(ring.get(), payload) == 0) std::this_thread::yield();
      }
      --running;
    });
  }
  std::map<uint64_t, bool> seen;
  uint64_t ends = 0;
  for (bool last = false; !last;) {
    last = running == 0;
    for (;;) {
      std::vector<RingRecord> records;
      ring->Take(64, SIZE_MAX, false, &records);
      if (records.empty()) break;
      for (size_t i = 0; i < records.size(); ++i) {
        EXPECT_TRUE(seen.emplace(records[i].sequence, true).second);
        if (i > 0) {
          EXPECT_LT(records[i - 1].sequence, records[i].sequence);
        }
        if (records[i].payload == "begin") continue;
        uint64_t begin = 0;
        std::memcpy(&begin, records[i].payload.data(), 8);
        EXPECT_TRUE(seen.count(begin)) << "end before beginning";
        ++ends;
      }
      ring->Release();
    }
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(ends, 4u * kPairs);
  EXPECT_EQ(ring->counters().accepted, 8u * kPairs);
}

// Memory that stops whoever reads it, until the test opens it: SIGSEGV is answered by waiting.
class Trap {
 public:
  Trap() {
    page_ = mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    EXPECT_EQ(pipe(gate_), 0);
    gate = gate_[0];
    reached = false;

    struct sigaction action {};

    action.sa_handler = [](int) {
      reached = true;
      char byte;
      while (read(gate, &byte, 1) != 1) {
      }
      if (byte == 'k') syscall(SYS_exit, 0);  // This thread only.
    };
    sigaction(SIGSEGV, &action, &before_);
  }

  ~Trap() {
    sigaction(SIGSEGV, &before_, nullptr);
    munmap(page_, 4096);
    for (const int fd : gate_) close(fd);
  }

  std::string_view bytes() const { return {static_cast<const char*>(page_), 4096}; }

  static void AwaitVictim() {
    while (!reached) std::this_thread::yield();
  }

  void Open() {
    mprotect(page_, 4096, PROT_READ);
    EXPECT_EQ(write(gate_[1], "o", 1), 1);
  }

  void KillVictim() { EXPECT_EQ(write(gate_[1], "k", 1), 1); }

 private:
  static inline std::atomic<int> gate;
  static inline std::atomic<bool> reached;
  void* page_;
  int gate_[2];

  struct sigaction before_ {};
};

TEST_F(RingTest, AStoppedThreadHoldsUpNobody) {
  auto ring = Make();
  Trap trap;
  std::atomic<uint64_t> victims_sequence{0};
  std::thread victim([&] { victims_sequence = Append(ring.get(), trap.bytes()); });
  trap.AwaitVictim();  // It has a lane, a chunk and a sequence, and copies.
  for (int i = 0; i < 2000; ++i) {
    const uint64_t sequence = Append(ring.get(), std::string(1000, 'x'));
    ASSERT_GT(sequence, 1u);
    const auto records = TakeAll(ring.get());
    ASSERT_EQ(records.size(), 1u);
    EXPECT_EQ(records[0].sequence, sequence);
    ring->Release();
  }
  trap.Open();
  victim.join();
  EXPECT_EQ(victims_sequence, 1u);
  const auto records = TakeAll(ring.get());
  ASSERT_EQ(records.size(), 1u) << "late, and not lost";
  EXPECT_EQ(records[0].sequence, 1u);
  EXPECT_EQ(records[0].payload, trap.bytes());
}

TEST_F(RingTest, AThreadKilledInMidWriteLosesItsOwnRecordOnly) {
  const pid_t child = fork();
  if (child == 0) {
    std::string why;
    auto ring = Ring::Create(Identity(), {}, 1 << 20, &why);
    Append(ring.get(), "before");
    Trap trap;
    for (const size_t size : {size_t{100}, size_t{20000}}) {
      // The second victim dies between the parts of its record.
      std::thread([&ring, &trap, size] {
        const std::string whole(size, 'v');
        const std::string_view pieces[] = {whole, trap.bytes()};
        DropReason reason;
        ring->Append(1, pieces, 2, &reason);
      }).detach();
      trap.AwaitVictim();
      trap.KillVictim();
    }
    for (int i = 0; i < 500; ++i) {
      if (Append(ring.get(), "after") == 0) _exit(1);
    }
    _exit(0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_EQ(status, 0);
  auto [state, ring, why] = Ring::OpenLeftover(Ring::FindFor(Identity().store_path).at(0));
  ASSERT_EQ(state, RingFileState::kLeft) << why;
  const auto records = TakeAll(ring.get(), true);
  ASSERT_EQ(records.size(), 501u);
  EXPECT_EQ(records[0].payload, "before");
  EXPECT_EQ(records[500].payload, "after");
  EXPECT_EQ(ring->damaged_chunks(), 0u);
}

TEST_F(RingTest, SequencesAreNeverReusedAndNeverZero) {
  auto ring = Make();
  uint64_t last = 0;
  for (int i = 0; i < 5000; ++i) {
    const uint64_t sequence = Append(ring.get(), std::string(500, 'z'));
    if (sequence != 0) {
      EXPECT_EQ(sequence, last + 1);
      last = sequence;
    }
    if (i % 700 == 0) {
      TakeAll(ring.get());
      ring->Release();
    }
  }
}

TEST_F(RingTest, AVolatileRingIsAQueueWithoutAFile) {
  auto ring = Ring::CreateVolatile(Identity(), {}, 1 << 20);
  ASSERT_NE(ring, nullptr);
  EXPECT_FALSE(ring->durable());
  EXPECT_TRUE(ring->SpillPath(1).empty());
  Append(ring.get(), "x");
  EXPECT_EQ(TakeAll(ring.get()).size(), 1u);
  ring->Remove();
}

}  // namespace
}  // namespace reenact::store
