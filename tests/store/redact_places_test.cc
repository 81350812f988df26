// Where a text may stand: every place of a run, every disguise, every kind of file.

#include <gtest/gtest.h>

#include "store/format/sqlite.h"
#include "tests/store/redacted_text.h"
#include "tests/support/content_encodings.h"

namespace reenact::store {
namespace {

// cases/reports.md 73, 74
TEST_F(StoreRedaction, NoPlaceAndNoDisguiseIsForgotten) {
  uint8_t number = 10;
  for (const Disguise& disguise : Disguises()) {
    auto writer = store_.NewSegment(1'700'000'000'000 + number * 1000);
    WriteRun(writer.get(), RunThatSays(disguise.text, number++));
    store_.Seal(writer.get());
  }
  {
    auto incidents = *Incidents::Open(store_.path());
    ASSERT_TRUE(incidents->Sync().ok());
    const auto list = *incidents->List();
    ASSERT_EQ(list.size(), Disguises().size());
    for (size_t i = 0; i < list.size(); ++i)
      ASSERT_TRUE(incidents->AddNote(list[i].id, "note " + Disguises()[i].text).ok());
    ASSERT_TRUE(OpenStore(store_.path())->Search("refund", 0).ok());
  }
  // The search that finds nothing afterwards finds it now, in every kind of file.
  const std::vector<std::string> before = FilesWith(store_.path(), kFirstWord);
  for (const char* name : {"catalog.db", "incidents.db"})
    EXPECT_EQ(std::count(before.begin(), before.end(), name), 1) << name;
  EXPECT_TRUE(HoldsAny(EverythingIn(store_.path())));

  const RedactionReport report = RedactAll(store_.path(), ErasureOf(kSecret));
  EXPECT_TRUE(report.left.empty()) << report.left.front();
  EXPECT_EQ(report.rewritten, 6);  // Five segments, and incidents.db.
  ExpectNoTrace(store_.path());
  ExpectSound(store_.path());
  EXPECT_FALSE(HoldsAny(EverythingIn(store_.path())));
  const auto incidents = *(*Incidents::Open(store_.path()))->List();
  EXPECT_EQ(incidents.front().title, "title [redacted]");
  EXPECT_EQ(incidents.front().notes.back().text, "note [redacted]");
  // Nor after what readers write.
  ASSERT_TRUE(OpenStore(store_.path())->Search("refund", 0).ok());
  ExpectNoTrace(store_.path());
}

TEST_F(StoreRedaction, ACopyOutlivesItsSegmentAndIsRedactedAlone) {
  auto writer = store_.NewSegment(1'700'000'009'000);
  WriteRun(writer.get(), RunThatSays(kSecret, 9));
  store_.Seal(writer.get());
  ASSERT_TRUE((*Incidents::Open(store_.path()))->Sync().ok());
  RedactionOptions options = ErasureOf(kSecret);
  const RedactionReport report = RedactAll(store_.path(), options);
  std::map<std::string, int> records;
  for (const RedactedRecord& record : report.records) ++records[record.file];
  EXPECT_GT(records["incidents.db"], 5);
  const auto run = OpenStore(store_.path())->LoadRun(RunId(9), {.bodies = true});
  ASSERT_TRUE(run.ok()) << run.status();
  EXPECT_EQ(run->end->output.bytes, "output [redacted]");
}

TEST_F(StoreRedaction, ABundleThatItIsToldOfIsRedactedAndReadsAsBefore) {
  const std::string path = store_.path() + "/told.reenact";
  Bundle bundle;
  bundle.runs = {RunThatSays(kSecret, 5), SampleRun(6)};
  bundle.meta = {{"incident.title", std::string("about ") + kSecret}};
  ASSERT_TRUE(WriteBundle(bundle, path, false).ok());
  RedactionOptions options = ErasureOf(kSecret);
  options.bundles = {path};
  const RedactionReport report = RedactAll(store_.path(), options);
  EXPECT_EQ(report.rewritten, 2);
  EXPECT_TRUE(FilesWith(store_.path(), kSecret).empty());
  ExpectSound(path);
  const auto read = ReadBundle(path);
  ASSERT_TRUE(read.ok()) << read.status();
  ASSERT_EQ(read->runs.size(), 2u);
  EXPECT_EQ(read->meta[0].second, "about [redacted]");
  ExpectSameRun(bundle.runs[1], read->runs[1]);
  // Alone as well, and then there is nothing left to do.
  const std::string once = testing::FileBytes(path);
  EXPECT_EQ(RedactAll(path, ErasureOf(kSecret)).rewritten, 0);
  EXPECT_EQ(once, testing::FileBytes(path));
}

// A conversation: each request has the one before it as its prefix.
TEST_F(StoreRedaction, NoFrameKeepsWhatItsPrefixLost) {
  schema::RecordedRun talk = SampleRun(7);
  talk.events.clear();
  std::string history;
  for (uint64_t turn = 1; turn <= 12; ++turn) {
    // Said in the third turn, and quoted in no later one but as history.
    history += "turn " + std::to_string(turn) + (turn == 3 ? kSecret : "") +
               std::string(300, static_cast<char>('a' + turn));
    schema::Event event = ModelCall(2 * turn, history, "answer " + std::to_string(turn));
    event.run = talk.run.id;
    talk.events.push_back(event);
  }
  // One that shares the beginning with them and never held the text.
  schema::Event other = ModelCall(30, history.substr(0, 600) + std::string(900, 'z'), "no");
  other.run = talk.run.id;
  talk.events.push_back(other);
  auto writer = store_.NewSegment(1'700'000'007'000);
  WriteRun(writer.get(), talk);
  store_.Seal(writer.get());
  const auto count_prefixed = [path = writer->path()] {
    sqlite::Connection connection;
    int64_t count = 0;
    EXPECT_EQ(connection.Open(path, sqlite::OpenMode::kImmutable), sqlite::Failure::kNone);
    EXPECT_EQ(connection.QueryInteger("SELECT count(*) FROM body WHERE codec = 2", &count),
              sqlite::Failure::kNone);
    return count;
  };
  const int64_t before = count_prefixed();
  EXPECT_GT(before, 8);
  EXPECT_EQ(RedactAll(store_.path(), ErasureOf(kSecret)).rewritten, 2);
  EXPECT_EQ(count_prefixed(), before);
  ExpectSound(store_.path());
  const auto run = OpenStore(store_.path())->LoadRun(RunId(7), {.bodies = true});
  ASSERT_TRUE(run.ok()) << run.status();
  for (size_t i = 0; i < talk.events.size(); ++i) {
    std::string expected = talk.events[i].request.bytes;
    if (const size_t at = expected.find(kSecret); at != std::string::npos)
      expected.replace(at, sizeof(kSecret) - 1, "[redacted]");
    EXPECT_EQ(run->events[i].request.bytes, expected) << i;
    EXPECT_EQ(run->events[i].request.redacted, i >= 2 && i != 12) << i;
  }
}

TEST_F(StoreRedaction, ValuesOfANameGoWhereverTheNameStands) {
  schema::RecordedRun run = SampleRun(8);
  run.run.input = Bytes(R"({"Email":"jane doe","order":7})");
  run.run.tags = {{"EMAIL", "jane doe"}, {"tenant", "acme"}};
  run.events[0].endpoint = "https://h.example/x?email=jane%20doe&page=2";
  run.events[0].request_headers = {{"x-stainless-email", "kept"}, {"email", "jane doe"}};
  auto writer = store_.NewSegment(1'700'000'008'000);
  WriteRun(writer.get(), run);
  store_.Seal(writer.get());
  RedactionOptions options;
  options.policy.extra_json_keys = {"email"};
  RedactAll(store_.path(), options);
  const auto read = OpenStore(store_.path())->LoadRun(RunId(8), {.bodies = true});
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->run.input.bytes, R"({"Email":"[redacted]","order":7})");
  EXPECT_EQ(read->run.tags, (schema::Tags{{"EMAIL", "[redacted]"}, {"tenant", "acme"}}));
  EXPECT_EQ(read->events[0].endpoint, "https://h.example/x?email=[redacted]&page=2");
  EXPECT_EQ(read->events[0].request_headers[1].second, "[redacted]");
  // A replay learns from the run which names to look at.
  EXPECT_EQ(read->run.process.back(),
            (std::pair<std::string, std::string>("redacted_keys", "email")));
}

// Two answers of the same bytes are one body, until the way to read them makes them two.
TEST_F(StoreRedaction, ASharedBodyThatIsReadInTwoWaysBecomesTwo) {
  std::string noise;
  for (uint32_t i = 1, x = 1; i < 3000; ++i)
    noise += static_cast<char>('A' + (x = x * 69069 + i) / 65536 % 26);
  const std::string deflated = testing::Encoded(noise + " " + kSecret + " " + noise, "deflate");
  schema::RecordedRun run = SampleRun(20);
  run.events = {ToolCallEvent(1, "a", "{}", deflated), ToolCallEvent(3, "b", "{}", deflated)};
  run.events[1].exchange.insert(run.events[1].exchange.begin(),
                                {.kind = schema::ExchangeItemKind::kHead,
                                 .status = 200,
                                 .headers = {{"content-encoding", "deflate"}}});
  run.components.clear();
  for (schema::Event& event : run.events) event.run = run.run.id;
  auto writer = store_.NewSegment(1'700'000'020'000);
  WriteRun(writer.get(), run);
  WriteRun(writer.get(), SampleRun(21));
  store_.Seal(writer.get());
  ASSERT_GT(deflated.size(), 1024u);
  EXPECT_EQ(RedactAll(store_.path(), ErasureOf(kSecret)).rewritten, 2);
  ExpectSound(store_.path());
  const auto store = OpenStore(store_.path());
  const auto read = store->LoadRun(RunId(20), {.bodies = true});
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_TRUE(read->events[0].response.bytes == deflated);
  EXPECT_TRUE(read->events[1].response.bytes == noise + " [redacted] " + noise);
  const auto behind = store->LoadRun(RunId(21), {.bodies = true});
  ASSERT_TRUE(behind.ok()) << behind.status();
  EXPECT_EQ(behind->events[1].response.bytes, R"({"total":"120.00"})");
}

TEST_F(StoreRedaction, ATextAcrossTwoAttemptsIsFound) {
  const std::string first = "half an answer: zebulon qui";
  const std::string second = "gley/4711, and the rest";
  schema::RecordedRun run = SampleRun(22);
  run.events = {ToolCallEvent(1, "a", "{}", first + second)};
  run.events[0].run = run.run.id;
  run.events[0].exchange = {{.kind = schema::ExchangeItemKind::kBytes, .size = first.size()},
                            {.kind = schema::ExchangeItemKind::kAttemptEnd, .detail = "reset"},
                            {.kind = schema::ExchangeItemKind::kBytes, .size = second.size()}};
  auto writer = store_.NewSegment(1'700'000'022'000);
  WriteRun(writer.get(), run);
  store_.Seal(writer.get());
  RedactAll(store_.path(), ErasureOf(kSecret));
  EXPECT_TRUE(FilesWith(store_.path(), kSecret).empty());
  const auto read = OpenStore(store_.path())->LoadRun(RunId(22), {.bodies = true});
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->events[0].response.bytes, "half an answer: [redacted], and the rest");
}

}  // namespace
}  // namespace reenact::store
