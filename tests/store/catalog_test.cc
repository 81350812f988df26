#include "store/reader/catalog.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>

#include "store/reader/bundle.h"
#include "store/reader/incidents.h"
#include "store/reader/internal/utf8.h"
#include "store/reader/store_reader.h"
#include "store/writer/retention.h"
#include "tests/store/recorded_store.h"

namespace reenact::store {
namespace {

size_t RunCount(const std::string& path) {
  auto list = OpenStore(path)->ListRuns({.include_replays = true});
  EXPECT_TRUE(list.ok()) << list.status();
  return list.ok() ? list->size() : 0;
}

// At its beginning; it stays sealed.
void WriteInto(const std::string& path, const std::string& bytes) {
  chmod(path.c_str(), 0644);
  std::ofstream(path, std::ios::binary | std::ios::in) << bytes;
  chmod(path.c_str(), 0444);
}

// "run-number:place ..." of what is found, in order.
std::string Found(StoreReader* reader, const std::string& words, int64_t limit = 0) {
  auto hits = reader->Search(words, limit);
  EXPECT_TRUE(hits.ok()) << words << ": " << hits.status();
  std::string out;
  if (!hits.ok()) return out;
  for (const SearchHit& hit : *hits) {
    out += (out.empty() ? "" : " ") + std::to_string(UnixMs(hit.run) - 1'700'000'000'000) + ":" +
           hit.where;
    EXPECT_LE(hit.snippet.size(), 200U);
    EXPECT_TRUE(internal::IsUtf8(hit.snippet));
  }
  return out;
}

TEST(Catalog, SealedSegmentsAreTakenInOnce) {
  RecordedStore store;
  auto writer = store.NewSegment();
  WriteRun(writer.get(), SampleRun(1));
  store.Seal(writer.get());
  EXPECT_EQ(RunCount(store.path()), 1U);
  EXPECT_EQ(access(store.layout().catalog().c_str(), F_OK), 0);
  // Listed without being opened: what is wrong with it is for verify and LoadRun to tell.
  const auto sealed_at = std::filesystem::last_write_time(writer->path());
  WriteInto(writer->path(), "no longer");
  std::filesystem::last_write_time(writer->path(), sealed_at);
  auto reader = OpenStore(store.path());
  auto list = reader->ListRuns({});
  ASSERT_TRUE(list.ok());
  ASSERT_EQ(list->size(), 1U);
  EXPECT_EQ(list->front().service, "refund-agent");
  EXPECT_EQ(list->front().model_calls, 1);
  EXPECT_TRUE(reader->problems().empty());
}

TEST(Catalog, SealedSegmentThatWasReplacedIsTakenInAgain) {
  RecordedStore store;
  auto first = store.NewSegment();
  WriteRun(first.get(), SampleRun(1));
  store.Seal(first.get());
  RecordedStore other;
  auto second = other.NewSegment();
  WriteRun(second.get(), SampleRun(2));
  other.Seal(second.get());
  auto reader = OpenStore(store.path());
  EXPECT_EQ(Found(reader.get(), "euros"), "1:answer");
  std::filesystem::remove(first->path());
  std::filesystem::copy_file(second->path(), first->path());
  EXPECT_EQ(Found(reader.get(), "euros"), "2:answer") << "by the reader that has the old one open";
  auto list = OpenStore(store.path())->ListRuns({});
  ASSERT_TRUE(list.ok());
  ASSERT_EQ(list->size(), 1U);
  EXPECT_EQ(list->front().id, RunId(2));
}

TEST(Catalog, SealedSegmentThatWasDamagedStaysListedAndIsNamed) {
  RecordedStore store;
  auto writer = store.NewSegment();
  WriteRun(writer.get(), SampleRun(1));
  store.Seal(writer.get());
  EXPECT_EQ(RunCount(store.path()), 1U);
  const auto sealed_at = std::filesystem::last_write_time(writer->path());
  WriteInto(writer->path(), "no longer");
  std::filesystem::last_write_time(writer->path(), sealed_at + std::chrono::seconds(1));
  auto reader = OpenStore(store.path());
  auto list = reader->ListRuns({});
  ASSERT_TRUE(list.ok());
  EXPECT_EQ(list->size(), 1U);
  ASSERT_EQ(reader->problems().size(), 1U);
  const std::string name = std::filesystem::path(writer->path()).filename();
  EXPECT_NE(reader->problems()[0].find(name), std::string::npos) << reader->problems()[0];
}

TEST(Catalog, FollowsALiveSegment) {
  RecordedStore store;
  auto writer = store.NewSegment();
  schema::RecordedRun recorded = SampleRun(1);
  const schema::RunEnd end = *recorded.end;
  recorded.end.reset();
  WriteRun(writer.get(), recorded);
  auto reader = OpenStore(store.path());
  EXPECT_TRUE(reader->Summarize(RunId(1))->in_progress);
  EXPECT_EQ(Found(reader.get(), "euros"), "1:answer");
  schema::Event more = ModelCall(150, "and order B-9", "Done for gherkin");
  more.run = RunId(1);
  ASSERT_EQ(writer->AddEvent(more), WriteCode::kOk);
  ASSERT_EQ(writer->AddRunEnd(end), WriteCode::kOk);
  ASSERT_EQ(writer->Commit(), WriteCode::kOk);
  WriteRun(writer.get(), SampleRun(2));
  auto summary = reader->Summarize(RunId(1));
  EXPECT_FALSE(summary->in_progress);
  EXPECT_EQ(summary->model_calls, 2);
  EXPECT_EQ(RunCount(store.path()), 2U);
  EXPECT_EQ(Found(reader.get(), "gherkin"), "1:answer");
  EXPECT_EQ(Found(reader.get(), "euros"), "1:answer 2:answer");
  EXPECT_EQ(Found(reader.get(), "refunded"), "1:output 2:output");
  store.Seal(writer.get());
  EXPECT_EQ(RunCount(store.path()), 2U);
  EXPECT_EQ(Found(reader.get(), "refunded"), "1:output 2:output");
}

TEST(Catalog, ADamagedOneIsMadeAnew) {
  RecordedStore store;
  auto writer = store.NewSegment();
  WriteRun(writer.get(), SampleRun(1));
  EXPECT_EQ(RunCount(store.path()), 1U);
  std::ofstream(store.layout().catalog()) << std::string(9000, 'z');
  EXPECT_EQ(RunCount(store.path()), 1U);
  EXPECT_TRUE(Catalog::Open(store.layout().catalog())->is_persistent());
  Tamper(store.layout().catalog(), "UPDATE run_part SET part = x'ff'");
  EXPECT_EQ(RunCount(store.path()), 1U);
  Tamper(store.layout().catalog(), "DROP TABLE run_part");
  EXPECT_EQ(RunCount(store.path()), 1U);
  auto reader = OpenStore(store.path());
  EXPECT_EQ(Found(reader.get(), "euros"), "1:answer");
  Tamper(store.layout().catalog(), "DROP TABLE text");
  EXPECT_EQ(Found(OpenStore(store.path()).get(), "euros"), "1:answer");
}

TEST(Catalog, WhereNoneCanBeKeptItIsHeldInMemory) {
  RecordedStore store;
  auto writer = store.NewSegment();
  WriteRun(writer.get(), SampleRun(1));
  std::filesystem::create_directory(store.layout().catalog());
  EXPECT_FALSE(Catalog::Open(store.layout().catalog())->is_persistent());
  EXPECT_EQ(RunCount(store.path()), 1U);
  EXPECT_EQ(Found(OpenStore(store.path()).get(), "euros"), "1:answer");
  std::filesystem::remove(store.layout().catalog());
  EXPECT_EQ(RunCount(store.path()), 1U);
  Tamper(store.layout().catalog(), "PRAGMA user_version = 99");
  EXPECT_FALSE(Catalog::Open(store.layout().catalog())->is_persistent());
  EXPECT_EQ(RunCount(store.path()), 1U);
  // Bundles have none beside them.
  Bundle bundle;
  bundle.runs = {SampleRun(3)};
  ASSERT_TRUE(WriteBundle(bundle, store.path() + "/b", false).ok());
  EXPECT_EQ(Found(OpenStore(store.path() + "/b").get(), "euros"), "3:answer");
}

TEST(Search, LooksIntoEveryPlace) {
  RecordedStore store;
  auto writer = store.NewSegment();
  schema::RecordedRun recorded = SampleRun(1);
  schema::Event retrieval =
      ToolCallEvent(140, "kb", R"({"q":"policy"})", R"(["Umtausch im Laden"])");
  retrieval.run = RunId(1);
  retrieval.boundary = schema::Boundary::kRetrieval;
  recorded.events.push_back(retrieval);
  recorded.run.input = Bytes(R"({"comment":"caf\u00e9 na\u00efve"})");
  WriteRun(writer.get(), recorded);
  auto reader = OpenStore(store.path());
  EXPECT_EQ(Found(reader.get(), "please refund"), "1:request");
  EXPECT_EQ(Found(reader.get(), "euros"), "1:answer");
  EXPECT_EQ(Found(reader.get(), "lookup_order"), "1:tool");
  EXPECT_EQ(Found(reader.get(), "120.00"), "1:tool");
  EXPECT_EQ(Found(reader.get(), "umtausch"), "1:retrieval");
  EXPECT_EQ(Found(reader.get(), "cafe"), "1:input");
  EXPECT_EQ(Found(reader.get(), "refunded"), "1:output");
  EXPECT_EQ(Found(reader.get(), "refundi*"), "1:answer");
  EXPECT_EQ(Found(reader.get(), "\"Laden im\""), "");
  EXPECT_EQ(Found(reader.get(), "\"im Laden\""), "1:retrieval");
  auto hits = reader->Search("euros", 1);
  ASSERT_TRUE(hits.ok());
  EXPECT_NE(hits->front().snippet.find("Refunding 120 euros"), std::string::npos)
      << hits->front().snippet;
  EXPECT_EQ(hits->front().sequence, 101U);
}

TEST(Search, AConversationIsIndexedOnce) {
  RecordedStore store;
  auto writer = store.NewSegment();
  schema::RecordedRun recorded = SampleRun(1);
  schema::Event second = ModelCall(130, "Please refund order A-7", "Fine then");
  second.run = RunId(1);
  const std::string tail = R"({"role":"user","content":"Please refund order A-7"})";
  std::string& request = second.request.bytes;
  request.replace(request.find(tail), tail.size(),
                  tail + R"(,{"role":"assistant","content":"Refunding 120 euros"},)"
                         R"({"role":"user","content":"no, twelve please"})");
  recorded.events.push_back(second);
  WriteRun(writer.get(), recorded);
  auto reader = OpenStore(store.path());
  EXPECT_EQ(Found(reader.get(), "order"), "1:request 1:tool 1:input");
  EXPECT_EQ(Found(reader.get(), "euros"), "1:answer");
  EXPECT_EQ(Found(reader.get(), "twelve"), "1:request");
  // The history lies in an earlier segment, and is known all the same.
  auto next = store.NewSegment(1'700'000'005'000);
  ASSERT_EQ(next->AddRun(recorded.run), WriteCode::kOk);
  second.sequence = 150;
  second.end_sequence = 151;
  ASSERT_EQ(next->AddEvent(second), WriteCode::kOk);
  ASSERT_EQ(next->Commit(), WriteCode::kOk);
  EXPECT_EQ(Found(reader.get(), "twelve"), "1:request");
}

TEST(Search, NothingThatIsTypedIsASyntaxError) {
  RecordedStore store;
  auto writer = store.NewSegment();
  WriteRun(writer.get(), SampleRun(1));
  auto reader = OpenStore(store.path());
  for (const char* words : {"",
                            " ",
                            "\"",
                            "\"\"",
                            "\"\"\"",
                            "AND",
                            "OR NOT",
                            "NEAR(",
                            "NEAR(a b, 3)",
                            "*",
                            "a*b",
                            "^x",
                            "body:euros",
                            "-euros",
                            "(",
                            ")",
                            "{}",
                            "a + b",
                            "'; DROP TABLE text;--",
                            "\xff\xfe",
                            "%",
                            "💥",
                            "\"unclosed phrase"}) {
    auto hits = reader->Search(words, 5);
    EXPECT_TRUE(hits.ok()) << words << ": " << hits.status();
  }
  EXPECT_TRUE(reader->Search(std::string("nul\0here", 8), 5).ok());
  EXPECT_TRUE(reader->Search(std::string(100'000, 'x'), 5).ok());
  EXPECT_EQ(Found(reader.get(), "euros AND"), "") << "AND is a word like others";
}

TEST(Search, IdeographsAreFoundInsideSentences) {
  RecordedStore store;
  auto writer = store.NewSegment();
  schema::RecordedRun recorded = SampleRun(1);
  recorded.events[0] = ModelCall(101, "請退款金額一百二十元", "好的");
  recorded.events[0].run = RunId(1);
  WriteRun(writer.get(), recorded);
  auto reader = OpenStore(store.path());
  EXPECT_EQ(Found(reader.get(), "退款"), "1:request");
  EXPECT_EQ(Found(reader.get(), "款退"), "");
}

TEST(Search, PrunedRunsAreForgottenAndMarkedOnesAreNot) {
  RecordedStore store;
  auto writer = store.NewSegment();
  WriteRun(writer.get(), SampleRun(1));
  WriteRun(writer.get(), SampleRun(2));
  store.Seal(writer.get());
  auto reader = OpenStore(store.path());
  EXPECT_EQ(Found(reader.get(), "euros"), "1:answer 2:answer");
  auto incidents = Incidents::Open(store.path());
  ASSERT_TRUE(incidents.ok());
  ASSERT_TRUE((*incidents)->OpenIncident({.run = RunId(2), .title = "wrong"}).ok());
  ASSERT_TRUE((*incidents)->Sync().ok());
  EXPECT_EQ(Found(reader.get(), "euros"), "1:answer 2:answer") << "not told twice";
  ASSERT_EQ(EnforceRetention(store.layout(),
                             {.max_store_bytes = 1, .min_free_bytes = 0, .min_free_percent = 0})
                .pruned.size(),
            1U);
  EXPECT_EQ(Found(reader.get(), "euros"), "2:answer");
  EXPECT_NE(reader->Search("euros", 0)->front().snippet.find("120 euros"), std::string::npos);
}

// cases/replay.md 35
TEST(Catalog, KeepsModelCallsAsColumns) {
  RecordedStore store;
  auto writer = store.NewSegment();
  for (uint8_t number = 1; number <= 2; ++number) {
    schema::RecordedRun recorded = SampleRun(number);
    std::string& answer = recorded.events[0].response.bytes;
    if (number == 2) answer.replace(answer.find("08-06"), 5, "11-20");
    WriteRun(writer.get(), recorded);
  }
  auto segments = internal::SegmentSet::Open(store.path());
  ASSERT_TRUE(segments.ok());
  auto calls = Catalog::Open("")->ModelCalls(segments->get(), 0, INT64_MAX);
  ASSERT_TRUE(calls.ok()) << calls.status();
  ASSERT_EQ(calls->size(), 2U);
  EXPECT_EQ((*calls)[0].asked_model, "gpt-4o");
  EXPECT_EQ((*calls)[0].served_model, "gpt-4o-2024-08-06");
  EXPECT_EQ((*calls)[1].served_model, "gpt-4o-2024-11-20");
  EXPECT_EQ((*calls)[0].fingerprint, "fp_44709d6fcb");
  EXPECT_EQ((*calls)[1].run, RunId(2));
}

}  // namespace
}  // namespace reenact::store
