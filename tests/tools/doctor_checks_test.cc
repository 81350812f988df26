#include "tools/reenact/doctor/doctor_checks.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <string_view>

#include "store/ring/ring.h"
#include "store/store_layout.h"
#include "tests/store/memory_folder.h"
#include "tests/support/temp_folder.h"
#include "tests/tools/sample_runs.h"

namespace reenact::tools {
namespace {

// cases/reports.md 56.
TEST(Doctor, KnowsWhichSqliteCanLoseTheLog) {
  EXPECT_FALSE(HasWalResetFault(3'006'023));
  EXPECT_TRUE(HasWalResetFault(3'007'000));
  EXPECT_TRUE(HasWalResetFault(3'040'001));
  EXPECT_TRUE(HasWalResetFault(3'051'002));
  EXPECT_FALSE(HasWalResetFault(3'051'003));
}

// cases/reports.md 86.
TEST(Doctor, WarnsOfLibfaketime) {
  const auto with = [](const char* name) -> const char* {
    return std::string_view(name) == "LD_PRELOAD" ? "/usr/lib/faketime/libfaketime.so.1" : nullptr;
  };
  EXPECT_EQ(CheckPreload(with).health, Health::kFinding);
  EXPECT_EQ(CheckPreload([](const char*) -> const char* { return nullptr; }).health, Health::kFine);
}

TEST(Doctor, NamesVariablesThatNobodyReads) {
  EXPECT_EQ(CheckEnvironment({"PATH=/bin", "REENACT_STORE=/x", "REENACT_MODE=record"}).health,
            Health::kFine);
  const Check typo = CheckEnvironment({"REENACT_STROE=/x"});
  EXPECT_EQ(typo.health, Health::kFinding);
  EXPECT_NE(typo.text.find("REENACT_STROE"), std::string::npos);
  EXPECT_EQ(CheckEnvironment({"REENACT_MODE=passthrough"}).health, Health::kFinding);
}

// cases/replay.md 11: a date in the prompt that did not come through the clock seam.
TEST(Doctor, SeesADateThatWasReadOutsideTheRecorder) {
  schema::RecordedRun run = tests::WrongRefund();
  EXPECT_FALSE(HoldsUnsealedDate(run));  // It reads the clock first.
  run.events.erase(run.events.begin());
  EXPECT_TRUE(HoldsUnsealedDate(run));
  run.run.input.bytes = "refund of 2026-03-01";  // The date came with the input.
  EXPECT_FALSE(HoldsUnsealedDate(run));
}

// Another process, with a ring of this store.
class OtherRecorder {
 public:
  explicit OtherRecorder(const std::string& store) {
    if (pipe(ready_) != 0) return;
    child_ = fork();
    if (child_ == 0) Record(store);
    char byte = 0;
    if (read(ready_[0], &byte, 1) != 1) ADD_FAILURE() << "the other process has no ring";
  }

  ~OtherRecorder() {
    Kill();
    close(ready_[0]);
    close(ready_[1]);
  }

  void Kill() {
    if (child_ <= 0) return;
    kill(child_, SIGKILL);
    waitpid(child_, nullptr, 0);
    child_ = -1;
  }

 private:
  [[noreturn]] void Record(const std::string& store) {
    const store::ProcessIdentity process = store::ThisProcess();
    std::string why;
    const auto ring = store::Ring::Create({.pid = process.pid,
                                           .process_start = process.start,
                                           .boot_id = process.boot_id,
                                           .store_path = store},
                                          {}, 1 << 20, &why);
    if (ring != nullptr && write(ready_[1], "r", 1) == 1) pause();
    _exit(1);
  }

  int ready_[2] = {-1, -1};
  pid_t child_ = -1;
};

TEST(Doctor, TellsTheRingOfALivingProcessFromThatOfADeadOne) {
  const store::MemoryFolder memory;
  const testing::TempFolder folder;
  const StorePlace place{.path = folder.path()};
  OtherRecorder other(place.path);
  EXPECT_EQ(CheckLeftoverRings(place).health, Health::kFine);
  EXPECT_EQ(CheckLeftoverRings(place).text, "1 process is recording into this store");
  other.Kill();
  const Check dead = CheckLeftoverRings(place);
  EXPECT_EQ(dead.health, Health::kFinding);
  EXPECT_NE(dead.text.find("1 ring of dead processes"), std::string::npos) << dead.text;
}

}  // namespace
}  // namespace reenact::tools
