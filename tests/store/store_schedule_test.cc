// Whole recorders under schedules that a seed draws, each in a process of its own and in one
// thread: nothing that was acknowledged is lost, and nothing is there twice or damaged, however
// queue, writer, flush, fork, close, kill, retention, readers, clocks and a failing disk follow
// each other.
//
// REENACT_LONG=1: 100,000 seeds instead of 150. REENACT_SEED: the one that failed, alone;
// REENACT_FIRST_SEED and REENACT_SEEDS: where to begin, and how many.

#include "tests/store/store_schedule.h"

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <new>

#include "gtest/gtest.h"

#include "store/writer/drain.h"
#include "tests/store/memory_folder.h"
#include "tests/support/fault_vfs.h"
#include "tests/support/temp_folder.h"

namespace reenact::testing {
namespace {

uint64_t FromEnvironment(const char* name, uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text != nullptr ? std::strtoull(text, nullptr, 10) : otherwise;
}

class StoreScheduleTest : public ::testing::Test {
 protected:
  StoreScheduleTest()
      : told_(new (::mmap(nullptr, sizeof(Told), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
                          -1, 0)) Told()),
        reader_(told_, store_path_) {}

  ~StoreScheduleTest() override { ::munmap(told_, sizeof(Told)); }

  // Empty, or what is wrong.
  std::string TrySeed(uint64_t seed, PlantedFault planted) {
    std::filesystem::remove_all(store_path_);
    *told_ = Told();
    int status = 0;
    auto schedule = std::make_unique<StoreSchedule>(seed, store_path_, planted, told_, &reader_);
    const pid_t child = schedule->ends_in_kill() ? ::fork() : 0;
    if (child == 0) schedule->Run();
    if (child == 0 && schedule->ends_in_kill()) ::_exit(0);
    if (child != 0) ::waitpid(child, &status, 0);
    schedule.reset();
    FaultVfs::Disarm();
    reader_.Unpin();
    if (status != 0) return "the process ended with status " + std::to_string(status);
    const store::RecoveryResult recovery = store::RecoverStore(store_path_);
    CountSeed();
    if (told_->problem[0] != '\0') return told_->problem;
    if (!recovery.problems.empty()) return recovery.problems.front();
    if (!std::filesystem::is_empty(memory_.rings())) return "a ring is left";
    return FindFault(store_path_, *told_);
  }

  void CountSeed() {
    ++seeds_;
    records_ += told_->count;
    for (int Told::*count : kCounts) total_.*count += told_->*count;
  }

  void PrintCounts() const {
    std::printf("%lld schedules, %lld records:", static_cast<long long>(seeds_),
                static_cast<long long>(records_));
    for (size_t i = 0; i < std::size(kCounts); ++i) {
      std::printf(" %d %s%s", total_.*kCounts[i], kNames[i],
                  i + 1 < std::size(kCounts) ? "," : "\n");
    }
  }

  static constexpr int Told::*kCounts[] = {
      &Told::turns,  &Told::rotations, &Told::prunes, &Told::marks,     &Told::flushes,
      &Told::faults, &Told::forks,     &Told::reads,  &Told::pins,      &Told::wall_steps,
      &Told::closes, &Told::abandons,  &Told::kills,  &Told::full_rings};
  static constexpr const char* kNames[] = {"turns of the writer",
                                           "segments",
                                           "pruned",
                                           "marks",
                                           "flushes",
                                           "disk faults",
                                           "forks",
                                           "reads",
                                           "pins",
                                           "clock steps",
                                           "closes",
                                           "abandons",
                                           "kills",
                                           "refusals"};

  store::MemoryFolder memory_;
  TempFolder disk_;
  const std::string store_path_ = disk_.File("store");
  Told* told_;
  ReaderProcess reader_;
  Told total_{};
  int64_t seeds_ = 0;
  int64_t records_ = 0;
};

TEST_F(StoreScheduleTest, NoScheduleLosesDoublesOrDamagesAnything) {
  const uint64_t alone = FromEnvironment("REENACT_SEED", 0);
  const uint64_t first = alone != 0 ? alone : FromEnvironment("REENACT_FIRST_SEED", 1);
  const uint64_t count =
      alone != 0 ? 1
                 : FromEnvironment("REENACT_SEEDS",
                                   std::getenv("REENACT_LONG") != nullptr ? 100'000 : 150);
  int faults = 0;
  for (uint64_t seed = first; seed < first + count && faults < 5; ++seed) {
    const std::string fault = TrySeed(seed, PlantedFault::kNone);
    if (fault.empty()) continue;
    ++faults;
    ADD_FAILURE() << "REENACT_SEED=" << seed << ": " << fault;
  }
  PrintCounts();
  if (alone != 0) return;
  for (size_t i = 0; i < std::size(kCounts); ++i) {
    EXPECT_GT(total_.*kCounts[i], 0) << "it never came to " << kNames[i];
  }
}

// A batch may happen to be empty, and what a disk lost may be written once more.
TEST_F(StoreScheduleTest, FaultsThatArePlantedAreFound) {
  for (const PlantedFault planted : {PlantedFault::kLostBatch, PlantedFault::kLostWrites}) {
    std::string fault;
    for (uint64_t seed = 1; seed < 200 && fault.empty(); ++seed) fault = TrySeed(seed, planted);
    EXPECT_NE(fault, "") << static_cast<int>(planted);
  }
}

TEST_F(StoreScheduleTest, OneSeedIsOneSchedule) {
  std::string first;
  for (int round = 0; round < 3; ++round) {
    EXPECT_EQ(TrySeed(17, PlantedFault::kNone), "");
    std::string counts;
    for (int Told::*count : kCounts) counts += std::to_string(told_->*count) + " ";
    counts += std::to_string(told_->count) + " " + std::to_string(told_->stored_below);
    if (round == 0) first = counts;
    EXPECT_EQ(counts, first);
  }
}

}  // namespace
}  // namespace reenact::testing
