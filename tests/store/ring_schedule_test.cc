// The ring under a scheduler that a seed drives: producers, the consumer, and a kill at any step.
//
// REENACT_LONG=1: more seeds. REENACT_SEED: the one that failed.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "gtest/gtest.h"

#include "store/ring/ring.h"
#include "store/store_layout.h"
#include "tests/store/memory_folder.h"
#include "tests/support/interleaving.h"

namespace reenact::store {
namespace {

constexpr int kProducers = 3;
constexpr int kRecords = 12;  // Of each producer.

// Whole in a chunk, in parts, and larger than a chunk. The smallest ring has eight of 32 KiB.
constexpr size_t kSizes[] = {40, 40, 700, 5000, 9000, 40'000};

RingIdentity Identity() {
  RingIdentity identity;
  const ProcessIdentity process = ThisProcess();
  identity.pid = process.pid;
  identity.process_start = process.start;
  identity.boot_id = process.boot_id;
  identity.store_path = "/tmp/reenact-ring-schedule-test";
  return identity;
}

// One execution. Its own state needs no atomics: steps are taken by the ring's code only.
class Execution {
 public:
  explicit Execution(uint64_t seed) : sizes_(seed), interleaving_(seed) {
    std::string why;
    ring_ = Ring::Create(Identity(), {}, 1, &why);
    EXPECT_NE(ring_, nullptr) << why;
  }

  ~Execution() { ring_->Remove(); }

  Execution(const Execution&) = delete;
  Execution& operator=(const Execution&) = delete;

  void Run(uint32_t kill_period) {
    for (int p = 0; p < kProducers; ++p) {
      interleaving_.Add([this, p] { Produce(p); });
    }
    interleaving_.Add([this] { Consume(); });
    interleaving_.Observe(kill_period, [this] { RecoverFromHere(); });
    steps_ = interleaving_.Run();
    Commit(SIZE_MAX);
    EXPECT_EQ(stored_, acknowledged_);
    EXPECT_EQ(ring_->damaged_chunks(), 0u);
    const RingCounters counters = ring_->counters();
    EXPECT_EQ(counters.accepted, acknowledged_.size());
    EXPECT_EQ(counters.dropped[static_cast<size_t>(DropReason::kRingFull)], dropped_);
  }

  uint64_t steps() const { return steps_; }

  uint64_t kills() const { return kills_; }

  uint64_t dropped() const { return dropped_; }

 private:
  void Produce(int producer) {
    for (int i = 0; i < kRecords; ++i) {
      // It names one that was acknowledged before it began: the consumer must have seen that first.
      const uint64_t before = latest_;
      std::string payload = std::to_string(before) + " after, of " + std::to_string(producer) +
                            " number " + std::to_string(i) + " ";
      payload.resize(kSizes[sizes_() % std::size(kSizes)], static_cast<char>('a' + i));
      const std::string_view piece = payload;
      appending_.insert(payload);
      DropReason reason = DropReason::kNone;
      const uint64_t sequence = ring_->Append(1, &piece, 1, &reason);
      if (sequence == 0) {
        ++dropped_;
        continue;
      }
      EXPECT_TRUE(acknowledged_.emplace(sequence, payload).second) << "a sequence given twice";
      latest_ = sequence;
    }
    ++ended_;
  }

  void Consume() {
    while (ended_ < kProducers) Commit(1 + sizes_() % 6);
  }

  // What a writer does: take, write down, release. Every fourth time writing fails.
  void Commit(size_t max_records) {
    std::vector<RingRecord> records;
    ring_->Take(max_records, SIZE_MAX, false, &records);
    if (max_records != SIZE_MAX && sizes_() % 4 == 0) return ring_->Rewind();
    for (RingRecord& record : records) {
      EXPECT_TRUE(appending_.contains(record.payload))
          << record.sequence << " is not what was sent";
      const uint64_t before = std::strtoull(record.payload.c_str(), nullptr, 10);
      EXPECT_TRUE(before == 0 || stored_.contains(before)) << "came before what it follows";
      EXPECT_TRUE(stored_.emplace(record.sequence, std::move(record.payload)).second)
          << "taken twice";
    }
    ring_->Release();
  }

  // The process is killed here: what another one finds in a copy of the ring.
  void RecoverFromHere() {
    if (::testing::Test::HasFailure()) return;
    ++kills_;
    const std::string copy = ring_->path() + ".left";
    std::filesystem::copy_file(ring_->path(), copy,
                               std::filesystem::copy_options::overwrite_existing);
    const auto [state, left, why] = Ring::OpenLeftover(copy);
    ASSERT_EQ(state, RingFileState::kLeft) << why;
    std::vector<RingRecord> records;
    left->Take(SIZE_MAX, SIZE_MAX, true, &records);
    std::map<uint64_t, std::string> found;
    for (RingRecord& record : records) {
      EXPECT_TRUE(appending_.contains(record.payload)) << record.sequence << " was never sent";
      found.emplace(record.sequence, std::move(record.payload));
    }
    for (const auto& [sequence, payload] : acknowledged_) {
      const auto there = found.find(sequence);
      if (there == found.end()) {
        EXPECT_TRUE(stored_.contains(sequence)) << "acknowledged and lost: " << sequence;
      } else {
        EXPECT_EQ(there->second, payload);
      }
    }
    EXPECT_EQ(left->damaged_chunks(), 0u);
    std::filesystem::remove(copy);
  }

  std::mt19937_64 sizes_;
  testing::Interleaving interleaving_;
  std::unique_ptr<Ring> ring_;
  std::set<std::string> appending_;               // Everything that was tried.
  std::map<uint64_t, std::string> acknowledged_;  // By sequence.
  std::map<uint64_t, std::string> stored_;
  uint64_t latest_ = 0;
  uint64_t dropped_ = 0;
  int ended_ = 0;
  uint64_t steps_ = 0;
  uint64_t kills_ = 0;
};

TEST(RingSchedule, NoInterleavingAndNoKillLosesWhatWasAcknowledged) {
  const MemoryFolder folder;
  const char* given = getenv("REENACT_SEED");
  const uint64_t first = given != nullptr ? strtoull(given, nullptr, 10) : 1;
  const uint64_t count = given != nullptr ? 1 : getenv("REENACT_LONG") != nullptr ? 20'000 : 120;
  uint64_t kills = 0;
  uint64_t dropped = 0;
  for (uint64_t seed = first; seed < first + count && !HasFailure(); ++seed) {
    SCOPED_TRACE("REENACT_SEED=" + std::to_string(seed));
    Execution execution(seed);
    execution.Run(150);
    kills += execution.kills();
    dropped += execution.dropped();
  }
  if (given != nullptr) return;
  EXPECT_GT(kills, count) << "too few to mean something";
  EXPECT_GT(dropped, 0u) << "the ring never was full";
}

TEST(RingSchedule, OneSeedIsOneExecution) {
  const MemoryFolder folder;
  std::set<uint64_t> steps;
  for (int round = 0; round < 3; ++round) {
    Execution execution(17);
    execution.Run(1000);
    steps.insert(execution.steps());
  }
  EXPECT_EQ(steps.size(), 1u);
}

}  // namespace
}  // namespace reenact::store
