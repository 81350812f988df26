// What is added to a segment and comes back from it: events, open calls, bodies.

#include "store/writer/segment_writer.h"

#include <filesystem>
#include <limits>
#include <memory>
#include <string>

#include "gtest/gtest.h"

#include "store/format/body_codec.h"
#include "store/format/chain.h"
#include "store/format/posix_file.h"
#include "tests/store/file_bytes.h"
#include "tests/store/segment_samples.h"
#include "tests/support/segment_oracle.h"
#include "tests/support/temp_folder.h"

namespace reenact::store {
namespace {

using namespace reenact::testing;  // NOLINT(google-build-using-namespace)

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

}  // namespace
}  // namespace reenact::store
