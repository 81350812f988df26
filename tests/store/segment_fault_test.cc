// A segment on a disk that fails: at each call in turn, once and for good. Whatever happens, the
// file stays whole, what was committed is in it, and nothing that is not there was called
// committed.

#include <unistd.h>

#include <cstdio>
#include <functional>
#include <set>

#include "gtest/gtest.h"

#include "store/writer/segment_writer.h"
#include "tests/store/segment_samples.h"
#include "tests/support/fault_vfs.h"
#include "tests/support/segment_oracle.h"
#include "tests/support/temp_folder.h"

namespace reenact::store {
namespace {

using namespace reenact::testing;  // NOLINT(google-build-using-namespace)

constexpr uint64_t kBatches = 6;
constexpr uint64_t kEventsPerBatch = 3;

struct Outcome {
  bool opened = false;
  bool sealed = false;
  std::set<uint64_t> committed;
  std::set<uint64_t> attempted;
  std::set<WriteCode> codes;

  // Everything is there, and nothing was said to have failed.
  bool IsComplete() const {
    return sealed && committed.size() == kBatches * kEventsPerBatch &&
           codes == std::set<WriteCode>{WriteCode::kOk};
  }
};

// Of several pages, even when compressed.
const std::string& LongText() {
  static const std::string text = [] {
    std::string digits;
    for (uint64_t i = 0; i < 900; ++i) digits += std::to_string(i * i * 7919 + i * 31);
    return digits;
  }();
  return text;
}

WriteCode AddBatch(SegmentWriter* writer, uint64_t batch, std::set<uint64_t>* sequences) {
  WriteCode code = writer->AddRun(SampleRun());
  // Calls that begin in one batch and end in the next, and one body of several pages.
  for (uint64_t i = 0; i < kEventsPerBatch && code == WriteCode::kOk; ++i) {
    const uint64_t sequence = 1 + batch * kEventsPerBatch + i;
    sequences->insert(sequence);
    schema::Event event = SampleEvent(sequence);
    event.response.bytes += LongText().substr(sequence);
    code = writer->AddEvent(event);
  }
  if (code == WriteCode::kOk) {
    code = writer->AddOpenCall(SampleEvent(1 + (batch + 1) * kEventsPerBatch));
  }
  return code == WriteCode::kOk ? writer->Commit() : code;
}

// Records as a consumer does: a batch that was not taken is offered once more, a broken segment is
// left.
Outcome Record(const std::string& path) {
  Outcome outcome;
  std::unique_ptr<SegmentWriter> writer;
  std::string why;
  const WriteCode opened = SegmentWriter::Open(SampleOptions(path), &writer, &why);
  outcome.codes.insert(opened);
  if (opened != WriteCode::kOk) return outcome;
  outcome.opened = true;
  for (uint64_t batch = 0; batch < kBatches; ++batch) {
    std::set<uint64_t> sequences;
    WriteCode code = WriteCode::kUnavailable;
    for (int attempt = 0; attempt < 2 && code != WriteCode::kOk; ++attempt) {
      code = AddBatch(writer.get(), batch, &sequences);
      outcome.codes.insert(code);
    }
    outcome.attempted.insert(sequences.begin(), sequences.end());
    if (code == WriteCode::kOk) outcome.committed.insert(sequences.begin(), sequences.end());
    outcome.codes.insert(writer->CheckpointIfDue());
  }
  for (int attempt = 0; attempt < 2 && !outcome.sealed; ++attempt) {
    const WriteCode code = writer->Seal("");
    outcome.codes.insert(code);
    outcome.sealed = code == WriteCode::kOk;
  }
  return outcome;
}

// What is left unsealed is taken up later, by a recovery on a disk that is well again.
void Recover(const std::string& path) {
  SegmentOptions options = SampleOptions(path);
  options.open = SegmentOptions::Open::kReopen;
  const auto writer = OpenWriter(options);
  ASSERT_NE(writer, nullptr);
  EXPECT_EQ(writer->Seal(""), WriteCode::kOk) << writer->last_error();
}

void CheckOutcome(const std::string& path, const Outcome& outcome) {
  if (!outcome.opened) {
    EXPECT_NE(::access(path.c_str(), F_OK), 0) << "a half made file was left";
    return;
  }
  if (!outcome.sealed) Recover(path);
  const StoredSegment stored = ReadSegment(path);
  ASSERT_EQ(stored.damage, "");
  for (const uint64_t sequence : outcome.committed) {
    ASSERT_TRUE(stored.events.contains(sequence)) << sequence;
    EXPECT_EQ(stored.events.at(sequence).request.bytes, SampleEvent(sequence).request.bytes);
  }
  for (const auto& [sequence, event] : stored.events) {
    const bool was_open = event.end_state == schema::EndState::kIncomplete;
    EXPECT_TRUE(was_open || outcome.attempted.contains(sequence)) << sequence;
  }
  EXPECT_TRUE(stored.open_calls.empty());
  EXPECT_TRUE(stored.meta.contains("reenact.sealed"));
}

// Fails call 1, 2, 3, ... until a recording comes through without meeting the fault.
void FailEachCall(Fault fault, bool persistent, const std::function<void(const Outcome&)>& check) {
  TempFolder folder;
  bool struck = true;
  int64_t number = 1;
  for (; struck && !::testing::Test::HasFailure(); ++number) {
    SCOPED_TRACE("call " + std::to_string(number));
    const std::string path = folder.File(std::to_string(number) + ".db");
    FaultVfs::Arm(fault, number, persistent);
    const Outcome outcome = Record(path);
    struck = FaultVfs::Struck();
    FaultVfs::Disarm();
    CheckOutcome(path, outcome);
    // A call that SQLite can do without (the removal of an empty file) harms nobody.
    if (struck && !outcome.IsComplete()) check(outcome);
    if (!struck) {
      EXPECT_TRUE(outcome.IsComplete());
    }
  }
  // The last one met no fault.
  std::printf("%lld faults\n", static_cast<long long>(number - 2));
  EXPECT_GT(number, 3) << "the fault never struck";
}

bool AnyFailure(const Outcome& outcome) {
  return outcome.codes.size() > (outcome.codes.contains(WriteCode::kOk) ? 1U : 0U);
}

TEST(SegmentOnAFailingDisk, AnyCallMayFailOnce) {
  FailEachCall(Fault::kAnyCall, false,
               [](const Outcome& outcome) { EXPECT_TRUE(AnyFailure(outcome)); });
}

TEST(SegmentOnAFailingDisk, AnyCallMayFailForGood) {
  FailEachCall(Fault::kAnyCall, true, [](const Outcome& outcome) {
    EXPECT_FALSE(outcome.sealed);
    EXPECT_TRUE(AnyFailure(outcome));
  });
}

TEST(SegmentOnAFailingDisk, HalfAWriteNeverCounts) {
  for (const bool persistent : {false, true}) {
    FailEachCall(Fault::kShortWrite, persistent,
                 [](const Outcome& outcome) { EXPECT_TRUE(AnyFailure(outcome)); });
  }
}

// cases/reports.md 61, cases/replay.md 21
TEST(SegmentOnAFailingDisk, AFullDiskIsToldAsFullAndRecordingGoesOnWhenThereIsRoom) {
  FailEachCall(Fault::kNoSpace, false, [](const Outcome& outcome) {
    EXPECT_FALSE(outcome.codes.contains(WriteCode::kBroken));
    EXPECT_TRUE(AnyFailure(outcome));
    if (!outcome.opened) return;
    EXPECT_EQ(outcome.committed.size(), kBatches * kEventsPerBatch);
    EXPECT_TRUE(outcome.sealed);
  });
  FailEachCall(Fault::kNoSpace, true, [](const Outcome& outcome) {
    EXPECT_FALSE(outcome.codes.contains(WriteCode::kBroken));
    EXPECT_TRUE(AnyFailure(outcome));
    // Not when only the end of the journal is missing: SQLite keeps the reason to itself there.
    if (outcome.committed.size() < kBatches * kEventsPerBatch) {
      EXPECT_TRUE(outcome.codes.contains(WriteCode::kFull));
    }
  });
}

TEST(SegmentOnAFailingDisk, AFailedSyncBreaksTheSegment) {
  FailEachCall(Fault::kSync, false, [](const Outcome& outcome) {
    EXPECT_TRUE(outcome.codes.contains(WriteCode::kBroken));
    EXPECT_FALSE(outcome.sealed);
  });
}

}  // namespace
}  // namespace reenact::store
