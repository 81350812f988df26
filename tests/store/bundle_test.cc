#include "store/reader/bundle.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "store/reader/store_reader.h"
#include "tests/store/file_bytes.h"
#include "tests/store/recorded_store.h"

namespace reenact::store {
namespace {

// Bytes that every careless layer changes.
schema::RecordedRun AwkwardRun(uint8_t number) {
  schema::RecordedRun recorded = SampleRun(number);
  recorded.run.entry = std::string("POST \xff\x00 /refund", 16);
  recorded.run.tags.push_back({"bytes", "\xf0\x9f\x2f"});
  auto& model = recorded.events[0];
  // cases/reports.md 67: an escape of half a character. 68: no UTF-8. 71: keys twice, NUL, a mark.
  model.request.bytes =
      "\xef\xbb\xbf{\"a\":1,\"a\":2,\"content\":\"done \\ud83d\",\"b\":\"\\/\\u0000\"}";
  auto& tool = recorded.events[1];
  tool.response.bytes = std::string("\xf0\x9f\x2f\x00\xed\xa0\xbd", 7);
  tool.response.redacted = true;
  tool.exchange[0].size = tool.response.bytes.size();
  // cases/reports.md 65
  recorded.events[2].value = 18446744073709551615U;
  schema::Event half = RandomDraw(recorded.events[2].sequence + 2, 9223372036854775808U);
  half.run = recorded.run.id;
  recorded.events.push_back(half);
  // cases/reports.md 70
  schema::Event cut = ToolCallEvent(half.sequence + 2, "export", "{}", std::string(1000, 'x'));
  cut.run = recorded.run.id;
  cut.response.cut = true;
  cut.response.original_size = 5'400'000;
  cut.response.original_digest = schema::HashBytes("the whole");
  cut.end_state = schema::EndState::kTruncatedByLimit;
  recorded.events.push_back(cut);
  recorded.gaps.push_back({.at = recorded.run.started, .reason = "ring_full", .count = 3});
  recorded.marks.push_back(
      {.id = RunId(200), .run = recorded.run.id, .title = "wrong \xff", .at = At(5)});
  return recorded;
}

Bundle AwkwardBundle() {
  Bundle bundle;
  bundle.runs = {AwkwardRun(1), AwkwardRun(2)};
  bundle.runs[1].marks[0].id = RunId(201);
  // Two processes count their events each from 1.
  for (size_t i = 0; i < bundle.runs[1].events.size(); ++i) {
    bundle.runs[1].events[i].sequence = bundle.runs[0].events[i].sequence;
    bundle.runs[1].events[i].end_sequence = bundle.runs[0].events[i].end_sequence;
  }
  bundle.meta = {{"expect", "output"}, {"who", "\xc3\x28"}};
  return bundle;
}

void ExpectSameBundle(const Bundle& expected, const Bundle& actual) {
  EXPECT_EQ(expected.meta, actual.meta);
  ASSERT_EQ(expected.runs.size(), actual.runs.size());
  for (size_t i = 0; i < expected.runs.size(); ++i) ExpectSameRun(expected.runs[i], actual.runs[i]);
}

TEST(Bundle, IsReadBackAsItWasWritten) {
  RecordedStore store;
  const std::string path = store.path() + "/incident.reenact";
  const Bundle bundle = AwkwardBundle();
  absl::Status written = WriteBundle(bundle, path, false);
  ASSERT_TRUE(written.ok()) << written;
  auto read = ReadBundle(path);
  ASSERT_TRUE(read.ok()) << read.status();
  ExpectSameBundle(bundle, *read);
  auto reader = StoreReader::Open(path);
  ASSERT_TRUE(reader.ok()) << reader.status();
  EXPECT_TRUE((*reader)->is_bundle());
  EXPECT_EQ(*(*reader)->Meta(), bundle.meta);
  EXPECT_EQ((*reader)->ListRuns({})->size(), 2U);
  auto loaded = (*reader)->LoadRun(RunId(2), {});
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  ExpectSameRun(bundle.runs[1], *loaded);
}

// cases/replay.md 33
TEST(Bundle, TheSameContentGivesTheSameBytes) {
  RecordedStore store;
  const Bundle bundle = AwkwardBundle();
  ASSERT_TRUE(WriteBundle(bundle, store.path() + "/a", false).ok());
  ASSERT_TRUE(WriteBundle(bundle, store.path() + "/b", false).ok());
  const std::string bytes = reenact::testing::FileBytes(store.path() + "/a");
  EXPECT_GT(bytes.size(), 1000U);
  EXPECT_EQ(bytes, reenact::testing::FileBytes(store.path() + "/b"));
  // And so does a bundle made of what was read from one.
  auto read = ReadBundle(store.path() + "/a");
  ASSERT_TRUE(read.ok()) << read.status();
  ASSERT_TRUE(WriteBundle(*read, store.path() + "/c", false).ok());
  EXPECT_EQ(bytes, reenact::testing::FileBytes(store.path() + "/c"));
  ASSERT_TRUE(WriteBundle(*ReadBundle(store.path() + "/c"), store.path() + "/d", false).ok());
  EXPECT_EQ(reenact::testing::FileBytes(store.path() + "/c"),
            reenact::testing::FileBytes(store.path() + "/d"));
}

TEST(Bundle, AnExistingFileIsKeptUnlessReplaced) {
  RecordedStore store;
  const std::string path = store.path() + "/incident.reenact";
  std::ofstream(path) << "mine";
  Bundle bundle;
  bundle.runs = {SampleRun(1)};
  EXPECT_EQ(WriteBundle(bundle, path, false).code(), absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(reenact::testing::FileBytes(path), "mine");
  EXPECT_TRUE(WriteBundle(bundle, path, true).ok());
  EXPECT_TRUE(ReadBundle(path).ok());
  EXPECT_EQ(WriteBundle(bundle, store.path() + "/nowhere/x", false).code(),
            absl::StatusCode::kPermissionDenied);
  for (const auto& entry : std::filesystem::directory_iterator(store.path()))
    EXPECT_EQ(entry.path().string().find(".tmp"), std::string::npos) << entry.path();
}

// A rename would put a file in the place of a device.
TEST(Bundle, OnlyARegularFileIsReplaced) {
  RecordedStore store;
  const std::string fifo = store.path() + "/fifo";
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  EXPECT_EQ(WriteBundle({}, fifo, true).code(), absl::StatusCode::kFailedPrecondition);

  struct stat status {};

  ASSERT_EQ(stat(fifo.c_str(), &status), 0);
  EXPECT_TRUE(S_ISFIFO(status.st_mode));
}

TEST(Bundle, SequencesThatCannotBeKeptApartAreRefused) {
  RecordedStore store;
  Bundle bundle;
  bundle.runs = {SampleRun(1)};
  bundle.runs[0].events[1].sequence = bundle.runs[0].events[0].sequence;
  EXPECT_EQ(WriteBundle(bundle, store.path() + "/x", false).code(),
            absl::StatusCode::kInvalidArgument);
}

// cases/replay.md 20
TEST(Bundle, AChangedByteIsNeverReadAsARun) {
  RecordedStore store;
  const std::string path = store.path() + "/x";
  Bundle bundle;
  bundle.runs = {SampleRun(1)};
  ASSERT_TRUE(WriteBundle(bundle, path, false).ok());
  Tamper(path, "UPDATE event SET name = 'lookup_account' WHERE name = 'lookup_order'");
  const absl::Status changed = ReadBundle(path).status();
  EXPECT_EQ(changed.code(), absl::StatusCode::kDataLoss);
  EXPECT_NE(changed.message().find("does not fit the chain"), absl::string_view::npos) << changed;
}

// cases/replay.md 36
TEST(Bundle, ImportingTwiceAddsOnce) {
  RecordedStore store;
  const Bundle bundle = AwkwardBundle();
  auto first = ImportRuns(bundle, store.path());
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_EQ(*first, 2);
  auto second = ImportRuns(bundle, store.path());
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_EQ(*second, 0);
  auto reader = StoreReader::Open(store.path());
  ASSERT_TRUE(reader.ok());
  EXPECT_EQ((*reader)->ListRuns({})->size(), 2U);
  auto loaded = (*reader)->LoadRun(RunId(2), {});
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  ExpectSameRun(bundle.runs[1], *loaded);
  Bundle changed = bundle;
  changed.runs[1].events[0].response.bytes[3] ^= 1;
  const absl::Status refused = ImportRuns(changed, store.path()).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kDataLoss);
  EXPECT_NE(refused.message().find(ToString(RunId(2))), absl::string_view::npos) << refused;
}

TEST(Jsonl, EveryByteComesBack) {
  const Bundle bundle = AwkwardBundle();
  const std::string text = ToJsonl(bundle);
  auto read = FromJsonl(text);
  ASSERT_TRUE(read.ok()) << read.status();
  ExpectSameBundle(bundle, *read);
  EXPECT_EQ(ToJsonl(*read), text);
  EXPECT_NE(text.find("\"18446744073709551615\""), std::string::npos);
}

TEST(Jsonl, SaltsTravelSoThatACopyCommitsToTheSameDigests) {
  RecordedStore store;
  Bundle bundle;
  bundle.runs = {SampleRun(1)};
  ASSERT_TRUE(WriteBundle(bundle, store.path() + "/a", false).ok());
  auto read = ReadBundle(store.path() + "/a");
  ASSERT_TRUE(read.ok());
  auto back = FromJsonl(ToJsonl(*read));
  ASSERT_TRUE(back.ok()) << back.status();
  ExpectSameBundle(*read, *back);
  ASSERT_TRUE(WriteBundle(*back, store.path() + "/b", false).ok());
  EXPECT_EQ(reenact::testing::FileBytes(store.path() + "/a"),
            reenact::testing::FileBytes(store.path() + "/b"));
}

TEST(Jsonl, RunIdOfZerosIsRefused) {
  Bundle bundle = AwkwardBundle();
  const std::string id = ToString(bundle.runs[0].run.id);
  std::string text = ToJsonl(bundle);
  for (size_t at = text.find(id); at != std::string::npos; at = text.find(id)) {
    text.replace(at, id.size(), std::string(id.size(), '0'));
  }
  const auto read = FromJsonl(text);
  ASSERT_FALSE(read.ok());
  EXPECT_NE(std::string(read.status().message()).find("the run id is all zeros"), std::string::npos)
      << read.status();
}

// cases/replay.md 20
TEST(Jsonl, DamageIsNamedByItsLine) {
  RecordedStore store;
  Bundle bundle;
  bundle.runs = {SampleRun(1)};
  ASSERT_TRUE(WriteBundle(bundle, store.path() + "/a", false).ok());
  const std::string text = ToJsonl(*ReadBundle(store.path() + "/a"));
  const auto fails_with = [](const std::string& changed, const std::string& words) {
    const absl::Status status = FromJsonl(changed).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << words;
    EXPECT_NE(status.message().find(words), absl::string_view::npos) << status;
  };
  const auto replaced = [&](const std::string& from, const std::string& to) {
    std::string changed = text;
    changed.replace(changed.find(from), from.size(), to);
    return changed;
  };
  fails_with(replaced("Refunding 120", "Refunding 12"),
             "line 4: \"response\" \"bytes\" do not match");
  fails_with(text.substr(0, text.rfind("{\"type\":\"end\"")), "the end line of run");
  fails_with(text.substr(0, text.size() / 2), "is not JSON");
  fails_with(replaced("\"boundary\":\"tool\"", "\"boundary\":\"tooth\""),
             "\"boundary\" is unknown");
  fails_with(replaced("\"format\":1", "\"format\":9"), "format 9");
  fails_with(replaced("\"runs\":\"1\"", "\"runs\":\"2\""), "promises 2 runs");
  fails_with(text.substr(text.find('\n') + 1), "the header line is missing");
  fails_with("", "the header line is missing");
  fails_with(std::string(100'000, '['), "line 1");
  fails_with(replaced("\"18446744073709551615\"", "\"18446744073709551616\""), "\"value\"");
  fails_with(replaced("\"status\":200", "\"status\":99999999999"), "cannot be read");
}

}  // namespace
}  // namespace reenact::store
