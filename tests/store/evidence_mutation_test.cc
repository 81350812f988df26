// Does `verify` see it? Thousands of changes to a store and to a bundle, each made with no key:
// bits flipped, rows, runs and segments removed, put in, repeated and moved, chains made anew,
// files cut, rolled back and taken from another store. A failing seed is printed, and runs alone
// with REENACT_SEED.

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>

#include "store/reader/bundle.h"
#include "store/reader/incidents.h"
#include "store/reader/verify.h"
#include "store/writer/retention.h"
#include "tests/store/evidence_mutations.h"
#include "tests/store/recorded_store.h"

namespace reenact::store {
namespace {

namespace fs = std::filesystem;

// With and without the seal a segment is announced, as a recorder does it.
void PutHere(RecordedStore* store, uint8_t first_run, int64_t unix_ms, bool sealed) {
  auto writer = store->NewSegment(unix_ms);
  writer->Announce(store->layout().manifest());
  for (uint8_t run = first_run; run < first_run + 2; ++run) {
    schema::RecordedRun recorded = SampleRun(run, "trace-" + std::to_string(run / 2));
    recorded.gaps = {{.at = At(run), .reason = "queue_full", .count = 2, .bytes = 300}};
    // A mark keeps its segment.
    if (run > 2)
      recorded.marks = {{.id = RunId(static_cast<uint8_t>(run + 100)),
                         .run = recorded.run.id,
                         .title = "wrong amount",
                         .severity = 2,
                         .at = At(run)}};
    std::string history(1500, 'h');
    for (uint64_t turn = 0; turn < 3; ++turn) {
      history += "turn " + std::to_string(turn * 7919 + run);
      auto event = ModelCall(run * 100U + 20 + turn * 2, history, history);
      event.run = recorded.run.id;
      recorded.events.push_back(event);
    }
    WriteRun(writer.get(), recorded);
  }
  if (sealed) store->Seal(writer.get());
}

// By a process that is gone: a segment whose writer lives may be about to enter the manifest.
void Put(RecordedStore* store, uint8_t first_run, int64_t unix_ms, bool sealed = true) {
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    PutHere(store, first_run, unix_ms, sealed);
    _exit(::testing::Test::HasFailure() ? 1 : 0);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_EQ(status, 0);
}

void Mark(const RecordedStore& store, uint8_t run, const std::string& title) {
  auto incidents = Incidents::Open(store.path());
  ASSERT_TRUE(incidents.ok()) << incidents.status();
  auto opened = (*incidents)->OpenIncident({.run = RunId(run), .title = title});
  ASSERT_TRUE(opened.ok()) << opened.status();
  ASSERT_TRUE((*incidents)->AddNote(opened->id, "seen by " + title).ok());
  ASSERT_TRUE((*incidents)->Sync().ok());
}

// Five segments of two runs, of which the first is pruned; incidents with copies of their runs, in
// three states; a catalog; a last segment that nobody sealed; a bundle beside. And a second store
// to take things from.
class EvidenceMutation : public ::testing::Test {
 protected:
  EvidenceMutation() {
    Put(&store_, 1, 1'700'000'000'000);
    Put(&store_, 3, 1'700'000'001'000);
    Put(&store_, 5, 1'700'000'002'000);
    RetentionLimits limits{.min_free_bytes = 0, .min_free_percent = 0};
    limits.max_store_bytes = EnforceRetention(store_.layout(), limits).store_bytes - 1;
    EXPECT_EQ(EnforceRetention(store_.layout(), limits).pruned.size(), 1U);
    Mark(store_, 3, "first");
    Snapshot("/early");
    Put(&store_, 7, 1'700'000'003'000);
    Mark(store_, 5, "second");
    Snapshot("/later");
    Put(&store_, 9, 1'700'000'004'000);
    Mark(store_, 7, "third");
    (void)OpenStore(store_.path())->ListRuns({});
    Put(&store_, 15, 1'700'000'008'000, false);
    Put(&foreign_, 11, 1'700'000'005'000);
    Put(&foreign_, 13, 1'700'000'006'000);
    Put(&foreign_, 17, 1'700'000'007'000, false);
    Bundle bundle;
    bundle.runs = {SampleRun(1), SampleRun(2)};
    EXPECT_TRUE(WriteBundle(bundle, places_.bundle, true).ok());
    places_.foreign = foreign_.path();
    places_.work = work_.path() + "/store";
  }

  void Snapshot(const std::string& name) {
    fs::copy(store_.path(), snapshots_.path() + name, fs::copy_options::recursive);
    places_.earlier.push_back(snapshots_.path() + name);
  }

  // The findings of `verify` after the mutation of this seed.
  void Try(uint64_t seed) {
    fs::remove_all(places_.work);
    fs::copy(store_.path(), places_.work, fs::copy_options::recursive);
    fs::copy(places_.bundle, places_.work + "/work.reenact");
    const reenact::testing::Mutation mutation = reenact::testing::Mutate(places_, seed);
    const bool is_bundle = mutation.file == "work.reenact";
    const auto report = VerifyStore(is_bundle ? places_.work + "/work.reenact" : places_.work, {});
    ++tried_[mutation.kind];
    if (!report.ok()) {
      // A bundle that cannot be opened at all.
      EXPECT_TRUE(is_bundle) << "seed " << seed << ": " << report.status();
      return;
    }
    if (report->findings.empty()) {
      ++undetected_[mutation.kind];
      ADD_FAILURE() << "seed " << seed << ": nobody noticed: " << mutation.kind << " ("
                    << mutation.file << ": " << mutation.detail << ")";
      return;
    }
    // Where one file was touched, it is the one that is named.
    const VerifyFinding& first = report->findings.front();
    if (!mutation.names_file) return;
    EXPECT_EQ(first.segment, mutation.file)
        << "seed " << seed << ": " << mutation.kind << ": " << mutation.detail << ": "
        << first.record << ": " << first.problem;
  }

  RecordedStore store_;
  RecordedStore foreign_;
  RecordedStore snapshots_;
  RecordedStore work_;
  reenact::testing::MutationPlaces places_{.bundle = snapshots_.path() + "/template.reenact"};
  std::map<std::string, int> tried_;
  std::map<std::string, int> undetected_;
};

TEST_F(EvidenceMutation, NoneGoesUnseen) {
  const auto untouched = VerifyStore(store_.path(), {});
  ASSERT_TRUE(untouched.ok());
  for (const VerifyFinding& finding : untouched->findings)
    ADD_FAILURE() << finding.segment << ": " << finding.record << ": " << finding.problem;
  ASSERT_EQ(untouched->open_ends.size(), 1U);
  ASSERT_EQ(untouched->tombstones.size(), 1U);
  ASSERT_TRUE(VerifyStore(places_.bundle, {})->findings.empty());
  if (const char* seed = std::getenv("REENACT_SEED")) {
    Try(std::strtoull(seed, nullptr, 10));
    return;
  }
  const uint64_t seeds = std::getenv("REENACT_LONG") != nullptr ? 12'000 : 300;
  for (uint64_t seed = 1; seed <= seeds; ++seed) Try(seed);
  int tried = 0;
  for (const auto& [kind, count] : tried_) {
    std::printf("%-44s %6d tried %4d undetected\n", kind.c_str(), count, undetected_[kind]);
    tried += count;
  }
  std::printf("%-44s %6d tried\n", "all", tried);
}

}  // namespace
}  // namespace reenact::store
