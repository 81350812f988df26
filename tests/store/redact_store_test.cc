#include "store/reader/redact_store.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "store/reader/bundle.h"
#include "store/reader/incidents.h"
#include "store/reader/verify.h"
#include "tests/store/recorded_store.h"

namespace reenact::store {
namespace {

constexpr char kSecret[] = "Zebulon-Quigley-4711";

std::string BytesOfFile(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream bytes;
  bytes << in.rdbuf();
  return std::move(bytes).str();
}

// Every byte of every file of a store, by path.
std::map<std::string, std::string> FilesOf(const std::string& root) {
  std::map<std::string, std::string> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root)) {
    if (entry.is_regular_file()) files[entry.path().string()] = BytesOfFile(entry.path());
  }
  return files;
}

// The files that hold `text`, names only.
std::vector<std::string> FilesWith(const std::string& root, const std::string& text) {
  std::vector<std::string> names;
  for (const auto& [path, bytes] : FilesOf(root)) {
    if (bytes.find(text) != std::string::npos)
      names.push_back(std::filesystem::path(path).filename().string());
  }
  return names;
}

RedactionOptions ErasureOf(const std::string& text) {
  RedactionOptions options;
  options.policy.secrets = {text};
  return options;
}

RedactionReport RedactAll(const std::string& path, const RedactionOptions& options) {
  auto report = RedactStore(path, options);
  EXPECT_TRUE(report.ok()) << report.status();
  return report.ok() ? *std::move(report) : RedactionReport();
}

void ExpectSound(const std::string& path) {
  const auto report = VerifyStore(path, {});
  ASSERT_TRUE(report.ok()) << report.status();
  for (const VerifyFinding& finding : report->findings)
    ADD_FAILURE() << finding.segment << ": " << finding.record << ": " << finding.problem;
}

// A sealed segment with a run that holds the secret in a short body, which is stored as it is, and
// one without it.
class StoreRedaction : public ::testing::Test {
 protected:
  StoreRedaction() {
    schema::RecordedRun told = SampleRun(1);
    told.run.input = Bytes(kSecret);
    auto writer = store_.NewSegment();
    WriteRun(writer.get(), told);
    WriteRun(writer.get(), SampleRun(2));
    store_.Seal(writer.get());
    segment_ = writer->path();
  }

  RecordedStore store_;
  std::string segment_;
};

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
  const std::string once = BytesOfFile(segment_);
  const RedactionReport report = RedactAll(store_.path(), ErasureOf(kSecret));
  EXPECT_EQ(report.rewritten, 0);
  EXPECT_EQ(once, BytesOfFile(segment_));
}

TEST_F(StoreRedaction, WhatDoesNotVerifyIsLeftAndGetsNoSoundChain) {
  Tamper(segment_, "UPDATE run SET service = 'forged' WHERE ordinal > 3");
  chmod(segment_.c_str(), 0444);
  const std::string before = BytesOfFile(segment_);
  const RedactionReport report = RedactAll(store_.path(), ErasureOf(kSecret));
  ASSERT_EQ(report.left.size(), 1u);
  EXPECT_NE(report.left[0].find("does not fit the chain"), std::string::npos) << report.left[0];
  EXPECT_EQ(report.rewritten, 0);
  EXPECT_EQ(before, BytesOfFile(segment_));
}

TEST_F(StoreRedaction, ASegmentThatIsBeingWrittenIsLeftAndNamed) {
  auto writer = store_.NewSegment(1'700'000'100'000);
  WriteRun(writer.get(), SampleRun(3));
  const RedactionReport report = RedactAll(store_.path(), ErasureOf(kSecret));
  EXPECT_EQ(report.rewritten, 1);
  ASSERT_EQ(report.left.size(), 1u);
  EXPECT_NE(report.left[0].find("writes it"), std::string::npos) << report.left[0];
}

}  // namespace
}  // namespace reenact::store
