#include "store/writer/retention.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "gtest/gtest.h"

#include "store/format/chain.h"
#include "store/format/file_system.h"
#include "store/format/posix_file.h"
#include "store/format/sqlite.h"
#include "store/format/tables.h"
#include "store/writer/segment_writer.h"
#include "tests/store/segment_samples.h"
#include "tests/support/segment_oracle.h"
#include "tests/support/temp_folder.h"

namespace reenact::store {
namespace {

using namespace reenact::testing;  // NOLINT(google-build-using-namespace)

constexpr uint64_t kNoFloor = 0;

class RetentionTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string why;
    ASSERT_TRUE(PrepareStore(layout_, &key_, &why)) << why;
  }

  void TearDown() override { SetFileSystemProbeForTesting(nullptr); }

  // A segment of run `number`, oldest by its number, with about `bytes` of body; its file name.
  std::string AddSegment(uint8_t number, size_t bytes = 100'000, bool seal = true,
                         const schema::Mark* mark = nullptr) {
    SegmentOptions options;
    options.segment_id = SampleId(number);
    options.path = layout_.segment(options.segment_id);
    options.store_key = key_;
    auto writer = OpenWriter(options);
    EXPECT_EQ(writer->AddRun(SampleRun(number)), WriteCode::kOk);
    schema::Event event = SampleEvent(1, number);
    event.response.bytes.assign(bytes, 'x');
    writer->SetHurried(true);
    EXPECT_EQ(writer->AddEvent(event), WriteCode::kOk);
    if (mark != nullptr) {
      EXPECT_EQ(writer->AddMark(*mark), WriteCode::kOk);
    }
    EXPECT_EQ(writer->Commit(), WriteCode::kOk);
    if (seal) {
      EXPECT_EQ(writer->Seal(layout_.manifest()), WriteCode::kOk) << writer->last_error();
    }
    return FileNameOf(options.path);
  }

  RetentionResult Enforce(uint64_t max_bytes) {
    return EnforceRetention(
        layout_, {.max_store_bytes = max_bytes, .min_free_bytes = kNoFloor, .min_free_percent = 0});
  }

  bool IsThere(const std::string& name) {
    return ::access((layout_.segments() + "/" + name).c_str(), F_OK) == 0;
  }

  std::vector<std::string> ManifestLines() {
    std::ifstream file(layout_.manifest());
    std::vector<std::string> lines;
    for (std::string line; std::getline(file, line);) lines.push_back(line);
    return lines;
  }

  // Every line is signed, and names the mac of the one before.
  void ExpectGoodManifest() {
    std::string previous;
    for (const std::string& line : ManifestLines()) {
      std::string unsigned_line;
      std::string mac;
      ASSERT_TRUE(CheckManifestLine(line, key_, &unsigned_line, &mac)) << line;
      EXPECT_NE(unsigned_line.find("\"previous\":\"" + previous + "\"}"), std::string::npos)
          << line;
      previous = mac;
    }
  }

  TempFolder folder_;
  const StoreLayout layout_{folder_.File("store")};
  std::string key_;
};

TEST_F(RetentionTest, NothingGoesWhileThereIsRoom) {
  AddSegment(1);
  const RetentionResult result = Enforce(uint64_t{1} << 30);
  EXPECT_TRUE(result.within_limits);
  EXPECT_TRUE(result.pruned.empty());
  EXPECT_GT(result.store_bytes, 100'000U);
}

// cases/reports.md 64
TEST_F(RetentionTest, TheOldestGoFirstUntilTheStoreFits) {
  const std::string first = AddSegment(1);
  const std::string second = AddSegment(2);
  const std::string third = AddSegment(3);
  const uint64_t before = Enforce(uint64_t{1} << 30).store_bytes;
  const RetentionResult result = Enforce(before - 50'000);
  EXPECT_TRUE(result.within_limits);
  EXPECT_EQ(result.pruned, std::vector<std::string>{first});
  EXPECT_LE(result.store_bytes, before - 50'000);
  EXPECT_FALSE(IsThere(first));
  EXPECT_TRUE(IsThere(second));
  EXPECT_TRUE(IsThere(third));
  const std::vector<std::string> lines = ManifestLines();
  ASSERT_EQ(lines.size(), 4U);
  EXPECT_EQ(lines[3].find("{\"pruned\":\"" + first + "\",\"reason\":\"size_cap\""), 0U) << lines[3];
  ExpectGoodManifest();
}

TEST_F(RetentionTest, ASegmentUnderWayStays) {
  const std::string name = AddSegment(1, 100'000, false);
  const RetentionResult result = Enforce(1);
  EXPECT_FALSE(result.within_limits);
  EXPECT_TRUE(IsThere(name));
}

TEST_F(RetentionTest, PinnedSegmentsStay) {
  const std::string pinned = AddSegment(1);
  const std::string other = AddSegment(2);
  sqlite::Connection incidents;
  ASSERT_EQ(incidents.Open(layout_.incidents(), sqlite::OpenMode::kCreate), sqlite::Failure::kNone);
  ASSERT_EQ(incidents.Execute(kIncidentPinsSql), sqlite::Failure::kNone);
  const std::string pin = "INSERT INTO pin VALUES('" + pinned + "', x'00')";
  ASSERT_EQ(incidents.Execute(pin.c_str()), sqlite::Failure::kNone);
  const RetentionResult result = Enforce(1);
  EXPECT_FALSE(result.within_limits);
  EXPECT_EQ(result.pruned, std::vector<std::string>{other});
  EXPECT_TRUE(IsThere(pinned));
}

TEST_F(RetentionTest, AMarkThatNobodyAdoptedPinsItsRunWhereverThatLies) {
  const std::string marked_run = AddSegment(1);
  const std::string plain = AddSegment(2);
  schema::Mark mark;
  mark.id = SampleId(50);
  mark.run = SampleId(1);
  const std::string with_mark = AddSegment(3, 100'000, true, &mark);
  RetentionResult result = Enforce(1);
  EXPECT_EQ(result.pruned, (std::vector<std::string>{plain, with_mark}));
  EXPECT_TRUE(IsThere(marked_run));
}

TEST_F(RetentionTest, AnAdoptedMarkPinsNothingByItself) {
  schema::Mark mark;
  mark.id = SampleId(50);
  mark.run = SampleId(1);
  const std::string name = AddSegment(1, 100'000, true, &mark);
  EXPECT_TRUE(Enforce(1).pruned.empty());
  sqlite::Connection incidents;
  ASSERT_EQ(incidents.Open(layout_.incidents(), sqlite::OpenMode::kCreate), sqlite::Failure::kNone);
  ASSERT_EQ(incidents.Execute(kIncidentPinsSql), sqlite::Failure::kNone);
  const std::string adopt =
      "INSERT INTO adopted_mark VALUES(x'" + schema::ToHex(mark.id.AsBytes()) + "')";
  ASSERT_EQ(incidents.Execute(adopt.c_str()), sqlite::Failure::kNone);
  EXPECT_EQ(Enforce(1).pruned, std::vector<std::string>{name});
}

TEST_F(RetentionTest, WithoutReadableIncidentsNothingIsPruned) {
  const std::string name = AddSegment(1);
  std::ofstream(layout_.incidents()) << std::string(5000, 'x');
  const RetentionResult result = Enforce(1);
  EXPECT_FALSE(result.within_limits);
  EXPECT_TRUE(IsThere(name));
}

TEST_F(RetentionTest, ADamagedSegmentIsNotThrownAway) {
  const std::string name = AddSegment(1);
  const std::string path = layout_.segments() + "/" + name;
  ASSERT_EQ(::truncate(path.c_str(), 10), 0);
  EXPECT_TRUE(Enforce(1).pruned.empty());
  EXPECT_TRUE(IsThere(name));
}

TEST_F(RetentionTest, TheFloorOfFreeSpaceIsKept) {
  // A disk of 100 GB with 3 GB free, on which every removed segment frees 1 GB.
  static int asked;
  asked = 0;
  static constexpr FileSystemProbe kProbe = {.statfs = [](const char*, struct statfs* out) {
    *out = {};
    out->f_type = 0xef53;
    out->f_bsize = 1 << 20;
    out->f_blocks = 100 << 10;
    out->f_bavail = static_cast<fsblkcnt_t>(3 + asked++) << 10;
    return 0;
  }};
  const std::string first = AddSegment(1);
  const std::string second = AddSegment(2);
  const std::string third = AddSegment(3);
  SetFileSystemProbeForTesting(&kProbe);
  // 5 % are 5 GB, and no more is asked for.
  const RetentionResult result = EnforceRetention(layout_, {.max_store_bytes = uint64_t{1} << 40});
  EXPECT_TRUE(result.within_limits);
  EXPECT_EQ(result.pruned, (std::vector<std::string>{first, second}));
  EXPECT_NE(ManifestLines().back().find("free_space_floor"), std::string::npos);
  EXPECT_TRUE(IsThere(third));
}

// cases/reports.md 61: deleting rows needs room; removing a file does not.
TEST_F(RetentionTest, WorksWhereNothingCanBeWritten) {
  const std::string first = AddSegment(1);
  AddSegment(2);
  // The manifest can neither be made nor extended: as on a full disk, for root as well.
  ASSERT_EQ(::unlink(layout_.manifest().c_str()), 0);
  ASSERT_EQ(::mkdir(layout_.manifest().c_str(), 0700), 0);
  const uint64_t before = Enforce(uint64_t{1} << 30).store_bytes;
  const RetentionResult result = Enforce(before - 50'000);
  EXPECT_EQ(result.pruned, std::vector<std::string>{first});
  EXPECT_TRUE(result.within_limits);
}

// cases/reports.md 64: record 20 MB, keep 2 MB, in segments of 256 kB.
TEST_F(RetentionTest, ARecorderThatRotatesStaysWithinItsCap) {
  constexpr uint64_t kCap = 2 << 20;
  uint64_t largest = 0;
  for (uint8_t number = 1; number <= 80; ++number) {
    AddSegment(number, 256 << 10);
    const RetentionResult result = Enforce(kCap);
    EXPECT_TRUE(result.within_limits);
    largest = std::max(largest, result.store_bytes);
  }
  EXPECT_LE(largest, kCap);
  EXPECT_GT(largest, kCap / 2);
  EXPECT_LE(Enforce(kCap).store_bytes, kCap);
  ExpectGoodManifest();
}

}  // namespace
}  // namespace reenact::store
