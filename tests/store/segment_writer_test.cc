#include "store/writer/segment_writer.h"

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <limits>
#include <sstream>

#include "gtest/gtest.h"

#include "store/format/body_codec.h"
#include "store/format/chain.h"
#include "store/format/posix_file.h"
#include "store/format/sqlite.h"
#include "store/format/tables.h"
#include "store/store_layout.h"
#include "tests/store/segment_samples.h"
#include "tests/support/segment_oracle.h"
#include "tests/support/temp_folder.h"

namespace reenact::store {
namespace {

using namespace reenact::testing;  // NOLINT(google-build-using-namespace)

std::string FileBytes(const std::string& path) {
  std::string bytes;
  EXPECT_EQ(ReadWholeFile(path, size_t{1} << 30, &bytes), 0);
  return bytes;
}

void ExpectSameEvent(const schema::Event& stored, const schema::Event& given) {
  EXPECT_EQ(stored.sequence, given.sequence);
  EXPECT_EQ(stored.end_sequence, given.end_sequence);
  EXPECT_EQ(stored.run, given.run);
  EXPECT_EQ(stored.scope, given.scope);
  EXPECT_EQ(stored.boundary, given.boundary);
  EXPECT_EQ(stored.name, given.name);
  EXPECT_EQ(stored.provider, given.provider);
  EXPECT_EQ(stored.endpoint, given.endpoint);
  EXPECT_EQ(stored.request_headers, given.request_headers);
  EXPECT_EQ(stored.request.bytes, given.request.bytes);
  EXPECT_EQ(stored.request.redacted, given.request.redacted);
  EXPECT_EQ(stored.response.bytes, given.response.bytes);
  EXPECT_EQ(stored.response.cut, given.response.cut);
  EXPECT_EQ(stored.response.original_size, given.response.original_size);
  EXPECT_EQ(stored.exchange, given.exchange);
  EXPECT_EQ(stored.value, given.value);
  EXPECT_EQ(stored.started, given.started);
  EXPECT_EQ(stored.elapsed_ns, given.elapsed_ns);
  EXPECT_EQ(stored.end_state, given.end_state);
  EXPECT_EQ(stored.end_detail, given.end_detail);
  EXPECT_EQ(stored.attempt, given.attempt);
  EXPECT_EQ(stored.in_flight, given.in_flight);
  EXPECT_EQ(stored.meta, given.meta);
}

class SegmentWriterTest : public ::testing::Test {
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

TEST_F(SegmentWriterTest, EveryFieldOfAnEventComesBack) {
  auto writer = Start();
  schema::Event event = SampleEvent(7);
  event.request.redacted = true;
  event.response.cut = true;
  event.response.original_size = std::numeric_limits<uint64_t>::max();
  event.response.original_digest = schema::HashBytes("whole");
  event.value = std::numeric_limits<uint64_t>::max();  // cases/reports.md 65
  event.end_detail = "provider said \x1b[31mno\x1b[0m";
  ASSERT_EQ(writer->AddEvent(event), WriteCode::kOk);
  ASSERT_EQ(writer->Commit(), WriteCode::kOk);
  const StoredSegment stored = ReadSegment(path_);
  EXPECT_EQ(stored.damage, "");
  ASSERT_TRUE(stored.events.contains(7));
  ExpectSameEvent(stored.events.at(7), event);
}

// A digest that somebody could look up in a list of likely texts would outlive what was erased.
TEST_F(SegmentWriterTest, TheDigestOfACutBodyIsSaltedOnce) {
  auto writer = Start();
  const schema::Digest plain = schema::HashBytes("whole");
  schema::Event cut = SampleEvent(1);
  cut.response.cut = true;
  cut.response.original_size = 5;
  cut.response.original_digest = plain;
  schema::Event unknown = cut;
  unknown.sequence = 3;
  unknown.end_sequence = 4;
  unknown.response.original_digest = {};
  ASSERT_EQ(writer->AddEvent(cut), WriteCode::kOk);
  ASSERT_EQ(writer->AddEvent(unknown), WriteCode::kOk);
  ASSERT_EQ(writer->Commit(), WriteCode::kOk);
  const schema::Body body = ReadSegment(path_).events.at(1).response;
  const std::string salt(body.salt->begin(), body.salt->end());
  EXPECT_NE(body.original_digest, plain);
  EXPECT_EQ(body.original_digest, schema::HashBytes(salt + std::string(schema::AsBytes(plain))));
  EXPECT_EQ(ReadSegment(path_).events.at(3).response.original_digest, schema::Digest{});
  for (const auto& entry : std::filesystem::directory_iterator(folder_.path())) {
    const size_t found = FileBytes(entry.path()).find(schema::AsBytes(plain));
    EXPECT_EQ(found, std::string::npos) << entry.path();
  }

  // A copy of what was read says the same.
  schema::Event copy = ReadSegment(path_).events.at(1);
  copy.sequence = 5;
  copy.end_sequence = 6;
  ASSERT_EQ(writer->AddEvent(copy), WriteCode::kOk);
  ASSERT_EQ(writer->Commit(), WriteCode::kOk);
  EXPECT_EQ(ReadSegment(path_).events.at(5).response.original_digest, body.original_digest);
}

TEST_F(SegmentWriterTest, TextIsBytesWhateverItHolds) {
  auto writer = Start();
  schema::Event event = SampleEvent(1);
  event.name = std::string("a\0b\xff\xfe", 5);
  event.scope = "\xed\xa0\x80";
  event.request.bytes = std::string("\0\xff{", 3);
  event.meta = {{"", ""}, {std::string("\0", 1), "\xc0"}};
  ASSERT_EQ(writer->AddEvent(event), WriteCode::kOk);
  ASSERT_EQ(writer->Commit(), WriteCode::kOk);
  const StoredSegment stored = ReadSegment(path_);
  EXPECT_EQ(stored.damage, "");
  ExpectSameEvent(stored.events.at(1), event);
}

TEST_F(SegmentWriterTest, WhatWasAddedTwiceIsThereOnce) {
  auto writer = Start();
  schema::Component component;
  component.kind = "prompt_template";
  component.name = "refund";
  component.content.bytes = "You refund.";
  schema::Gap gap;
  gap.reason = "ring_full";
  gap.count = 3;
  schema::Mark mark;
  mark.id = SampleId(9);
  mark.run = SampleId(1);
  schema::RunEnd end;
  end.run = SampleId(1);
  for (int round = 0; round < 2; ++round) {
    ASSERT_EQ(writer->AddRun(SampleRun()), WriteCode::kOk);
    ASSERT_EQ(writer->AddTags(SampleId(1), {{"a", "b"}}), WriteCode::kOk);
    ASSERT_EQ(writer->AddComponent(SampleId(1), component), WriteCode::kOk);
    ASSERT_EQ(writer->AddEvent(SampleEvent(1)), WriteCode::kOk);
    ASSERT_EQ(writer->AddGap(gap), WriteCode::kOk);
    ASSERT_EQ(writer->AddMark(mark), WriteCode::kOk);
    ASSERT_EQ(writer->AddRunEnd(end), WriteCode::kOk);
    ASSERT_EQ(writer->SetMeta("k", "v"), WriteCode::kOk);
    ASSERT_EQ(writer->Commit(), WriteCode::kOk);
  }
  const StoredSegment stored = ReadSegment(path_);
  EXPECT_EQ(stored.damage, "");
  for (const char* table : {"run", "component", "event", "gap", "mark", "run_end"}) {
    EXPECT_EQ(stored.counts.at(table), 1) << table;
  }
  EXPECT_EQ(stored.counts.at("run_tag"), 3);
  EXPECT_EQ(stored.meta.at("k"), "v");
}

TEST_F(SegmentWriterTest, AnEventOfAnUnknownRunIsRefusedAndRollsBack) {
  auto writer = Start();
  ASSERT_EQ(writer->Commit(), WriteCode::kOk);
  ASSERT_EQ(writer->AddEvent(SampleEvent(1)), WriteCode::kOk);
  EXPECT_EQ(writer->AddEvent(SampleEvent(3, 77)), WriteCode::kInvalid);
  EXPECT_NE(writer->last_error().find("does not hold run"), std::string::npos);
  ASSERT_EQ(writer->Commit(), WriteCode::kOk);
  EXPECT_TRUE(ReadSegment(path_).events.empty());
  ASSERT_EQ(writer->AddEvent(SampleEvent(1)), WriteCode::kOk);
  ASSERT_EQ(writer->Commit(), WriteCode::kOk);
  const StoredSegment stored = ReadSegment(path_);
  EXPECT_EQ(stored.damage, "");
  EXPECT_EQ(stored.events.size(), 1U);
}

TEST_F(SegmentWriterTest, AWriterThatGoesAwayKeepsItsLastCommit) {
  auto writer = Start();
  ASSERT_EQ(writer->AddEvent(SampleEvent(1)), WriteCode::kOk);
  ASSERT_EQ(writer->Commit(), WriteCode::kOk);
  ASSERT_EQ(writer->AddEvent(SampleEvent(3)), WriteCode::kOk);
  writer.reset();
  StoredSegment stored = ReadSegment(path_);
  EXPECT_EQ(stored.damage, "");
  EXPECT_EQ(stored.events.size(), 1U);
  writer = Reopen();
  ASSERT_EQ(writer->AddEvent(SampleEvent(3)), WriteCode::kOk);
  ASSERT_EQ(writer->Commit(), WriteCode::kOk);
  stored = ReadSegment(path_);
  EXPECT_EQ(stored.damage, "");
  EXPECT_EQ(stored.events.size(), 2U);
}

TEST_F(SegmentWriterTest, AnOpenCallIsFoundAgainAndEndsIncomplete) {
  auto writer = Start();
  const schema::Event begin = SampleEvent(5);
  ASSERT_EQ(writer->AddOpenCall(begin), WriteCode::kOk);
  ASSERT_EQ(writer->Commit(), WriteCode::kOk);
  writer.reset();
  writer = Reopen();
  schema::Event found;
  ASSERT_TRUE(writer->FindOpenCall(5, &found));
  EXPECT_FALSE(writer->FindOpenCall(6, &found));
  EXPECT_EQ(found.request.bytes, begin.request.bytes);
  EXPECT_EQ(found.run, begin.run);
  EXPECT_EQ(found.request_headers, begin.request_headers);
  EXPECT_EQ(found.in_flight, begin.in_flight);
  ASSERT_EQ(writer->CloseOpenCalls(), WriteCode::kOk);
  ASSERT_EQ(writer->Commit(), WriteCode::kOk);
  const StoredSegment stored = ReadSegment(path_);
  EXPECT_EQ(stored.damage, "");
  EXPECT_TRUE(stored.open_calls.empty());
  EXPECT_EQ(stored.events.at(5).end_state, schema::EndState::kIncomplete);
  EXPECT_EQ(stored.events.at(5).request.bytes, begin.request.bytes);
}

TEST_F(SegmentWriterTest, TheRequestOfAnOpenCallIsStoredOnce) {
  auto writer = Start();
  ASSERT_EQ(writer->AddOpenCall(SampleEvent(5)), WriteCode::kOk);
  ASSERT_EQ(writer->Commit(), WriteCode::kOk);
  ASSERT_EQ(writer->AddEvent(SampleEvent(5)), WriteCode::kOk);
  ASSERT_EQ(writer->Commit(), WriteCode::kOk);
  const StoredSegment stored = ReadSegment(path_);
  EXPECT_EQ(stored.damage, "");
  EXPECT_EQ(stored.counts.at("body"), 3);  // The run's input, request, response.
  EXPECT_TRUE(stored.open_calls.empty());
  ExpectSameEvent(stored.events.at(5), SampleEvent(5));
}

TEST_F(SegmentWriterTest, ARolledBackOpenCallIsOpenAgain) {
  auto writer = Start();
  ASSERT_EQ(writer->AddOpenCall(SampleEvent(5)), WriteCode::kOk);
  ASSERT_EQ(writer->Commit(), WriteCode::kOk);
  ASSERT_EQ(writer->AddEvent(SampleEvent(5)), WriteCode::kOk);
  EXPECT_EQ(writer->AddEvent(SampleEvent(9, 77)), WriteCode::kInvalid);
  schema::Event found;
  EXPECT_TRUE(writer->FindOpenCall(5, &found));
  ASSERT_EQ(writer->AddEvent(SampleEvent(5)), WriteCode::kOk);
  ASSERT_EQ(writer->Commit(), WriteCode::kOk);
  EXPECT_EQ(ReadSegment(path_).damage, "");
}

TEST_F(SegmentWriterTest, SealingMakesOneReadOnlyFileAndASignedLine) {
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
                               schema::ToHex(stored.head) + "\",\"rows\":" +
                               std::to_string(stored.rows) + ",\"previous\":\"\"}");
  EXPECT_FALSE(CheckManifestLine(line, std::string(32, 'x'), &unsigned_line, &mac));
  EXPECT_EQ(writer->AddEvent(SampleEvent(9)), WriteCode::kRefused);
}

TEST_F(SegmentWriterTest, SealingTwiceWritesOneLine) {
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
  EXPECT_EQ(FileBytes(manifest_), once);
}

TEST_F(SegmentWriterTest, AHalfManifestLineIsCutOff) {
  std::ofstream(manifest_) << "{\"segment\":\"01B";
  auto writer = Start();
  ASSERT_EQ(writer->Seal(manifest_), WriteCode::kOk);
  const std::string text = FileBytes(manifest_);
  EXPECT_EQ(text.find("01B"), std::string::npos);
  EXPECT_EQ(text.find("{\"segment\":\"01AAA"), 0U);
}

TEST_F(SegmentWriterTest, ASealedSegmentIsNotOpenedForWriting) {
  ASSERT_EQ(Start()->Seal(manifest_), WriteCode::kOk);
  SegmentOptions options = SampleOptions(path_);
  options.open = SegmentOptions::Open::kReopen;
  std::unique_ptr<SegmentWriter> writer;
  std::string why;
  EXPECT_EQ(SegmentWriter::Open(options, &writer, &why), WriteCode::kRefused);
  EXPECT_NE(why.find(path_), std::string::npos);
}

TEST_F(SegmentWriterTest, AFileThatIsThereIsNotOverwritten) {
  Start();
  std::unique_ptr<SegmentWriter> writer;
  std::string why;
  EXPECT_EQ(SegmentWriter::Open(SampleOptions(path_), &writer, &why), WriteCode::kRefused);
  EXPECT_NE(why.find("exists"), std::string::npos) << why;
}

TEST_F(SegmentWriterTest, AReaderInTheWayDelaysSealingAndLosesNothing) {
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
TEST_F(SegmentWriterTest, TheWalShrinksAfterAPinnedReaderLeaves) {
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

TEST_F(SegmentWriterTest, ANewerFileIsRefusedByItsVersion) {
  Start().reset();
  Tamper(path_, "PRAGMA user_version=7");
  SegmentOptions options = SampleOptions(path_);
  options.open = SegmentOptions::Open::kReopen;
  std::unique_ptr<SegmentWriter> writer;
  std::string why;
  EXPECT_EQ(SegmentWriter::Open(options, &writer, &why), WriteCode::kRefused);
  EXPECT_NE(why.find("version 7"), std::string::npos) << why;
}

TEST_F(SegmentWriterTest, AFileOfSomethingElseIsRefused) {
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

TEST_F(SegmentWriterTest, EveryKindOfTamperingBreaksTheChain) {
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

TEST_F(SegmentWriterTest, EqualAddsGiveEqualBundles) {
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

TEST_F(SegmentWriterTest, ACopyKeepsItsSaltAndSoItsDigest) {
  auto writer = Start();
  schema::Event event = SampleEvent(1);
  Salt salt;
  salt.fill(5);
  event.request.salt = salt;
  ASSERT_EQ(writer->AddEvent(event), WriteCode::kOk);
  ASSERT_EQ(writer->Commit(), WriteCode::kOk);
  EXPECT_EQ(ReadSegment(path_).events.at(1).request.salt, salt);
}

TEST_F(SegmentWriterTest, LongBodiesThatAreEqualAreStoredOnce) {
  auto writer = Start();
  const std::string document(5000, 'd');
  for (uint64_t sequence = 1; sequence < 6; ++sequence) {
    schema::Event event = SampleEvent(sequence);
    event.request.bytes = "q" + std::to_string(sequence);
    event.response.bytes = document;
    // The mark "redacted" is part of what a body is.
    event.response.redacted = sequence == 5;
    ASSERT_EQ(writer->AddEvent(event), WriteCode::kOk);
    ASSERT_EQ(writer->Commit(), WriteCode::kOk);
    // What is known of earlier bodies outlives the process.
    if (sequence == 2) {
      writer.reset();
      writer = Reopen();
    }
  }
  const StoredSegment stored = ReadSegment(path_);
  EXPECT_EQ(stored.damage, "");
  EXPECT_EQ(QueryOne(path_, "SELECT count(DISTINCT response_body) FROM event"), "2");
  EXPECT_TRUE(stored.events.at(5).response.redacted);
  EXPECT_FALSE(stored.events.at(4).response.redacted);
  const std::string expected =
      schema::ToHex(schema::HmacSha256(SampleKey(), std::string(1, '\0') + document)).substr(0, 32);
  EXPECT_EQ(QueryOne(path_,
                     "SELECT lower(hex(dedupe_key)) FROM body WHERE raw_size = 5000 AND flags = 0"),
            expected);
}

TEST_F(SegmentWriterTest, AComponentIsStoredOnceForAllItsRuns) {
  auto writer = OpenWriter(SampleOptions(path_));
  schema::Component component;
  component.kind = "guardrail";
  component.content.bytes = "short";
  for (uint8_t run = 1; run < 20; ++run) {
    ASSERT_EQ(writer->AddRun(SampleRun(run)), WriteCode::kOk);
    ASSERT_EQ(writer->AddComponent(SampleId(run), component), WriteCode::kOk);
  }
  ASSERT_EQ(writer->Commit(), WriteCode::kOk);
  EXPECT_EQ(ReadSegment(path_).damage, "");
  EXPECT_EQ(
      QueryOne(path_, "SELECT count(*) || ' ' || count(DISTINCT content_body) FROM component"),
      "19 1");
}

TEST_F(SegmentWriterTest, NoBodyOfALongConversationHasMoreThanSixteenFramesBehindIt) {
  auto writer = Start();
  std::string history = R"({"messages":[)";
  for (uint64_t turn = 1; turn <= 120; ++turn) {
    history += R"({"role":"user","content":"turn )" + std::to_string(turn * 7919) + R"("},)";
    schema::Event event = SampleEvent(turn);
    event.request.bytes = history + "]}";
    ASSERT_EQ(writer->AddEvent(event), WriteCode::kOk);
  }
  ASSERT_EQ(writer->Commit(), WriteCode::kOk);
  const StoredSegment stored = ReadSegment(path_);
  EXPECT_EQ(stored.damage, "");
  constexpr char kDepth[] =
      "WITH RECURSIVE link(body, depth) AS (SELECT ordinal, 0 FROM body WHERE base IS NULL UNION "
      "ALL"
      " SELECT body.ordinal, depth + 1 FROM link JOIN body ON body.base = link.body)"
      " SELECT max(depth) FROM link";
  const int depth = std::stoi(QueryOne(path_, kDepth));
  EXPECT_GT(depth, 8);
  EXPECT_LT(depth, kMaxPrefixLinks);
  // Few of the requests stand alone.
  constexpr char kAlone[] =
      "SELECT count(*) FROM event JOIN body ON body.ordinal = request_body WHERE base IS NULL";
  EXPECT_LE(std::stoi(QueryOne(path_, kAlone)), 4);
}

TEST_F(SegmentWriterTest, AHurriedWriterStoresBytesAsTheyAre) {
  auto writer = Start();
  writer->SetHurried(true);
  for (uint64_t sequence = 1; sequence < 9; ++sequence) {
    if (sequence == 5) writer->SetHurried(false);
    schema::Event event = SampleEvent(sequence);
    event.response.bytes.append(3000, 'z');
    ASSERT_EQ(writer->AddEvent(event), WriteCode::kOk);
  }
  ASSERT_EQ(writer->Commit(), WriteCode::kOk);
  const StoredSegment stored = ReadSegment(path_);
  EXPECT_EQ(stored.damage, "");
  EXPECT_EQ(stored.codecs.at(0), 9);
  EXPECT_EQ(stored.codecs.at(2), 8);  // The bodies before serve as prefixes all the same.
}

TEST_F(SegmentWriterTest, AVeryLargeBodyComesBack) {
  auto writer = Start();
  schema::Event event = SampleEvent(1);
  event.response.bytes.resize(size_t{64} << 20);
  for (size_t i = 0; i < event.response.bytes.size(); i += 1000) {
    event.response.bytes[i] = static_cast<char>(i / 1000);
  }
  ASSERT_EQ(writer->AddEvent(event), WriteCode::kOk) << writer->last_error();
  ASSERT_EQ(writer->Commit(), WriteCode::kOk);
  const StoredSegment stored = ReadSegment(path_);
  EXPECT_EQ(stored.damage, "");
  EXPECT_TRUE(stored.events.at(1).response.bytes == event.response.bytes);
}

TEST_F(SegmentWriterTest, AForkedChildTouchesNothing) {
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

TEST_F(SegmentWriterTest, TheFileIsForItsOwnerOnlyWhileItIsWritten) {
  auto writer = Start();
  ASSERT_EQ(writer->Commit(), WriteCode::kOk);
  for (const char* suffix : {"", "-wal", "-shm"}) {
    struct stat status {};

    ASSERT_EQ(::stat((path_ + suffix).c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777, 0600U) << suffix;
  }
}

TEST_F(SegmentWriterTest, AnEmptySegmentSeals) {
  auto writer = OpenWriter(SampleOptions(path_));
  ASSERT_EQ(writer->Seal(manifest_), WriteCode::kOk);
  EXPECT_EQ(ReadSegment(path_).damage, "");
}

TEST_F(SegmentWriterTest, ARunWithoutItsFolderIsAClearError) {
  std::unique_ptr<SegmentWriter> writer;
  std::string why;
  EXPECT_EQ(SegmentWriter::Open(SampleOptions(folder_.File("no/such.db")), &writer, &why),
            WriteCode::kRefused);
  EXPECT_NE(why.find("no/such.db"), std::string::npos);
}

}  // namespace
}  // namespace reenact::store
