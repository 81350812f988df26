#include "store/reader/incidents.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "store/reader/store_reader.h"
#include "store/writer/retention.h"
#include "tests/store/recorded_store.h"

namespace reenact::store {
namespace {

const std::string kTrace(32, 'a');

std::unique_ptr<Incidents> OpenIncidents(const std::string& path) {
  auto incidents = Incidents::Open(path);
  EXPECT_TRUE(incidents.ok()) << incidents.status();
  return incidents.ok() ? *std::move(incidents) : nullptr;
}

RetentionResult PruneAll(const RecordedStore& store) {
  return EnforceRetention(store.layout(),
                          {.max_store_bytes = 1, .min_free_bytes = 0, .min_free_percent = 0});
}

TEST(StoreIncidents, OneHoldsEveryRunOfItsTrace) {
  RecordedStore store;
  auto writer = store.NewSegment();
  WriteRun(writer.get(), SampleRun(1, kTrace));
  WriteRun(writer.get(), SampleRun(2));
  auto other = store.NewSegment(1'700'000'001'000);
  WriteRun(other.get(), SampleRun(3, kTrace));
  auto incidents = OpenIncidents(store.path());
  schema::Mark mark;
  mark.run = RunId(3);
  mark.title = "refund of 1,200 instead of 120";
  mark.severity = 2;
  mark.notes = "customer called";
  auto opened = incidents->OpenIncident(mark);
  ASSERT_TRUE(opened.ok()) << opened.status();
  EXPECT_FALSE(opened->id.IsZero());
  EXPECT_TRUE(opened->open);
  EXPECT_GT(opened->opened_wall_ns, 0);
  EXPECT_EQ(opened->runs, (std::vector<schema::Ulid>{RunId(3), RunId(1)}));
  // A run of the same trace that comes later.
  WriteRun(writer.get(), SampleRun(4, kTrace));
  ASSERT_TRUE(incidents->Sync().ok());
  auto found = OpenIncidents(store.path())->Find("last");
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->runs, (std::vector<schema::Ulid>{RunId(3), RunId(1), RunId(4)}));
  EXPECT_EQ(found->title, mark.title);
  EXPECT_EQ(found->severity, 2);
  ASSERT_EQ(found->notes.size(), 1U);
  EXPECT_EQ(found->notes[0].text, "customer called");
  auto reader = StoreReader::Open(store.path());
  ASSERT_TRUE(reader.ok());
  EXPECT_EQ((*reader)->Summarize(RunId(1))->incidents, std::vector<schema::Ulid>{opened->id});
  EXPECT_TRUE((*reader)->Summarize(RunId(2))->incidents.empty());
  auto loaded = (*reader)->LoadRun(RunId(3), {});
  ASSERT_TRUE(loaded.ok());
  ASSERT_EQ(loaded->marks.size(), 1U);
  EXPECT_EQ(loaded->marks[0].title, mark.title);
}

TEST(StoreIncidents, MarkedRunsOutliveTheirSegments) {
  RecordedStore store;
  const schema::RecordedRun marked = SampleRun(1, kTrace);
  auto writer = store.NewSegment();
  WriteRun(writer.get(), marked);
  WriteRun(writer.get(), SampleRun(2, kTrace));
  WriteRun(writer.get(), SampleRun(3));
  auto incidents = OpenIncidents(store.path());
  auto opened = incidents->OpenIncident({.run = RunId(1), .title = "wrong"});
  ASSERT_TRUE(opened.ok()) << opened.status();
  store.Seal(writer.get());
  EXPECT_TRUE(PruneAll(store).pruned.empty()) << "pinned before its copy is made";
  ASSERT_TRUE(incidents->Sync().ok());
  ASSERT_TRUE(incidents->Sync().ok());
  EXPECT_EQ(PruneAll(store).pruned.size(), 1U) << "the copy is made";
  auto reader = StoreReader::Open(store.path());
  ASSERT_TRUE(reader.ok());
  EXPECT_EQ(*(*reader)->ResolveRun(ToString(RunId(1)).substr(0, 14)), RunId(1));
  auto loaded = (*reader)->LoadRun(RunId(1), {});
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  schema::RecordedRun expected = marked;
  expected.marks = loaded->marks;
  ExpectSameRun(expected, *loaded);
  auto list = (*reader)->ListRuns({});
  ASSERT_TRUE(list.ok());
  ASSERT_EQ(list->size(), 2U) << "the run that nobody marked is gone";
  EXPECT_EQ(list->front().model_calls, 1);
  EXPECT_EQ(list->front().incidents, std::vector<schema::Ulid>{opened->id});
  // A second mark on a run that is only a copy now.
  EXPECT_TRUE(incidents->OpenIncident({.run = RunId(2), .title = "again"}).ok());
  EXPECT_EQ(incidents->OpenIncident({.run = RunId(3)}).status().code(),
            absl::StatusCode::kNotFound);
}

TEST(StoreIncidents, MarksOfTheRecorderAreAdoptedOnce) {
  RecordedStore store;
  auto writer = store.NewSegment();
  schema::RecordedRun recorded = SampleRun(1);
  recorded.marks.push_back(
      {.id = RunId(77), .run = RunId(1), .title = "by the service", .severity = 1, .at = At(500)});
  WriteRun(writer.get(), recorded);
  store.Seal(writer.get());
  auto incidents = OpenIncidents(store.path());
  ASSERT_EQ(incidents->List()->size(), 1U) << "before anything is written";
  EXPECT_NE(access(store.layout().incidents().c_str(), F_OK), 0);
  EXPECT_TRUE(PruneAll(store).pruned.empty());
  ASSERT_TRUE(incidents->Sync().ok());
  ASSERT_TRUE(incidents->Sync().ok());
  auto list = incidents->List();
  ASSERT_TRUE(list.ok());
  ASSERT_EQ(list->size(), 1U);
  EXPECT_EQ(list->front().id, RunId(77));
  EXPECT_EQ(list->front().title, "by the service");
  EXPECT_EQ(PruneAll(store).pruned.size(), 1U);
  EXPECT_EQ(incidents->List()->size(), 1U);
}

TEST(StoreIncidents, NotesAndClosingAreKept) {
  RecordedStore store;
  auto writer = store.NewSegment();
  WriteRun(writer.get(), SampleRun(1));
  auto incidents = OpenIncidents(store.path());
  auto first = incidents->OpenIncident({.run = RunId(1), .title = "first"});
  auto second = incidents->OpenIncident({.run = RunId(1), .title = "second"});
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_TRUE(incidents->AddNote(first->id, "looked into it \xff").ok());
  EXPECT_TRUE(incidents->Close(first->id, "fixed").ok());
  auto again = OpenIncidents(store.path());
  auto found = again->Find(ToString(first->id));
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_FALSE(found->open);
  EXPECT_GT(found->closed_wall_ns, 0);
  ASSERT_EQ(found->notes.size(), 2U);
  EXPECT_EQ(found->notes[0].text, "looked into it \xff");
  EXPECT_EQ(found->notes[1].text, "fixed");
  EXPECT_EQ(again->Find("last")->id, second->id);
  EXPECT_EQ(again->Find("last")->open, true);
  EXPECT_EQ(again->Find("0000ZZZZ").status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(again->Find("01").status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(again->AddNote(RunId(99), "x").code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(again->Close(RunId(99), "").code(), absl::StatusCode::kNotFound);
}

TEST(StoreIncidents, ADamagedIncidentsFileIsAnErrorHereAndAProblemThere) {
  RecordedStore store;
  auto writer = store.NewSegment();
  WriteRun(writer.get(), SampleRun(1));
  Tamper(store.layout().incidents(), "CREATE TABLE x(y); PRAGMA application_id=5");
  auto incidents = OpenIncidents(store.path());
  EXPECT_EQ(incidents->List().status().code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(incidents->OpenIncident({.run = RunId(1)}).status().code(),
            absl::StatusCode::kDataLoss);
  auto reader = StoreReader::Open(store.path());
  ASSERT_TRUE(reader.ok());
  EXPECT_EQ((*reader)->ListRuns({})->size(), 1U);
  EXPECT_TRUE((*reader)->LoadRun(RunId(1), {}).ok());
  ASSERT_EQ((*reader)->problems().size(), 1U);
  EXPECT_NE((*reader)->problems()[0].find("incidents.db"), std::string::npos);
}

TEST(StoreIncidents, ABundleHasNone) {
  RecordedStore store;
  auto writer = store.NewSegment();
  WriteRun(writer.get(), SampleRun(1));
  store.Seal(writer.get());
  EXPECT_EQ(Incidents::Open(writer->path()).status().code(), absl::StatusCode::kFailedPrecondition);
}

}  // namespace
}  // namespace reenact::store
