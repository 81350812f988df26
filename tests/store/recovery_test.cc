#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

#include "gtest/gtest.h"

#include "store/reader/store_reader.h"
#include "store/writer/drain.h"
#include "tests/store/memory_folder.h"
#include "tests/store/recording.h"

namespace reenact::store {
namespace {

AppendRecord AppendTo(Ring* ring) {
  return [ring](RecordKind kind, std::string_view head, std::string_view tail) {
    const std::string_view pieces[] = {head, tail};
    DropReason reason;
    return ring->Append(static_cast<uint8_t>(kind), pieces, 2, &reason);
  };
}

class RecoveryTest : public ::testing::Test {
 protected:
  RecoveryTest() {
    layout_.root = disk_.path() + "/store";
    std::string why;
    EXPECT_TRUE(PrepareStore(layout_, &key_, &why)) << why;
  }

  std::unique_ptr<SegmentWriter> NewSegment(std::string* name) {
    SegmentOptions options;
    options.segment_id = NewUlid();
    options.path = layout_.segment(options.segment_id);
    options.store_key = key_;
    *name = schema::ToString(options.segment_id) + ".db";
    std::unique_ptr<SegmentWriter> segment;
    std::string why;
    EXPECT_EQ(SegmentWriter::Open(options, &segment, &why), WriteCode::kOk) << why;
    return segment;
  }

  std::unique_ptr<Ring> NewRing(const schema::RedactionPolicy& policy = {}) {
    const ProcessIdentity process = ThisProcess();
    std::string why;
    return Ring::Create({process.pid, process.start, process.boot_id, layout_.root, ""}, policy,
                        1 << 20, &why);
  }

  // Runs `body` in a child that dies without any clean-up.
  template <typename Body>
  void InDyingProcess(Body body) {
    const pid_t child = fork();
    if (child == 0) {
      body();
      _exit(0);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_EQ(status, 0);
  }

  // Half of it drained into a segment, half still in the ring.
  void DieInTheMiddle(const Recording& names) {
    InDyingProcess([&] {
      schema::RedactionPolicy policy;
      policy.secrets = {"hunter2-is-no-password"};
      auto ring = NewRing(policy);
      std::string name;
      auto segment = NewSegment(&name);
      Drain drain(ring.get());
      Recording run = names;
      run.SetAppend(AppendTo(ring.get()));
      run.Begin();
      run.Call("first", "first");
      const uint64_t ends_later = run.BeginCall("second");
      run.BeginCall("never ends");
      if (drain.CarryOver(segment.get()) != WriteCode::kOk) _exit(1);
      ring->SetSegmentName(name);
      while (drain.HasWork(segment.get())) {
        if (drain.Batch(segment.get(), false).code != WriteCode::kOk) _exit(1);
      }
      run.EndCall(ends_later, "second, with hunter2-is-no-password");
      run.Call("third", "third");
      SpilledBody spilled{.path = ring->SpillPath(1), .size = 5};
      std::ofstream(spilled.path) << "large";
      run.EndCall(run.BeginCall("fourth"), "", {}, spilled);
      std::ofstream(ring->SpillPath(2)) << "its record was never written";
      ring->CountDrop(DropReason::kRingFull, 10);
    });
  }

  schema::RecordedRun Load(const schema::Ulid& run) {
    auto reader = StoreReader::Open(layout_.root);
    EXPECT_TRUE(reader.ok()) << reader.status();
    if (!reader.ok()) return {};
    auto loaded = (*reader)->LoadRun(run, {});
    EXPECT_TRUE(loaded.ok()) << loaded.status();
    return loaded.ok() ? *std::move(loaded) : schema::RecordedRun{};
  }

  MemoryFolder memory_;
  DiskFolder disk_;
  StoreLayout layout_;
  std::string key_;
};

TEST_F(RecoveryTest, AcknowledgedRecordsOfADeadProcessAreStoredOnce) {
  const Recording run(nullptr);
  DieInTheMiddle(run);
  const RecoveryResult result = RecoverStore(layout_.root);
  EXPECT_EQ(result.problems, std::vector<std::string>());
  EXPECT_EQ(result.rings, 1);
  EXPECT_EQ(result.records, 5);
  EXPECT_EQ(result.incomplete_calls, 1);
  EXPECT_EQ(result.recovered_segments, ListSegments(layout_));
  const schema::RecordedRun loaded = Load(run.run());
  ASSERT_EQ(loaded.events.size(), 5u);
  EXPECT_EQ(loaded.events[0].response.bytes, "first");
  EXPECT_EQ(loaded.events[1].request.bytes, "second");
  EXPECT_EQ(loaded.events[1].response.bytes, "second, with [redacted]");
  EXPECT_EQ(loaded.events[2].request.bytes, "never ends");
  EXPECT_EQ(loaded.events[2].end_state, schema::EndState::kIncomplete);
  EXPECT_EQ(loaded.events[3].response.bytes, "third");
  EXPECT_EQ(loaded.events[4].response.bytes, "large");
  EXPECT_EQ(loaded.state, schema::EndState::kIncomplete);
  ASSERT_EQ(loaded.gaps.size(), 1u);
  EXPECT_EQ(loaded.gaps[0].reason, "ring_full");
  EXPECT_TRUE(std::filesystem::is_empty(memory_.rings())) << "ring and spill files are gone";
  EXPECT_TRUE(FilesWith(disk_.path(), "hunter2").empty());
  const RecoveryResult again = RecoverStore(layout_.root);
  EXPECT_EQ(again.rings, 0);
  EXPECT_TRUE(again.recovered_segments.empty());
}

TEST_F(RecoveryTest, ManyRecoveriesAtOnceRecoverOnce) {
  for (int round = 0; round < 5; ++round) {
    const Recording run(nullptr);
    DieInTheMiddle(run);
    RecoveryResult results[4];
    std::vector<std::thread> threads;
    for (RecoveryResult& result : results) {
      threads.emplace_back([&] { result = RecoverStore(layout_.root); });
    }
    for (std::thread& thread : threads) thread.join();
    int64_t rings = 0;
    for (const RecoveryResult& result : results) {
      rings += result.rings;
      EXPECT_EQ(result.problems, std::vector<std::string>());
    }
    EXPECT_EQ(rings, 1);
    EXPECT_EQ(Load(run.run()).events.size(), 5u);
  }
}

TEST_F(RecoveryTest, ALivingProcessIsLeftAlone) {
  auto ring = NewRing();
  std::string name;
  auto segment = NewSegment(&name);
  ring->SetSegmentName(name);
  Recording run(AppendTo(ring.get()));
  run.Begin();
  // From another process, which cannot know the ring from its own memory.
  InDyingProcess([&] {
    const RecoveryResult result = RecoverStore(layout_.root);
    if (result.rings != 0 || !result.recovered_segments.empty() || !result.problems.empty()) {
      _exit(1);
    }
  });
  EXPECT_EQ(RecoverStore(layout_.root).rings, 0);
  EXPECT_EQ(segment->AddGap({{1, 1}, "ring_full", 1, 1, 0, 0}), WriteCode::kOk);
  EXPECT_EQ(segment->Commit(), WriteCode::kOk);
  ring->Remove();
}

TEST_F(RecoveryTest, RecordsOfALostSegmentAreNotLost) {
  const Recording run(nullptr);
  DieInTheMiddle(run);
  for (const std::string& name : ListSegments(layout_)) {
    for (const char* suffix : {"", "-wal", "-shm"}) {
      std::filesystem::remove(layout_.segments() + "/" + name + suffix);
    }
  }
  const RecoveryResult result = RecoverStore(layout_.root);
  EXPECT_EQ(result.problems, std::vector<std::string>());
  const schema::RecordedRun loaded = Load(run.run());
  ASSERT_EQ(loaded.events.size(), 2u) << "third and fourth; the beginning of the second is lost";
  uint64_t unpaired = 0;
  for (const schema::Gap& gap : loaded.gaps) unpaired += gap.reason == "unpaired" ? gap.count : 0;
  EXPECT_EQ(unpaired, 1u);
}

TEST_F(RecoveryTest, ASealThatWasCutShortIsFinishedAndItsRingEmptiedElsewhere) {
  const Recording run(nullptr);
  DieInTheMiddle(run);
  InDyingProcess([&] {
    SegmentOptions options;
    options.path = layout_.segments() + "/" + ListSegments(layout_).at(0);
    options.open = SegmentOptions::Open::kReopen;
    options.store_key = key_;
    std::unique_ptr<SegmentWriter> segment;
    std::string why;
    if (SegmentWriter::Open(options, &segment, &why) != WriteCode::kOk) _exit(1);
    if (segment->Seal(layout_.manifest()) != WriteCode::kOk) _exit(1);
    // The last step had not been taken yet.
    if (chmod(options.path.c_str(), 0600) != 0) _exit(1);
  });
  const RecoveryResult result = RecoverStore(layout_.root);
  EXPECT_EQ(result.problems, std::vector<std::string>());
  EXPECT_EQ(result.rings, 1);
  EXPECT_EQ(ListSegments(layout_).size(), 2u);
  for (const std::string& name : ListSegments(layout_)) {
    struct stat status {};

    ASSERT_EQ(stat((layout_.segments() + "/" + name).c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777, 0444u) << name;
  }
  uint64_t events = 0;
  for (const schema::Event& event : Load(run.run()).events) {
    events += event.end_state == schema::EndState::kComplete;
  }
  EXPECT_EQ(events, 3u) << "first; third and fourth, whose run was only in the sealed segment";
}

TEST_F(RecoveryTest, ASegmentWithoutARingIsSealed) {
  std::string name;
  InDyingProcess([&] {
    auto segment = NewSegment(&name);
    Recording run(nullptr);
    schema::Run row;
    row.id = run.run();
    if (segment->AddRun(row) != WriteCode::kOk || segment->Commit() != WriteCode::kOk) _exit(1);
  });
  const RecoveryResult result = RecoverStore(layout_.root);
  EXPECT_EQ(result.recovered_segments, ListSegments(layout_));
  EXPECT_EQ(result.recovered_segments.size(), 1u);
}

TEST_F(RecoveryTest, ARingThatCannotBeReadIsKeptAndNamed) {
  InDyingProcess([&] { NewRing(); });
  const std::vector<std::string> rings = Ring::FindFor(layout_.root);
  ASSERT_EQ(rings.size(), 1u);
  std::ofstream(rings[0], std::ios::binary | std::ios::trunc) << "REENRINGfrom the future";
  const RecoveryResult result = RecoverStore(layout_.root);
  ASSERT_EQ(result.problems.size(), 1u);
  EXPECT_NE(result.problems[0].find(rings[0]), std::string::npos);
  EXPECT_EQ(access(rings[0].c_str(), F_OK), 0);
}

TEST_F(RecoveryTest, ARingOfAnotherStoreIsLeftAlone) {
  StoreLayout other{disk_.path() + "/other"};
  std::string why;
  std::string key;
  ASSERT_TRUE(PrepareStore(other, &key, &why));
  const Recording run(nullptr);
  DieInTheMiddle(run);
  EXPECT_EQ(RecoverStore(other.root).rings, 0);
  EXPECT_EQ(RecoverStore(layout_.root).rings, 1);
}

TEST_F(RecoveryTest, AnEmptyRingJustGoes) {
  InDyingProcess([&] { NewRing(); });
  EXPECT_EQ(RecoverStore(layout_.root).rings, 1);
  EXPECT_TRUE(ListSegments(layout_).empty());
  EXPECT_TRUE(std::filesystem::is_empty(memory_.rings()));
}

}  // namespace
}  // namespace reenact::store
