#include "store/reader/verify.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <sstream>

#include "store/reader/bundle.h"
#include "store/reader/incidents.h"
#include "store/writer/retention.h"
#include "tests/store/recorded_store.h"

namespace reenact::store {
namespace {

VerifyReport Verify(const std::string& path) {
  auto report = VerifyStore(path, {});
  EXPECT_TRUE(report.ok()) << report.status();
  return report.ok() ? *std::move(report) : VerifyReport();
}

// A store with two sealed segments of two runs each.
class StoreVerification : public ::testing::Test {
 protected:
  StoreVerification() {
    for (uint8_t segment = 0; segment < 2; ++segment) {
      auto writer = store_.NewSegment(1'700'000'000'000 + segment * 1000);
      WriteRun(writer.get(), SampleRun(static_cast<uint8_t>(1 + 2 * segment)));
      WriteRun(writer.get(), SampleRun(static_cast<uint8_t>(2 + 2 * segment)));
      store_.Seal(writer.get());
      paths_.push_back(writer->path());
    }
  }

  // Changes the first segment, makes it look sealed again, and checks the first finding.
  void ExpectFinding(const std::string& sql, const std::string& record,
                     const std::string& problem) {
    SCOPED_TRACE(sql);
    Tamper(paths_[0], sql);
    chmod(paths_[0].c_str(), 0444);
    ExpectFirst(Verify(store_.path()), record, problem);
  }

  void ExpectFirst(const VerifyReport& report, const std::string& record,
                   const std::string& problem) {
    ASSERT_FALSE(report.findings.empty());
    const VerifyFinding& first = report.findings.front();
    EXPECT_EQ(paths_[0].substr(paths_[0].rfind('/') + 1), first.segment);
    EXPECT_NE(first.record.find(record), std::string::npos) << first.record;
    EXPECT_NE(first.problem.find(problem), std::string::npos) << first.problem;
  }

  RecordedStore store_;
  std::vector<std::string> paths_;
};

TEST_F(StoreVerification, AnUntouchedStoreHasNoFindings) {
  int64_t last_done = 0;
  auto report = VerifyStore(store_.path(), [&](int64_t done, int64_t total) {
    EXPECT_EQ(total, 2);
    last_done = done;
  });
  ASSERT_TRUE(report.ok()) << report.status();
  for (const VerifyFinding& finding : report->findings)
    ADD_FAILURE() << finding.segment << ": " << finding.record << ": " << finding.problem;
  EXPECT_EQ(last_done, 2);
  EXPECT_EQ(report->segments, 2);
  EXPECT_GT(report->records, 20);
  EXPECT_GT(report->bodies, 10);
}

// cases/replay.md 20
TEST_F(StoreVerification, AnEditedByteOfABodyNamesItsEvent) {
  ExpectFinding(
      "UPDATE body SET frame = CAST(replace(frame, 'A-7', 'A-8') AS BLOB) WHERE ordinal ="
      " (SELECT request_body FROM event WHERE sequence = 103)",
      "request of event 103 of run " + ToString(RunId(1)), "does not match its digest");
}

TEST_F(StoreVerification, AnEditedFieldNamesItsRecord) {
  ExpectFinding("UPDATE event SET elapsed_ns = 1 WHERE sequence = 103",
                "event 103 of run " + ToString(RunId(1)), "does not fit the chain");
}

TEST_F(StoreVerification, ARemovedEventIsNamedByTheRecordBehindIt) {
  ExpectFinding("DELETE FROM event WHERE sequence = 105", "end of run " + ToString(RunId(1)),
                "is missing");
}

TEST_F(StoreVerification, ARemovedRunShows) {
  ExpectFinding(
      "PRAGMA foreign_keys=OFF; DELETE FROM event WHERE run = (SELECT max(ordinal) FROM run);"
      "DELETE FROM run WHERE ordinal = (SELECT max(ordinal) FROM run)",
      "", "is missing");
}

TEST_F(StoreVerification, SwappedRowsShow) {
  ExpectFinding(
      "CREATE TEMP TABLE was AS SELECT sequence, ordinal FROM event;"
      "UPDATE event SET ordinal = (SELECT ordinal FROM was WHERE sequence = 105)"
      " WHERE sequence = 103;"
      "UPDATE event SET ordinal = (SELECT ordinal FROM was WHERE sequence = 103)"
      " WHERE sequence = 105",
      "event 105", "does not fit the chain");
}

TEST_F(StoreVerification, RowsCutOffTheEndShow) {
  ExpectFinding("DELETE FROM meta WHERE key = 'reenact.sealed'", "segment", "are missing");
}

TEST_F(StoreVerification, ARecomputedChainDoesNotFitTheManifest) {
  // Whoever rewrites a whole segment, chain included, still lacks the store's key.
  auto forged = store_.NewSegment();
  const std::string path = forged->path();
  WriteRun(forged.get(), SampleRun(9));
  ASSERT_EQ(forged->Seal(""), WriteCode::kOk);
  ASSERT_EQ(rename(path.c_str(), paths_[0].c_str()), 0);
  ExpectFirst(Verify(store_.path()), "segment", "is not what was sealed");
}

TEST_F(StoreVerification, ARemovedSegmentShowsAndAPrunedOneDoesNot) {
  unlink(paths_[0].c_str());
  ExpectFirst(Verify(store_.path()), "segment", "is missing");
  // Whoever only reads is told, too.
  auto reader = OpenStore(store_.path());
  ASSERT_EQ(reader->problems().size(), 1U);
  EXPECT_NE(reader->problems()[0].find("is missing: it was sealed"), std::string::npos);
  RecordedStore pruned;
  auto writer = pruned.NewSegment();
  WriteRun(writer.get(), SampleRun(1));
  pruned.Seal(writer.get());
  const RetentionResult result = EnforceRetention(
      pruned.layout(), {.max_store_bytes = 1, .min_free_bytes = 0, .min_free_percent = 0});
  EXPECT_EQ(result.pruned.size(), 1U);
  const VerifyReport report = Verify(pruned.path());
  EXPECT_TRUE(report.findings.empty());
  ASSERT_EQ(report.tombstones.size(), 1U);
  EXPECT_EQ(report.tombstones[0].segment, result.pruned[0]);
  EXPECT_EQ(report.tombstones[0].reason, "size_cap");
  EXPECT_TRUE(OpenStore(pruned.path())->problems().empty());
}

TEST_F(StoreVerification, AnEditedOrRemovedManifestLineShows) {
  std::ifstream in(store_.layout().manifest());
  std::ostringstream text;
  text << in.rdbuf();
  const std::string whole = text.str();
  const auto first_finding = [&](const std::string& changed) {
    std::ofstream(store_.layout().manifest()) << changed;
    const VerifyReport report = Verify(store_.path());
    return report.findings.empty() ? VerifyFinding() : report.findings.front();
  };
  std::string edited = whole;
  edited[edited.find("\"rows\":") + 7] ^= 1;
  VerifyFinding finding = first_finding(edited);
  EXPECT_EQ(finding.record, "manifest line 1");
  EXPECT_NE(finding.problem.find("key"), std::string::npos) << finding.problem;
  finding = first_finding(whole.substr(whole.find('\n') + 1));
  EXPECT_EQ(finding.record, "manifest line 1");
  EXPECT_NE(finding.problem.find("removed or moved"), std::string::npos) << finding.problem;
  finding = first_finding(whole.substr(0, whole.find('\n') + 1));
  EXPECT_NE(finding.problem.find("the manifest does not know it"), std::string::npos)
      << finding.problem;
  finding = first_finding("[[[[\n" + whole);
  EXPECT_NE(finding.problem.find("no line of a manifest"), std::string::npos) << finding.problem;
}

TEST_F(StoreVerification, AKeyWithZerosAtItsEndIsAnother) {
  std::ofstream(store_.layout().key_file(), std::ios::app | std::ios::binary) << '\0';
  const VerifyReport report = Verify(store_.path());
  ASSERT_FALSE(report.findings.empty());
  EXPECT_NE(report.findings[0].problem.find("33 bytes"), std::string::npos);
}

TEST_F(StoreVerification, TruncatedForeignAndNewerFilesAreFindings) {
  chmod(paths_[0].c_str(), 0644);
  const auto size = std::filesystem::file_size(paths_[0]);
  std::filesystem::resize_file(paths_[0], size / 2);
  EXPECT_FALSE(Verify(store_.path()).findings.empty());
  EXPECT_EQ(Verify(store_.path()).segments, 2);
  std::filesystem::resize_file(paths_[0], 10);
  ExpectFirst(Verify(store_.path()), "segment", "");
  std::filesystem::copy_file(paths_[1], paths_[0],
                             std::filesystem::copy_options::overwrite_existing);
  Tamper(paths_[0], "PRAGMA application_id=77");
  ExpectFirst(Verify(store_.path()), "segment", "not one of Reenact");
  Tamper(paths_[0], "PRAGMA application_id=1919247726; PRAGMA user_version=9");
  ExpectFirst(Verify(store_.path()), "segment", "schema version 9");
}

TEST_F(StoreVerification, CopiesOfMarkedRunsAreVerifiedToo) {
  auto incidents = Incidents::Open(store_.path());
  ASSERT_TRUE(incidents.ok());
  ASSERT_TRUE((*incidents)->OpenIncident({.run = RunId(1), .title = "wrong"}).ok());
  ASSERT_TRUE((*incidents)->Sync().ok());
  EXPECT_TRUE(Verify(store_.path()).findings.empty());
  Tamper(
      store_.layout().incidents(),
      "UPDATE promoted SET bundle = CAST(replace(bundle, 'lookup_order', 'lookup_other') AS BLOB)");
  const VerifyReport report = Verify(store_.path());
  ASSERT_FALSE(report.findings.empty());
  EXPECT_EQ(report.findings[0].segment, "incidents.db");
  EXPECT_NE(report.findings[0].record.find(ToString(RunId(1))), std::string::npos);
}

TEST(BundleVerification, ABundleIsVerifiedByItself) {
  RecordedStore store;
  const std::string path = store.path() + "/x";
  Bundle bundle;
  bundle.runs = {SampleRun(1), SampleRun(2)};
  ASSERT_TRUE(WriteBundle(bundle, path, false).ok());
  EXPECT_TRUE(Verify(path).findings.empty());
  Tamper(path, "UPDATE event SET name = 'x' WHERE name = 'draw'");
  const VerifyReport report = Verify(path);
  ASSERT_FALSE(report.findings.empty());
  EXPECT_EQ(report.findings[0].record, "event 105 of run " + ToString(RunId(1)));
  EXPECT_EQ(VerifyStore(store.path() + "/none", {}).status().code(), absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace reenact::store
