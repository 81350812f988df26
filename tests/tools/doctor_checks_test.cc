#include "tools/reenact/doctor_checks.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

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

}  // namespace
}  // namespace reenact::tools
