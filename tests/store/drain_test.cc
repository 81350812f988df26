#include "store/writer/drain.h"

#include <sys/stat.h>

#include <map>

#include "gtest/gtest.h"

#include "store/format/sqlite.h"
#include "store/reader/store_reader.h"
#include "tests/store/memory_folder.h"
#include "tests/store/recording.h"
#include "tests/support/content_encodings.h"

namespace reenact::store {
namespace {

constexpr char kSecret[] = "hunter2-is-no-password";

std::string Gzip(std::string_view text) {
  return reenact::testing::Encoded(text, "gzip");
}

class DrainTest : public ::testing::Test {
 protected:
  void SetUp() override { Start(schema::RedactionPolicy{.secrets = {kSecret}}); }

  void Start(const schema::RedactionPolicy& policy) {
    layout_.root = disk_.path() + "/store";
    std::string why;
    ASSERT_TRUE(PrepareStore(layout_, &key_, &why)) << why;
    const ProcessIdentity process = ThisProcess();
    ring_ = Ring::Create({process.pid, process.start, process.boot_id, layout_.root, ""}, policy,
                         8 << 20, &why);
    ASSERT_NE(ring_, nullptr) << why;
    drain_ = std::make_unique<Drain>(ring_.get());
    segment_ = NewSegment();
  }

  std::unique_ptr<SegmentWriter> NewSegment() {
    SegmentOptions options;
    options.segment_id = NewUlid();
    options.path = layout_.segment(options.segment_id);
    options.store_key = key_;
    std::unique_ptr<SegmentWriter> segment;
    std::string why;
    EXPECT_EQ(SegmentWriter::Open(options, &segment, &why), WriteCode::kOk) << why;
    return segment;
  }

  Recording NewRecording() {
    return Recording([this](RecordKind kind, std::string_view head, std::string_view tail) {
      const std::string_view pieces[] = {head, tail};
      DropReason reason;
      return ring_->Append(static_cast<uint8_t>(kind), pieces, 2, &reason);
    });
  }

  DrainResult DrainAll() {
    DrainResult sum;
    while (drain_->HasWork(segment_.get())) {
      const DrainResult result = drain_->Batch(segment_.get(), false);
      EXPECT_EQ(result.code, WriteCode::kOk) << segment_->last_error();
      if (result.code != WriteCode::kOk) break;
      sum.records += result.records;
      sum.lost += result.lost;
      sum.spilled_bytes_freed += result.spilled_bytes_freed;
    }
    return sum;
  }

  schema::RecordedRun Load(const schema::Ulid& run) {
    auto reader = StoreReader::Open(layout_.root);
    EXPECT_TRUE(reader.ok()) << reader.status();
    if (!reader.ok()) return {};
    auto loaded = (*reader)->LoadRun(run, {});
    EXPECT_TRUE(loaded.ok()) << loaded.status();
    return loaded.ok() ? *std::move(loaded) : schema::RecordedRun{};
  }

  int64_t Count(const std::string& sql) {
    sqlite::Connection connection;
    EXPECT_EQ(connection.Open(segment_->path(), sqlite::OpenMode::kReadOnly),
              sqlite::Failure::kNone);
    int64_t value = -1;
    EXPECT_EQ(connection.QueryInteger(sql.c_str(), &value), sqlite::Failure::kNone);
    return value;
  }

  std::map<std::string, int64_t> Gaps() {
    std::map<std::string, int64_t> gaps;
    for (const char* reason : {"ring_full", "oversize", "damaged", "unpaired", "unknown_run"}) {
      const int64_t count = Count("SELECT COALESCE(SUM(count), 0) FROM gap WHERE reason = '" +
                                  std::string(reason) + "'");
      if (count > 0) gaps[reason] = count;
    }
    return gaps;
  }

  MemoryFolder memory_;
  DiskFolder disk_;
  StoreLayout layout_;
  std::string key_;
  std::unique_ptr<Ring> ring_;
  std::unique_ptr<Drain> drain_;
  std::unique_ptr<SegmentWriter> segment_;
};

TEST_F(DrainTest, ARunComesBackWhole) {
  Recording run = NewRecording();
  run.Begin("the input");
  run.Component("Be kind.");
  run.Call(R"({"model":"m"})", R"({"answer":1})");
  run.Read(42);
  run.End("the output");
  EXPECT_EQ(DrainAll().records, 6u);
  const schema::RecordedRun loaded = Load(run.run());
  EXPECT_EQ(loaded.run.input.bytes, "the input");
  ASSERT_TRUE(loaded.end);
  EXPECT_EQ(loaded.end->output.bytes, "the output");
  ASSERT_EQ(loaded.components.size(), 1u);
  EXPECT_EQ(loaded.components[0].content.bytes, "Be kind.");
  ASSERT_EQ(loaded.events.size(), 2u);
  EXPECT_EQ(loaded.events[0].sequence, 3u);
  EXPECT_EQ(loaded.events[0].end_sequence, 4u);
  EXPECT_EQ(loaded.events[0].request.bytes, R"({"model":"m"})");
  EXPECT_EQ(loaded.events[0].response.bytes, R"({"answer":1})");
  EXPECT_FALSE(loaded.events[0].response.redacted);
  EXPECT_EQ(loaded.events[0].exchange.size(), 2u);
  EXPECT_EQ(loaded.events[1].value, 42u);
  EXPECT_EQ(loaded.events[1].end_sequence, 5u);
}

TEST_F(DrainTest, OnlyCallsThatSpanBatchesAreKeptOpen) {
  Recording run = NewRecording();
  run.Begin();
  run.Call("request", "response");
  const uint64_t open = run.BeginCall("second request");
  DrainAll();
  EXPECT_EQ(drain_->open_call_count(), 1u);
  EXPECT_EQ(Count("SELECT COUNT(*) FROM open_call"), 1);
  EXPECT_EQ(Count("SELECT COUNT(*) FROM event"), 1);
  run.EndCall(open, "second response");
  DrainAll();
  EXPECT_EQ(drain_->open_call_count(), 0u);
  EXPECT_EQ(Count("SELECT COUNT(*) FROM open_call"), 0);
  EXPECT_EQ(Load(run.run()).events.at(1).request.bytes, "second request");
}

TEST_F(DrainTest, SecretsDoNotReachTheSegment) {
  const std::string secret(kSecret);
  Recording run = NewRecording();
  run.Begin("input with " + secret);
  run.Component("content with " + secret);
  run.Call(R"({"key":")" + secret + R"("})", "data: {\"x\":\"" + secret + "\"}\n\n");
  const uint64_t begin = run.BeginCall(Gzip("zipped request " + secret));
  run.EndCall(begin, Gzip("zipped response " + secret), {{"Content-Encoding", "gzip"}});
  run.End("output with " + secret);
  DrainAll();
  EXPECT_EQ(FilesWith(layout_.root, secret), std::vector<std::string>());
  EXPECT_EQ(FilesWith(memory_.path(), "with " + secret), std::vector<std::string>());
  const schema::RecordedRun loaded = Load(run.run());
  EXPECT_EQ(loaded.run.input.bytes, "input with [redacted]");
  EXPECT_TRUE(loaded.run.input.redacted);
  EXPECT_EQ(loaded.events.at(0).request.bytes, R"({"key":"[redacted]"})");
  const schema::Event& zipped = loaded.events.at(1);
  EXPECT_EQ(zipped.request.bytes, "zipped request [redacted]");
  EXPECT_EQ(zipped.response.bytes, "zipped response [redacted]");
  EXPECT_TRUE(zipped.response.redacted);
  EXPECT_EQ(schema::BodySize(zipped.exchange), zipped.response.bytes.size());
  EXPECT_TRUE(zipped.exchange.at(0).headers.empty()) << "it is not gzip any more";
  const schema::Tags expected = {{"request_decoded", "gzip"}, {"decoded", "gzip"}};
  EXPECT_EQ(zipped.meta, expected);
}

TEST_F(DrainTest, CleanCompressedBodiesStayAsTheyCame) {
  Recording run = NewRecording();
  run.Begin();
  const std::string wire = Gzip("nothing to hide");
  run.EndCall(run.BeginCall("r"), wire, {{"content-encoding", "gzip"}});
  run.EndCall(run.BeginCall("r"), "\x0b\x02\x80no brotli here", {{"content-encoding", "br"}});
  run.EndCall(run.BeginCall("r"), wire.substr(0, 9), {{"content-encoding", "gzip"}});
  DrainAll();
  const schema::RecordedRun loaded = Load(run.run());
  EXPECT_TRUE(loaded.events.at(0).response.bytes == wire);
  EXPECT_FALSE(loaded.events.at(0).response.redacted);
  EXPECT_EQ(loaded.events.at(0).exchange.at(0).headers.size(), 1u);
  EXPECT_EQ(loaded.events.at(1).meta, (schema::Tags{{"opaque_encoding", "br"}}));
  EXPECT_EQ(loaded.events.at(2).meta, (schema::Tags{{"opaque_encoding", "gzip"}}));
}

TEST_F(DrainTest, ABombIsCutNotInflated) {
  Recording run = NewRecording();
  run.Begin();
  const std::string bomb = Gzip(std::string(size_t{80} << 20, 'a'));
  run.EndCall(run.BeginCall("r"), bomb, {{"content-encoding", "gzip"}});
  DrainAll();
  const schema::Event event = Load(run.run()).events.at(0);
  EXPECT_LE(event.response.bytes.size(), size_t{64} << 20);
  EXPECT_TRUE(event.response.cut);
  EXPECT_EQ(event.response.original_size, bomb.size());
}

TEST_F(DrainTest, WithoutRedactionBytesAreUntouched) {
  ring_->Remove();
  Start(schema::RedactionPolicy{.enabled = false, .secrets = {kSecret}});
  Recording run = NewRecording();
  run.Begin();
  const std::string wire = Gzip(kSecret);
  run.EndCall(run.BeginCall(kSecret), wire, {{"content-encoding", "gzip"}});
  DrainAll();
  const schema::Event event = Load(run.run()).events.at(0);
  EXPECT_EQ(event.request.bytes, kSecret);
  EXPECT_TRUE(event.response.bytes == wire);
}

TEST_F(DrainTest, LearnedSecretsAreRedacted) {
  Recording run = NewRecording();
  run.Begin();
  ring_->LearnSecret("learned-from-a-header");
  run.Call("echo learned-from-a-header", "ok");
  DrainAll();
  EXPECT_EQ(Load(run.run()).events.at(0).request.bytes, "echo [redacted]");
}

TEST_F(DrainTest, WhatCannotBeStoredIsCountedAndTold) {
  Recording known = NewRecording();
  Recording unknown = NewRecording();
  known.Begin();
  unknown.Call("its run was dropped", "x");
  unknown.Read(1);
  known.EndCall(999, "its beginning was dropped");
  const std::string_view garbage = "garbage";
  DropReason reason;
  ring_->Append(static_cast<uint8_t>(RecordKind::kRun), &garbage, 1, &reason);
  ring_->Append(99, &garbage, 1, &reason);
  known.Call("good", "good");
  const DrainResult result = DrainAll();
  EXPECT_EQ(result.records, 3u);
  EXPECT_EQ(result.lost, 6u);
  const std::map<std::string, int64_t> expected = {
      {"damaged", 2}, {"unknown_run", 3}, {"unpaired", 1}};
  EXPECT_EQ(Gaps(), expected);
  EXPECT_EQ(Load(known.run()).events.size(), 1u);
}

TEST_F(DrainTest, DropsBecomeGapRowsOnce) {
  Recording run = NewRecording();
  run.Begin();
  for (int i = 0; i < 7; ++i) ring_->CountDrop(DropReason::kRingFull, 100);
  ring_->CountDrop(DropReason::kOversize, 5000);
  DrainAll();
  const std::map<std::string, int64_t> expected = {{"oversize", 1}, {"ring_full", 7}};
  EXPECT_EQ(Gaps(), expected);
  EXPECT_EQ(Count("SELECT bytes FROM gap WHERE reason = 'ring_full'"), 700);
  ring_->CountDrop(DropReason::kRingFull, 1);
  run.Read(1);
  DrainAll();
  EXPECT_EQ(Gaps(), expected) << "the next one is not due yet";
  drain_->DeclareLossesNow();
  DrainAll();
  EXPECT_EQ(Gaps()["ring_full"], 8);
  EXPECT_EQ(Count("SELECT COUNT(*) FROM gap"), 3);
}

TEST_F(DrainTest, ANewSegmentCanBeReadAlone) {
  Recording run = NewRecording();
  run.Begin("the input");
  run.Component("Be kind.");
  const uint64_t open = run.BeginCall("before");
  Recording done = NewRecording();
  done.Begin();
  done.End();
  DrainAll();
  std::unique_ptr<SegmentWriter> next = NewSegment();
  ASSERT_EQ(drain_->CarryOver(next.get(), segment_.get()), WriteCode::kOk);
  ASSERT_EQ(segment_->Seal(layout_.manifest()), WriteCode::kOk);
  segment_ = std::move(next);
  run.EndCall(open, "after");
  run.Call("later", "later");
  run.End();
  DrainAll();
  EXPECT_EQ(Count("SELECT COUNT(*) FROM run"), 1) << "the finished run is not carried";
  EXPECT_EQ(Count("SELECT COUNT(*) FROM component"), 1);
  EXPECT_FALSE(drain_->HasOpenRuns());
  const schema::RecordedRun loaded = Load(run.run());
  ASSERT_EQ(loaded.events.size(), 2u);
  EXPECT_EQ(loaded.events[0].request.bytes, "before");
  EXPECT_EQ(loaded.events[0].response.bytes, "after");
  EXPECT_EQ(loaded.events[0].end_state, schema::EndState::kComplete);
  EXPECT_EQ(loaded.components.size(), 1u);
}

TEST_F(DrainTest, ACallMayOutliveItsRun) {
  Recording run = NewRecording();
  run.Begin();
  const uint64_t open = run.BeginCall("before");
  run.End();
  DrainAll();
  std::unique_ptr<SegmentWriter> next = NewSegment();
  ASSERT_EQ(drain_->CarryOver(next.get(), segment_.get()), WriteCode::kOk);
  ASSERT_EQ(segment_->Seal(layout_.manifest()), WriteCode::kOk);
  segment_ = std::move(next);
  run.EndCall(open, "after");
  EXPECT_EQ(DrainAll().lost, 0u);
  EXPECT_EQ(Load(run.run()).events.at(0).response.bytes, "after");
}

TEST_F(DrainTest, AFailedBatchIsWrittenIntoTheNextSegment) {
  Recording run = NewRecording();
  run.Begin();
  const uint64_t open = run.BeginCall("request");
  DrainAll();
  ASSERT_EQ(segment_->Seal(""), WriteCode::kOk);
  run.EndCall(open, "response");
  ASSERT_TRUE(drain_->HasWork(segment_.get()));
  EXPECT_EQ(drain_->Batch(segment_.get(), false).code, WriteCode::kRefused);
  segment_ = NewSegment();
  ASSERT_EQ(drain_->CarryOver(segment_.get(), nullptr), WriteCode::kOk);
  EXPECT_EQ(Count("SELECT COUNT(*) FROM open_call"), 1) << "ended in memory, open on the disk";
  run.Read(7);
  DrainAll();
  const schema::RecordedRun loaded = Load(run.run());
  ASSERT_EQ(loaded.events.size(), 2u);
  EXPECT_EQ(loaded.events[0].response.bytes, "response");
}

TEST_F(DrainTest, SpilledBodiesAreStoredAndTheirFilesRemoved) {
  Recording run = NewRecording();
  run.Begin();
  const std::string body = std::string(3 << 20, 'b') + kSecret;
  SpilledBody spilled{.path = ring_->SpillPath(1), .size = body.size()};
  std::ofstream(spilled.path, std::ios::binary) << body;
  SpilledBody cut{.path = ring_->SpillPath(2), .size = 10, .cut = true, .original_size = 99};
  std::ofstream(cut.path, std::ios::binary) << "0123456789";
  run.EndCall(run.BeginCall("", spilled), "", {}, cut);
  const DrainResult result = DrainAll();
  EXPECT_EQ(result.spilled_bytes_freed, body.size() + 10);
  EXPECT_NE(access(spilled.path.c_str(), F_OK), 0);
  EXPECT_NE(access(cut.path.c_str(), F_OK), 0);
  const schema::Event event = Load(run.run()).events.at(0);
  EXPECT_TRUE(event.request.bytes == std::string(3 << 20, 'b') + "[redacted]");
  EXPECT_EQ(event.response.bytes, "0123456789");
  EXPECT_TRUE(event.response.cut);
  EXPECT_EQ(event.response.original_size, 99u);
  EXPECT_EQ(schema::BodySize(event.exchange), 10u);
}

TEST_F(DrainTest, APathThatIsNoSpillFileOfTheRingIsNotRead) {
  const std::string other = disk_.path() + "/other";
  std::ofstream(other) << "not yours";
  Recording run = NewRecording();
  run.Begin();
  run.EndCall(run.BeginCall("", SpilledBody{.path = other, .size = 9}), "ok");
  DrainAll();
  EXPECT_EQ(Load(run.run()).events.at(0).request.bytes, "");
  EXPECT_EQ(access(other.c_str(), F_OK), 0);
}

}  // namespace
}  // namespace reenact::store
