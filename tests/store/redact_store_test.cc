#include "store/reader/redact_store.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <functional>

#include "tests/store/redacted_text.h"

namespace reenact::store {
namespace {

TEST_F(StoreRedaction, ATextIsGoneFromEveryFileAndTheRestIsAsItWas) {
  ASSERT_EQ(FilesWith(store_.path(), kSecret).size(), 1u);
  const schema::RecordedRun other = *OpenStore(store_.path())->LoadRun(RunId(2), {.bodies = true});
  const RedactionReport report = RedactAll(store_.path(), ErasureOf(kSecret));
  EXPECT_EQ(report.files, 1);
  EXPECT_EQ(report.rewritten, 1);
  ASSERT_EQ(report.records.size(), 1u);
  EXPECT_EQ(report.records[0].run, RunId(1));
  EXPECT_EQ(report.records[0].record, "run");
  EXPECT_EQ(report.records[0].parts, std::vector<std::string>{"input"});
  EXPECT_TRUE(report.left.empty());
  EXPECT_TRUE(FilesWith(store_.path(), kSecret).empty());
  ExpectSound(store_.path());
  const auto store = OpenStore(store_.path());
  const auto changed = store->LoadRun(RunId(1), {.bodies = true});
  ASSERT_TRUE(changed.ok()) << changed.status();
  EXPECT_EQ(changed->run.input.bytes, "[redacted]");
  EXPECT_TRUE(changed->run.input.redacted);
  ExpectSameRun(other, *store->LoadRun(RunId(2), {.bodies = true}));
}

TEST_F(StoreRedaction, ADryRunSaysTheSameAndChangesNoByte) {
  const auto before = FilesOf(store_.path());
  RedactionOptions options = ErasureOf(kSecret);
  options.dry_run = true;
  const RedactionReport report = RedactAll(store_.path(), options);
  EXPECT_EQ(report.rewritten, 1);
  EXPECT_EQ(report.records.size(), 1u);
  EXPECT_EQ(before, FilesOf(store_.path()));
}

TEST_F(StoreRedaction, ASecondTimeNothingIsLeftToDo) {
  RedactAll(store_.path(), ErasureOf(kSecret));
  const std::string once = testing::FileBytes(segment_);
  const RedactionReport report = RedactAll(store_.path(), ErasureOf(kSecret));
  EXPECT_EQ(report.rewritten, 0);
  EXPECT_EQ(once, testing::FileBytes(segment_));
}

TEST_F(StoreRedaction, WhatDoesNotVerifyIsLeftAndGetsNoSoundChain) {
  Tamper(segment_, "UPDATE run SET service = 'forged' WHERE ordinal > 3");
  chmod(segment_.c_str(), 0444);
  const std::string before = testing::FileBytes(segment_);
  const RedactionReport report = RedactAll(store_.path(), ErasureOf(kSecret));
  ASSERT_EQ(report.left.size(), 1u);
  EXPECT_NE(report.left[0].find("does not fit the chain"), std::string::npos) << report.left[0];
  EXPECT_EQ(report.rewritten, 0);
  EXPECT_EQ(before, testing::FileBytes(segment_));
}

TEST_F(StoreRedaction, ASegmentIsRedactedWithItsStoreOnly) {
  const std::string before = testing::FileBytes(segment_);
  const RedactionReport report = RedactAll(segment_, ErasureOf(kSecret));
  ASSERT_EQ(report.left.size(), 1u);
  EXPECT_NE(report.left[0].find("name its store"), std::string::npos) << report.left[0];
  EXPECT_EQ(before, testing::FileBytes(segment_));
}

// Somebody removed what was made and not yet put in place.
TEST_F(StoreRedaction, OneThatCannotBeEndedIsNotCalledDone) {
  const std::string old_bytes = testing::FileBytes(segment_);
  RedactAll(store_.path(), ErasureOf(kSecret));
  std::filesystem::remove(segment_);
  std::ofstream(segment_, std::ios::binary) << old_bytes;
  chmod(segment_.c_str(), 0444);
  const RedactionReport report = RedactAll(store_.path(), {});
  ASSERT_EQ(report.left.size(), 1u);
  EXPECT_NE(report.left[0].find("by its policy again"), std::string::npos) << report.left[0];
  EXPECT_EQ(RedactAll(store_.path(), ErasureOf(kSecret)).rewritten, 1);
  EXPECT_TRUE(FilesWith(store_.path(), kSecret).empty());
  ExpectSound(store_.path());
}

TEST_F(StoreRedaction, ASegmentThatIsBeingWrittenIsLeftAndNamed) {
  auto writer = store_.NewSegment(1'700'000'100'000);
  WriteRun(writer.get(), SampleRun(3));
  const RedactionReport report = RedactAll(store_.path(), ErasureOf(kSecret));
  EXPECT_EQ(report.rewritten, 1);
  ASSERT_EQ(report.left.size(), 1u);
  EXPECT_NE(report.left[0].find("writes it"), std::string::npos) << report.left[0];
}

TEST_F(StoreRedaction, WhatWasKilledBeforeTheLastStepIsEndedByTheNext) {
  const std::string old_bytes = testing::FileBytes(segment_);
  RedactAll(store_.path(), ErasureOf(kSecret));
  // As if killed when the manifest had its line and the new file was not in its place yet.
  std::filesystem::rename(segment_, segment_ + ".redacting");
  std::ofstream(segment_, std::ios::binary) << old_bytes;
  chmod(segment_.c_str(), 0444);
  const auto report = VerifyStore(store_.path(), {});
  ASSERT_TRUE(report.ok());
  ASSERT_EQ(report->findings.size(), 1u);
  EXPECT_NE(report->findings[0].problem.find("begun and not finished"), std::string::npos)
      << report->findings[0].problem;
  EXPECT_TRUE(OpenStore(store_.path())->LoadRun(RunId(1), {.bodies = true}).ok());
  // By whatever policy.
  RedactAll(store_.path(), {});
  EXPECT_TRUE(FilesWith(store_.path(), kSecret).empty());
  ExpectSound(store_.path());
}

// A whole store, so that there is something to be killed in.
void FillStore(RecordedStore* store) {
  for (uint8_t segment = 0; segment < 3; ++segment) {
    auto writer = store->NewSegment(1'700'000'000'000 + segment * 1000);
    for (uint8_t run = 0; run < 2; ++run)
      WriteRun(writer.get(), RunThatSays(kSecret, static_cast<uint8_t>(1 + 2 * segment + run)));
    store->Seal(writer.get());
  }
  ASSERT_TRUE((*Incidents::Open(store->path()))->Sync().ok());
  ASSERT_TRUE(OpenStore(store->path())->Search("refund", 0).ok());
}

int64_t MillisecondsOf(const std::function<void()>& work) {
  const int64_t begin_ns = MonotonicNowNs();
  work();
  return (MonotonicNowNs() - begin_ns) / 1'000'000;
}

TEST(KilledRedaction, TheStoreReadsAndTheNextOneEndsTheWork) {
  constexpr int kKills = 12;
  RecordedStore original;
  FillStore(&original);
  const std::string copy = original.path() + "-copy";
  const auto make_copy = [&] {
    std::filesystem::remove_all(copy);
    std::filesystem::copy(original.path(), copy, std::filesystem::copy_options::recursive);
  };
  make_copy();
  const int64_t whole_ms = MillisecondsOf([&] { RedactAll(copy, ErasureOf(kSecret)); });
  ExpectNoTrace(copy);
  int unfinished = 0;
  for (int i = 0; i < kKills; ++i) {
    SCOPED_TRACE(i);
    make_copy();
    const pid_t child = fork();
    if (child == 0) {
      (void)RedactStore(copy, ErasureOf(kSecret));
      _exit(0);
    }
    usleep(static_cast<useconds_t>(1000 * whole_ms * i / kKills));
    kill(child, SIGKILL);
    ASSERT_EQ(waitpid(child, nullptr, 0), child);
    unfinished += FilesWith(copy, kFirstWord).empty() ? 0 : 1;
    const auto verified = VerifyStore(copy, {});
    ASSERT_TRUE(verified.ok()) << verified.status();
    for (const VerifyFinding& finding : verified->findings) {
      // Said to be unfinished, never called sound or forged.
      EXPECT_TRUE(finding.problem.find("begun and not finished") != std::string::npos ||
                  finding.problem.find("was being changed when its writer died") !=
                      std::string::npos)
          << finding.segment << ": " << finding.problem;
    }
    EXPECT_NE(EverythingIn(copy), "");
    EXPECT_TRUE(RedactAll(copy, ErasureOf(kSecret)).left.empty());
    ExpectNoTrace(copy);
    ExpectSound(copy);
  }
  EXPECT_GT(unfinished, kKills / 4);
  std::filesystem::remove_all(copy);
}

}  // namespace
}  // namespace reenact::store
