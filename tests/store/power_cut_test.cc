// The power goes while a segment is written: at each call that changes a file, and of what was not
// synced a part is left that a seed picks. What had been synced is there, what else is there is
// whole and in order, and a sealed segment is complete.
//
// REENACT_LONG=1: one call in five, rather than one in 127. REENACT_SEED: one call alone.

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <random>
#include <string>

#include "gtest/gtest.h"

#include "store/writer/segment_writer.h"
#include "tests/store/segment_samples.h"
#include "tests/support/fault_vfs.h"
#include "tests/support/segment_oracle.h"
#include "tests/support/temp_folder.h"

namespace reenact::store {
namespace {

using namespace reenact::testing;  // NOLINT(google-build-using-namespace)

// Past the first checkpoints, which come at 4 MiB.
constexpr uint64_t kPowerCutBatches = 8;
constexpr uint64_t kEventsOfBatch = 2;
constexpr size_t kNoiseBytes = 400'000;
// Odd, so that every kind of cut comes to every kind of call.
constexpr int64_t kShortFormStep = 127;
constexpr int64_t kLongFormStep = 5;

// What nothing can compress.
const std::string& Noise() {
  static const std::string noise = [] {
    std::mt19937_64 random(8);
    std::string bytes(kNoiseBytes, '\0');
    for (char& byte : bytes) byte = static_cast<char>(random());
    return bytes;
  }();
  return noise;
}

struct PowerOutcome {
  uint64_t durable = 0;  // Sequences up to here were committed before a checkpoint that went well.
  uint64_t last = 0;     // The last that was attempted.
  bool opened = false;
  bool sealed = false;
};

schema::Event NoisyEvent(uint64_t sequence) {
  schema::Event event = SampleEvent(sequence);
  event.response.bytes = std::to_string(sequence) + Noise().substr(sequence);
  return event;
}

PowerOutcome RecordUntilDark(const std::string& path) {
  PowerOutcome outcome;
  std::unique_ptr<SegmentWriter> writer;
  std::string why;
  if (SegmentWriter::Open(SampleOptions(path), &writer, &why) != WriteCode::kOk) return outcome;
  outcome.opened = true;
  writer->SetHurried(true);
  uint64_t committed = 0;
  for (uint64_t batch = 0; batch < kPowerCutBatches; ++batch) {
    WriteCode code = writer->AddRun(SampleRun());
    for (uint64_t i = 0; i < kEventsOfBatch && code == WriteCode::kOk; ++i) {
      code = writer->AddEvent(NoisyEvent(++outcome.last));
    }
    if (code == WriteCode::kOk) code = writer->Commit();
    if (code != WriteCode::kOk) return outcome;
    committed = outcome.last;
    const uint64_t before = writer->size_bytes();
    if (writer->CheckpointIfDue() != WriteCode::kOk) return outcome;
    // Only a checkpoint makes the file grow between two commits.
    if (writer->size_bytes() != before) outcome.durable = committed;
  }
  outcome.sealed = writer->Seal("") == WriteCode::kOk;
  if (outcome.sealed) outcome.durable = committed;
  return outcome;
}

// What is wrong with what is left; empty: nothing.
std::string FaultOfRemains(const std::string& path, const PowerOutcome& outcome) {
  if (!outcome.sealed) {
    SegmentOptions options = SampleOptions(path);
    options.open = SegmentOptions::Open::kReopen;
    std::unique_ptr<SegmentWriter> writer;
    std::string why;
    if (SegmentWriter::Open(options, &writer, &why) != WriteCode::kOk) {
      return outcome.durable == 0 ? "" : "cannot be opened again: " + why;
    }
    if (writer->Seal("") != WriteCode::kOk) return "cannot be sealed: " + writer->last_error();
  }
  const StoredSegment stored = ReadSegment(path);
  if (!stored.damage.empty()) return stored.damage;
  const uint64_t count = stored.events.size();
  if (count < outcome.durable) {
    return std::to_string(count) + " events, of " + std::to_string(outcome.durable) + " synced";
  }
  if (count > outcome.last) return "more events than were written";
  uint64_t expected = 0;
  for (const auto& [sequence, event] : stored.events) {
    if (sequence != ++expected) return "event " + std::to_string(expected) + " is missing";
    if (event.response.bytes != NoisyEvent(sequence).response.bytes) return "another body";
  }
  return "";
}

struct Tried {
  int64_t cuts = 0;
  int64_t with_synced = 0;
  int64_t faults = 0;
};

// Cuts the power at calls `first`, `first + step`, ... until a recording meets no cut.
Tried CutPowerAt(Fault fault, int64_t first, int64_t step, std::string* first_fault) {
  TempFolder folder;
  Tried tried;
  for (int64_t number = first;; number += step) {
    const std::string path = folder.File("segment.db");
    FaultVfs::Arm(fault, number, true);
    const PowerOutcome outcome = RecordUntilDark(path);
    const bool struck = FaultVfs::Struck();
    if (struck) {
      FaultVfs::RestorePower(static_cast<PowerCut>(number % 4), static_cast<uint64_t>(number));
    }
    FaultVfs::Disarm();
    const std::string wrong = FaultOfRemains(path, outcome);
    tried.faults += wrong.empty() ? 0 : 1;
    if (!wrong.empty() && first_fault->empty()) {
      *first_fault = "REENACT_SEED=" + std::to_string(number) + ": " + wrong;
    }
    for (const char* suffix : {"", "-wal", "-shm", "-journal"}) {
      std::filesystem::remove(path + suffix);
    }
    if (!struck) return tried;
    ++tried.cuts;
    tried.with_synced += outcome.durable > 0 ? 1 : 0;
  }
}

TEST(SegmentAtAPowerCut, WhatWasSyncedIsThereAndTheRestIsWholeAndInOrder) {
  const bool is_long = std::getenv("REENACT_LONG") != nullptr;
  const char* given = std::getenv("REENACT_SEED");
  std::string fault;
  const int64_t first = given != nullptr ? std::atoll(given) : 1;
  const int64_t step = given != nullptr ? int64_t{1} << 40
                       : is_long        ? kLongFormStep
                                        : kShortFormStep;
  const Tried tried = CutPowerAt(Fault::kPowerCut, first, step, &fault);
  EXPECT_EQ(fault, "");
  if (given != nullptr) return;
  std::printf("%lld power cuts, %lld of them after a sync, %lld faults\n",
              static_cast<long long>(tried.cuts), static_cast<long long>(tried.with_synced),
              static_cast<long long>(tried.faults));
  EXPECT_GT(tried.cuts, 25);
  EXPECT_GT(tried.with_synced, 3);
}

// The other way round: on a disk that only says that it synced, the same cuts are not survived.
TEST(SegmentAtAPowerCut, ADiskWhoseSyncsAreUntrueIsToldFromAGoodOne) {
  std::string fault;
  const Tried tried = CutPowerAt(Fault::kUntruePowerSync, 1, kShortFormStep, &fault);
  EXPECT_GT(tried.faults, 0);
  EXPECT_NE(fault, "");
}

}  // namespace
}  // namespace reenact::store
