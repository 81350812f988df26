// Flips bytes in files of records, and reads them. The reader must never crash, and what it hands
// out must be what was recorded. Seeds are fixed: a failure names the one that shows it.

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <random>
#include <sstream>

#include "store/reader/bundle.h"
#include "store/reader/store_reader.h"
#include "store/reader/verify.h"
#include "tests/store/file_bytes.h"
#include "tests/store/recorded_store.h"

namespace reenact::store {
namespace {

std::string Flipped(std::string bytes, uint32_t seed) {
  std::mt19937 random(seed);
  const uint32_t flips = 1 + random() % 4;
  for (uint32_t i = 0; i < flips; ++i)
    bytes[random() % bytes.size()] ^= static_cast<char>(1U << (random() % 8));
  // Now and then a piece is gone, or the end.
  if (random() % 16 == 0) bytes.resize(random() % bytes.size());
  if (random() % 16 == 0) {
    const size_t at = random() % (bytes.size() + 1);
    std::fill(bytes.begin() + static_cast<ptrdiff_t>(at), bytes.end(), '\0');
  }
  return bytes;
}

// Gaps and marks are about a run, not of it.
schema::RecordedRun WithoutRemarks(schema::RecordedRun recorded) {
  recorded.gaps.clear();
  recorded.marks.clear();
  return recorded;
}

class Damage : public ::testing::Test {
 protected:
  Damage() {
    for (uint8_t number = 1; number <= 3; ++number) {
      schema::RecordedRun recorded = SampleRun(number);
      // Requests that grow, so that frames have prefixes; bodies that need overflow pages.
      std::string history(3000, 'h');
      for (uint64_t turn = 0; turn < 4; ++turn) {
        for (char& c : history) c = static_cast<char>('a' + (c * 31 + static_cast<int>(turn)) % 26);
        schema::Event event =
            ModelCall(number * 100U + 20 + turn * 2, history + std::to_string(turn), history);
        event.run = recorded.run.id;
        recorded.events.push_back(event);
      }
      runs_.push_back(recorded);
    }
  }

  // Returns how many runs came through whole.
  int Read(const std::string& path) {
    int whole = 0;
    auto reader = StoreReader::Open(path);
    if (!reader.ok()) return whole;
    (void)(*reader)->ListRuns({});
    (void)(*reader)->Search("euros", 3);
    (void)(*reader)->ResolveRun("last");
    (void)(*reader)->Meta();
    for (const schema::RecordedRun& recorded : runs_) {
      auto loaded = (*reader)->LoadRun(recorded.run.id, {});
      if (!loaded.ok()) continue;
      ExpectSameRun(WithoutRemarks(recorded), WithoutRemarks(*loaded));
      ++whole;
    }
    (void)VerifyStore(path, {});
    const auto bundle = ReadBundle(path);
    // The reason of SQLITE_DONE, which a cursor that went on leaves behind, is nobody's fault.
    EXPECT_EQ(bundle.status().message().find("no more rows"), absl::string_view::npos)
        << bundle.status();
    return whole;
  }

  void Mutate(const std::string& path, uint32_t seeds) {
    const std::string original = reenact::testing::FileBytes(path);
    const std::string mutated = store_.path() + "/mutated.db";
    int whole = 0;
    for (uint32_t seed = 1; seed <= seeds; ++seed) {
      SCOPED_TRACE(seed);
      std::ofstream(mutated, std::ios::binary | std::ios::trunc) << Flipped(original, seed);
      whole += Read(mutated);
      if (HasFailure()) FAIL() << "seed " << seed;
    }
    // Not all damage hits every run, or the test would prove nothing.
    EXPECT_GT(whole, 0);
    EXPECT_LT(whole, static_cast<int>(seeds * runs_.size()));
  }

  RecordedStore store_;
  std::vector<schema::RecordedRun> runs_;
};

TEST_F(Damage, ASegmentIsNeverReadWrong) {
  auto writer = store_.NewSegment();
  for (const auto& recorded : runs_) WriteRun(writer.get(), recorded);
  store_.Seal(writer.get());
  EXPECT_EQ(Read(writer->path()), 3);
  Mutate(writer->path(), 400);
}

TEST_F(Damage, ABundleIsNeverReadWrong) {
  Bundle bundle;
  bundle.runs = runs_;
  const std::string path = store_.path() + "/bundle";
  ASSERT_TRUE(WriteBundle(bundle, path, false).ok());
  EXPECT_EQ(Read(path), 3);
  Mutate(path, 200);
}

TEST_F(Damage, JsonlIsNeverReadWrong) {
  Bundle bundle;
  bundle.runs = runs_;
  const std::string path = store_.path() + "/bundle";
  ASSERT_TRUE(WriteBundle(bundle, path, false).ok());
  const std::string text = ToJsonl(*ReadBundle(path));
  for (uint32_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE(seed);
    auto read = FromJsonl(Flipped(text, seed));
    if (!read.ok()) continue;
    // Fields carry no digest in this form, bodies do.
    for (size_t run = 0; run < std::min(read->runs.size(), runs_.size()); ++run) {
      const auto& events = read->runs[run].events;
      ASSERT_EQ(events.size(), runs_[run].events.size());
      for (size_t i = 0; i < events.size(); ++i) {
        if (!events[i].response.salt) continue;
        ASSERT_EQ(events[i].response.bytes, runs_[run].events[i].response.bytes);
      }
    }
  }
}

}  // namespace
}  // namespace reenact::store
