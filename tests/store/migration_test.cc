#include "store/format/migration.h"

#include "gtest/gtest.h"

#include "store/format/tables.h"
#include "tests/support/temp_folder.h"

namespace reenact::store {
namespace {

using reenact::testing::TempFolder;
using sqlite::Connection;
using sqlite::Failure;
using sqlite::OpenMode;

constexpr int32_t kId = 0x12345678;

constexpr MigrationStep kSteps[] = {
    {0, "CREATE TABLE note(text TEXT) STRICT"},
    {1, "ALTER TABLE note ADD COLUMN author TEXT; UPDATE note SET author = 'unknown'"},
    {2, "CREATE INDEX note_by_author ON note(author)"},
};

MigrationPlan PlanTo(int32_t version) {
  return {
      .application_id = kId, .version = version, .steps = {kSteps, static_cast<size_t>(version)}};
}

class MigrationTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(connection_.Open(path_, OpenMode::kCreate), Failure::kNone); }

  int64_t Number(const char* sql) {
    int64_t value = -1;
    EXPECT_EQ(connection_.QueryInteger(sql, &value), Failure::kNone) << sql;
    return value;
  }

  MigrationResult Run(const MigrationPlan& plan) {
    return Migrate(&connection_, plan, &failure_, &why_);
  }

  TempFolder folder_;
  const std::string path_ = folder_.File("m.db");
  Connection connection_;
  Failure failure_ = Failure::kNone;
  std::string why_;
};

TEST_F(MigrationTest, AnEmptyFileGoesThroughEveryStep) {
  ASSERT_EQ(Run(PlanTo(3)), MigrationResult::kOk) << why_;
  EXPECT_EQ(Number("PRAGMA user_version"), 3);
  EXPECT_EQ(Number("PRAGMA application_id"), kId);
  EXPECT_EQ(Number("SELECT count(*) FROM sqlite_schema"), 2);
}

TEST_F(MigrationTest, AnOlderFileKeepsItsRows) {
  ASSERT_EQ(Run(PlanTo(1)), MigrationResult::kOk);
  ASSERT_EQ(connection_.Execute("INSERT INTO note VALUES('kept')"), Failure::kNone);
  ASSERT_EQ(Run(PlanTo(3)), MigrationResult::kOk) << why_;
  EXPECT_EQ(Number("SELECT count(*) FROM note WHERE text = 'kept' AND author = 'unknown'"), 1);
  EXPECT_EQ(Number("PRAGMA user_version"), 3);
}

// An older file of version 0 with content of ours, brought to 1: all of it, or nothing.
TEST_F(MigrationTest, AStepThatFailsLeavesTheFileAsItWas) {
  ASSERT_EQ(connection_.Execute("CREATE TABLE note(text TEXT) STRICT; INSERT INTO note VALUES('a');"
                                "PRAGMA application_id=305419896"),
            Failure::kNone);
  constexpr MigrationStep kBroken[] = {{0, "DELETE FROM note; CREATE TABLE note(twice TEXT)"}};
  EXPECT_EQ(Run({.application_id = kId, .version = 1, .steps = kBroken}), MigrationResult::kFailed);
  EXPECT_NE(why_.find("version 0"), std::string::npos) << why_;
  EXPECT_FALSE(connection_.in_transaction());
  EXPECT_EQ(Number("SELECT count(*) FROM note"), 1);
  EXPECT_EQ(Number("PRAGMA user_version"), 0);
  constexpr MigrationStep kGood[] = {{0, "ALTER TABLE note ADD COLUMN author TEXT"}};
  EXPECT_EQ(Run({.application_id = kId, .version = 1, .steps = kGood}), MigrationResult::kOk)
      << why_;
  EXPECT_EQ(Number("SELECT count(author) + count(*) FROM note"), 1);
  EXPECT_EQ(Number("PRAGMA user_version"), 1);
}

TEST_F(MigrationTest, ANewerFileIsNamedSo) {
  ASSERT_EQ(Run(PlanTo(3)), MigrationResult::kOk);
  EXPECT_EQ(Run(PlanTo(2)), MigrationResult::kNewer);
  EXPECT_NE(why_.find("version 3"), std::string::npos) << why_;
}

TEST_F(MigrationTest, AFileOfSomethingElseIsLeftAlone) {
  ASSERT_EQ(connection_.Execute("CREATE TABLE other(a)"), Failure::kNone);
  EXPECT_EQ(Run(PlanTo(3)), MigrationResult::kForeign);
  EXPECT_EQ(Number("SELECT count(*) FROM sqlite_schema"), 1);
}

TEST(SegmentPlan, HasAStepForEveryVersion) {
  const MigrationPlan& plan = SegmentPlan();
  EXPECT_EQ(plan.version, kSchemaVersion);
  ASSERT_EQ(plan.steps.size(), static_cast<size_t>(kSchemaVersion));
  for (int32_t version = 0; version < kSchemaVersion; ++version) {
    EXPECT_EQ(plan.steps[static_cast<size_t>(version)].from, version);
  }
}

}  // namespace
}  // namespace reenact::store
