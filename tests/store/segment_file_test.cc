// A segment as a file: sealing, its manifest line, who may open it, its chain and its copies.

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <memory>
#include <string>

#include "gtest/gtest.h"

#include "store/format/chain.h"
#include "store/format/posix_file.h"
#include "store/format/sqlite.h"
#include "store/writer/segment_writer.h"
#include "tests/store/file_bytes.h"
#include "tests/store/segment_samples.h"
#include "tests/support/segment_oracle.h"
#include "tests/support/temp_folder.h"

namespace reenact::store {
namespace {

using namespace reenact::testing;  // NOLINT(google-build-using-namespace)

class SegmentFileTest : public ::testing::Test {
 protected:
  std::unique_ptr<SegmentWriter> Start() {
    auto writer = OpenWriter(SampleOptions(path_));
    EXPECT_EQ(writer->AddRun(SampleRun()), WriteCode::kOk);
    return writer;
  }

  std::unique_ptr<SegmentWriter> Reopen() {
    SegmentOptions options = SampleOptions(path_);
    options.open = SegmentOptions::Open::kReopen;
    return OpenWriter(options);
  }

  TempFolder folder_;
  const std::string path_ = folder_.File("01AAAAAAAAAAAAAAAAAAAAAAAA.db");
  const std::string manifest_ = folder_.File("manifest.jsonl");
};

TEST_F(SegmentFileTest, SealingMakesOneReadOnlyFileAndASignedLine) {
  auto writer = Start();
  ASSERT_EQ(writer->AddEvent(SampleEvent(1)), WriteCode::kOk);
  ASSERT_EQ(writer->AddOpenCall(SampleEvent(3)), WriteCode::kOk);
  ASSERT_EQ(writer->Seal(manifest_), WriteCode::kOk) << writer->last_error();

  struct stat status {};

  ASSERT_EQ(::stat(path_.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0444U);
  EXPECT_NE(::access((path_ + "-wal").c_str(), F_OK), 0);
  EXPECT_NE(::access((path_ + "-shm").c_str(), F_OK), 0);
  const StoredSegment stored = ReadSegment(path_);
  EXPECT_EQ(stored.damage, "");
  EXPECT_EQ(stored.meta.at(kMetaSealed), std::to_string(stored.rows - 1));
  EXPECT_EQ(stored.events.at(3).end_state, schema::EndState::kIncomplete);
  std::string line = FileBytes(manifest_);
  ASSERT_FALSE(line.empty());
  line.pop_back();
  std::string unsigned_line;
  std::string mac;
  EXPECT_TRUE(CheckManifestLine(line, SampleKey(), &unsigned_line, &mac));
  EXPECT_EQ(unsigned_line, "{\"segment\":\"01AAAAAAAAAAAAAAAAAAAAAAAA.db\",\"head\":\"" +
                               schema::ToHex(stored.head) +
                               "\",\"rows\":" + std::to_string(stored.rows) + ",\"sha256\":\"" +
                               schema::ToHex(schema::HashBytes(FileBytes(path_))) +
                               "\",\"previous\":\"\"}");
  EXPECT_FALSE(CheckManifestLine(line, std::string(32, 'x'), &unsigned_line, &mac));
  EXPECT_EQ(writer->AddEvent(SampleEvent(9)), WriteCode::kRefused);
}

TEST_F(SegmentFileTest, SealingTwiceWritesOneLine) {
  auto writer = Start();
  ASSERT_EQ(writer->Seal(manifest_), WriteCode::kOk);
  const std::string once = FileBytes(manifest_);
  ASSERT_EQ(writer->Seal(manifest_), WriteCode::kOk);
  EXPECT_EQ(FileBytes(manifest_), once);
  // As after a crash between the line and the file's mode.
  ::chmod(path_.c_str(), 0600);
  writer = Reopen();
  EXPECT_EQ(writer->AddEvent(SampleEvent(9)), WriteCode::kRefused);
  ASSERT_EQ(writer->Seal(manifest_), WriteCode::kOk) << writer->last_error();
  // SQLite counts its changes of the header, so the digest is another; the rows are the same.
  const std::string twice = FileBytes(manifest_);
  EXPECT_EQ(twice.substr(0, once.size()), once);
  const std::string second = twice.substr(once.size());
  EXPECT_EQ(second.substr(0, second.find("\"sha256\"")), once.substr(0, once.find("\"sha256\"")));
  EXPECT_NE(second.find(schema::ToHex(schema::HashBytes(FileBytes(path_)))), std::string::npos);
}

TEST_F(SegmentFileTest, AHalfManifestLineIsCutOff) {
  std::ofstream(manifest_) << "{\"segment\":\"01B";
  auto writer = Start();
  ASSERT_EQ(writer->Seal(manifest_), WriteCode::kOk);
  const std::string text = FileBytes(manifest_);
  EXPECT_EQ(text.find("01B"), std::string::npos);
  EXPECT_EQ(text.find("{\"segment\":\"01AAA"), 0U);
}

TEST_F(SegmentFileTest, ASealedSegmentIsNotOpenedForWriting) {
  ASSERT_EQ(Start()->Seal(manifest_), WriteCode::kOk);
  SegmentOptions options = SampleOptions(path_);
  options.open = SegmentOptions::Open::kReopen;
  std::unique_ptr<SegmentWriter> writer;
  std::string why;
  EXPECT_EQ(SegmentWriter::Open(options, &writer, &why), WriteCode::kRefused);
  EXPECT_NE(why.find(path_), std::string::npos);
}

TEST_F(SegmentFileTest, AFileThatIsThereIsNotOverwritten) {
  Start();
  std::unique_ptr<SegmentWriter> writer;
  std::string why;
  EXPECT_EQ(SegmentWriter::Open(SampleOptions(path_), &writer, &why), WriteCode::kRefused);
  EXPECT_NE(why.find("exists"), std::string::npos) << why;
}

TEST_F(SegmentFileTest, AReaderInTheWayDelaysSealingAndLosesNothing) {
  auto writer = Start();
  ASSERT_EQ(writer->AddEvent(SampleEvent(1)), WriteCode::kOk);
  ASSERT_EQ(writer->Commit(), WriteCode::kOk);
  {
    sqlite::Connection reader;
    ASSERT_EQ(reader.Open(path_, sqlite::OpenMode::kReadOnly), sqlite::Failure::kNone);
    ASSERT_EQ(reader.Execute("BEGIN; SELECT count(*) FROM event"), sqlite::Failure::kNone);
    EXPECT_EQ(writer->Seal(manifest_), WriteCode::kUnavailable);
    EXPECT_NE(::access(manifest_.c_str(), F_OK), 0);
  }
  EXPECT_EQ(writer->Seal(manifest_), WriteCode::kOk) << writer->last_error();
  EXPECT_EQ(ReadSegment(path_).events.size(), 1U);
}

// cases/reports.md 58
TEST_F(SegmentFileTest, TheWalShrinksAfterAPinnedReaderLeaves) {
  auto writer = Start();
  ASSERT_EQ(writer->Commit(), WriteCode::kOk);
  writer->SetHurried(true);
  uint64_t sequence = 1;
  const auto record = [&](int megabytes) {
    for (int i = 0; i < megabytes; ++i) {
      schema::Event event = SampleEvent(sequence++);
      event.response.bytes.assign(size_t{1} << 20, static_cast<char>('a' + i));
      ASSERT_EQ(writer->AddEvent(event), WriteCode::kOk);
      ASSERT_EQ(writer->Commit(), WriteCode::kOk);
      ASSERT_EQ(writer->CheckpointIfDue(), WriteCode::kOk);
    }
  };
  const auto wal_bytes = [&] {
    struct stat status {};
    return ::stat((path_ + "-wal").c_str(), &status) == 0 ? status.st_size : 0;
  };
  record(20);
  const auto unpinned = wal_bytes();
  EXPECT_LT(unpinned, 12 << 20);
  {
    sqlite::Connection reader;
    ASSERT_EQ(reader.Open(path_, sqlite::OpenMode::kReadOnly), sqlite::Failure::kNone);
    ASSERT_EQ(reader.Execute("BEGIN; SELECT count(*) FROM event"), sqlite::Failure::kNone);
    record(30);
    EXPECT_GT(wal_bytes(), 25 << 20);
  }
  record(6);
  EXPECT_LT(wal_bytes(), 12 << 20);
  EXPECT_EQ(writer->Seal(""), WriteCode::kOk);
}

TEST_F(SegmentFileTest, ANewerFileIsRefusedByItsVersion) {
  Start().reset();
  Tamper(path_, "PRAGMA user_version=7");
  SegmentOptions options = SampleOptions(path_);
  options.open = SegmentOptions::Open::kReopen;
  std::unique_ptr<SegmentWriter> writer;
  std::string why;
  EXPECT_EQ(SegmentWriter::Open(options, &writer, &why), WriteCode::kRefused);
  EXPECT_NE(why.find("version 7"), std::string::npos) << why;
}

TEST_F(SegmentFileTest, AFileOfSomethingElseIsRefused) {
  const std::string other = folder_.File("other.db");
  std::ofstream(other).close();
  Tamper(other, "CREATE TABLE t(a)");
  SegmentOptions options = SampleOptions(other);
  options.open = SegmentOptions::Open::kReopen;
  std::unique_ptr<SegmentWriter> writer;
  std::string why;
  EXPECT_EQ(SegmentWriter::Open(options, &writer, &why), WriteCode::kRefused);
  EXPECT_NE(why.find("something else"), std::string::npos) << why;
  std::ofstream(other) << std::string(8192, 'x');
  EXPECT_EQ(SegmentWriter::Open(options, &writer, &why), WriteCode::kRefused);
}

TEST_F(SegmentFileTest, EveryKindOfTamperingBreaksTheChain) {
  auto writer = Start();
  for (uint64_t sequence = 1; sequence < 10; sequence += 2) {
    ASSERT_EQ(writer->AddEvent(SampleEvent(sequence)), WriteCode::kOk);
  }
  ASSERT_EQ(writer->Seal(""), WriteCode::kOk);
  const std::string good = FileBytes(path_);
  ASSERT_EQ(ReadSegment(path_).damage, "");
  const char* const edits[] = {
      "UPDATE event SET end_state = 2 WHERE sequence = 3",
      "UPDATE event SET name = 'chaT' WHERE sequence = 3",
      "UPDATE event SET started_wall_ns = started_wall_ns + 1 WHERE sequence = 3",
      "UPDATE event SET value = x'00' WHERE sequence = 3",
      "UPDATE event SET response_body = request_body WHERE sequence = 3",
      "UPDATE event SET meta = x'' WHERE sequence = 3",
      "DELETE FROM event WHERE sequence = 3",
      "DELETE FROM event WHERE sequence = 9",
      "UPDATE event SET ordinal = CASE sequence WHEN 3 THEN (SELECT ordinal FROM event WHERE "
      "sequence = 5)"
      " ELSE (SELECT ordinal FROM event WHERE sequence = 3) END WHERE sequence IN (3, 5)",
      "UPDATE run SET service = 'other'",
      "DELETE FROM run_tag WHERE key = 'env'",
      "UPDATE meta SET value = x'00' WHERE key = 'reenact.sealed'",
      "UPDATE body SET frame = x'7b7d', codec = 0, raw_size = 2 WHERE ordinal = (SELECT "
      "request_body FROM"
      " event WHERE sequence = 3)",
      "UPDATE body SET salt = zeroblob(32) WHERE ordinal = (SELECT request_body FROM event WHERE"
      " sequence = 3)",
      "UPDATE body SET flags = 1",
  };
  for (const char* edit : edits) {
    ::unlink(path_.c_str());
    std::ofstream(path_, std::ios::binary) << good;
    Tamper(path_, edit);
    EXPECT_NE(ReadSegment(path_).damage, "") << edit;
  }
}

TEST_F(SegmentFileTest, EqualAddsGiveEqualBundles) {
  std::string first;
  for (int round = 0; round < 2; ++round) {
    SegmentOptions options = SampleOptions(folder_.File("bundle" + std::to_string(round)));
    options.store_key.clear();
    options.deterministic = true;
    auto writer = OpenWriter(options);
    ASSERT_EQ(writer->AddRun(SampleRun()), WriteCode::kOk);
    for (uint64_t sequence = 1; sequence < 200; ++sequence) {
      schema::Event event = SampleEvent(sequence);
      event.response.bytes.append(sequence * 50, static_cast<char>(sequence));
      ASSERT_EQ(writer->AddEvent(event), WriteCode::kOk);
    }
    ASSERT_EQ(writer->Seal(""), WriteCode::kOk) << writer->last_error();
    EXPECT_EQ(ReadSegment(options.path).damage, "");
    EXPECT_EQ(ReadSegment(options.path).events.size(), 199U);
    const std::string bytes = FileBytes(options.path);
    if (round == 0) first = bytes;
    EXPECT_TRUE(bytes == first);
  }
}

TEST_F(SegmentFileTest, ACopyKeepsItsSaltAndSoItsDigest) {
  auto writer = Start();
  schema::Event event = SampleEvent(1);
  Salt salt;
  salt.fill(5);
  event.request.salt = salt;
  ASSERT_EQ(writer->AddEvent(event), WriteCode::kOk);
  ASSERT_EQ(writer->Commit(), WriteCode::kOk);
  EXPECT_EQ(ReadSegment(path_).events.at(1).request.salt, salt);
}

TEST_F(SegmentFileTest, AForkedChildTouchesNothing) {
  auto writer = Start();
  ASSERT_EQ(writer->AddEvent(SampleEvent(1)), WriteCode::kOk);
  const pid_t child = ::fork();
  if (child == 0) {
    const bool refused = writer->AddEvent(SampleEvent(3)) == WriteCode::kRefused &&
                         writer->Commit() == WriteCode::kRefused &&
                         writer->Seal("") == WriteCode::kRefused;
    writer.reset();
    ::_exit(refused ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  ASSERT_EQ(writer->Commit(), WriteCode::kOk);
  ASSERT_EQ(writer->AddEvent(SampleEvent(5)), WriteCode::kOk);
  ASSERT_EQ(writer->Seal(""), WriteCode::kOk);
  const StoredSegment stored = ReadSegment(path_);
  EXPECT_EQ(stored.damage, "");
  EXPECT_EQ(stored.events.size(), 2U);
}

TEST_F(SegmentFileTest, TheFileIsForItsOwnerOnlyWhileItIsWritten) {
  auto writer = Start();
  ASSERT_EQ(writer->Commit(), WriteCode::kOk);
  for (const char* suffix : {"", "-wal", "-shm"}) {
    struct stat status {};

    ASSERT_EQ(::stat((path_ + suffix).c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777, 0600U) << suffix;
  }
}

TEST_F(SegmentFileTest, AnEmptySegmentSeals) {
  auto writer = OpenWriter(SampleOptions(path_));
  ASSERT_EQ(writer->Seal(manifest_), WriteCode::kOk);
  EXPECT_EQ(ReadSegment(path_).damage, "");
}

TEST_F(SegmentFileTest, ARunWithoutItsFolderIsAClearError) {
  std::unique_ptr<SegmentWriter> writer;
  std::string why;
  EXPECT_EQ(SegmentWriter::Open(SampleOptions(folder_.File("no/such.db")), &writer, &why),
            WriteCode::kRefused);
  EXPECT_NE(why.find("no/such.db"), std::string::npos);
}

}  // namespace
}  // namespace reenact::store
