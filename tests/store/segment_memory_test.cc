// A segment in a process that runs out of memory: at each allocation in turn, of our own code,
// SQLite and zstd. No exception comes out, the file stays whole, and what was called committed is
// there.

#include <stdlib.h>
#include <unistd.h>

#include <cstdint>
#include <new>
#include <set>

#include "gtest/gtest.h"

#include "store/writer/segment_writer.h"
#include "tests/store/segment_samples.h"
#include "tests/support/segment_oracle.h"
#include "tests/support/temp_folder.h"

namespace {

struct Allocations {
  int64_t count = 0;
  int64_t fail_at = 0;  // 0: never.
  bool struck = false;

  bool Strikes() {
    if (fail_at == 0 || ++count != fail_at) return false;
    struck = true;
    return true;
  }
};

// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables)
Allocations allocations;

}  // namespace

extern "C" {
void* __real_malloc(size_t size);
void* __real_calloc(size_t count, size_t size);
void* __real_realloc(void* block, size_t size);

void* __wrap_malloc(size_t size) {
  return allocations.Strikes() ? nullptr : __real_malloc(size);
}

void* __wrap_calloc(size_t count, size_t size) {
  return allocations.Strikes() ? nullptr : __real_calloc(count, size);
}

void* __wrap_realloc(void* block, size_t size) {
  return allocations.Strikes() ? nullptr : __real_realloc(block, size);
}
}

// GCC takes the pair below for a mistake.
#pragma GCC diagnostic ignored "-Wmismatched-new-delete"

void* operator new(size_t size) {
  void* block = __wrap_malloc(size == 0 ? 1 : size);
  if (block == nullptr) throw std::bad_alloc();
  return block;
}

// A sanitizer brings its own of this one, which would not go through the pair.
void* operator new(size_t size, const std::nothrow_t&) noexcept {
  return __wrap_malloc(size == 0 ? 1 : size);
}

void operator delete(void* block) noexcept {
  ::free(block);
}

void operator delete(void* block, size_t) noexcept {
  ::free(block);
}

namespace reenact::store {
namespace {

using namespace reenact::testing;  // NOLINT(google-build-using-namespace)

constexpr uint64_t kBatches = 3;

struct Outcome {
  int64_t open_allocations = 0;
  int64_t allocations = 0;
  bool opened = false;
  bool sealed = false;
  std::set<uint64_t> committed;
  WriteCode open_code = WriteCode::kOk;
};

WriteCode AddBatch(SegmentWriter* writer, const schema::Run& run,
                   const std::vector<schema::Event>& events, uint64_t batch) {
  WriteCode code = writer->AddRun(run);
  if (code == WriteCode::kOk) code = writer->AddEvent(events[2 * batch]);
  if (code == WriteCode::kOk) code = writer->AddOpenCall(events[2 * batch + 1]);
  if (code == WriteCode::kOk) code = writer->Commit();
  if (code == WriteCode::kOk) code = writer->AddEvent(events[2 * batch + 1]);
  return code == WriteCode::kOk ? writer->Commit() : code;
}

Outcome Record(const SegmentOptions& options, const std::vector<schema::Event>& events,
               int64_t fail_at) {
  Outcome outcome;
  std::unique_ptr<SegmentWriter> writer;
  std::string why;
  const schema::Run run = SampleRun();
  allocations = {.count = 0, .fail_at = fail_at, .struck = false};
  const WriteCode opened = SegmentWriter::Open(options, &writer, &why);
  outcome.open_allocations = allocations.count;
  uint64_t committed = 0;
  bool sealed = false;
  if (opened == WriteCode::kOk) {
    for (uint64_t batch = 0; batch < kBatches; ++batch) {
      // As a consumer does: what was not taken is offered again.
      WriteCode code = WriteCode::kUnavailable;
      for (int attempt = 0; attempt < 3 && code != WriteCode::kOk; ++attempt) {
        code = AddBatch(writer.get(), run, events, batch);
      }
      if (code == WriteCode::kOk) committed |= uint64_t{1} << batch;
    }
    sealed = writer->Seal("") == WriteCode::kOk || writer->Seal("") == WriteCode::kOk;
  }
  writer.reset();
  outcome.allocations = allocations.count;
  allocations.fail_at = 0;
  outcome.opened = opened == WriteCode::kOk;
  outcome.open_code = opened;
  outcome.sealed = sealed;
  for (uint64_t batch = 0; batch < kBatches; ++batch) {
    if ((committed >> batch & 1) == 0) continue;
    outcome.committed.insert(events[2 * batch].sequence);
    outcome.committed.insert(events[2 * batch + 1].sequence);
  }
  return outcome;
}

TEST(SegmentWithoutMemory, EveryAllocationMayFail) {
  TempFolder folder;
  std::vector<schema::Event> events;
  for (uint64_t i = 0; i < 2 * kBatches; ++i) {
    schema::Event event = SampleEvent(i + 1);
    event.request.bytes += std::string(2000 + i * 100, 'q');
    events.push_back(event);
  }
  // What SQLite and zstd keep from their own start is not counted.
  constexpr int64_t kNever = INT64_MAX;
  (void)Record(SampleOptions(folder.File("warm.db")), events, kNever);
  const Outcome whole = Record(SampleOptions(folder.File("whole.db")), events, kNever);
  ASSERT_TRUE(whole.sealed);
  int recovered = 0;
  for (int64_t number = 1; number <= whole.allocations; ++number) {
    SCOPED_TRACE("allocation " + std::to_string(number));
    // Opening is mostly SQLite reading SQL, again and again the same way.
    if (number < whole.open_allocations) number += 6;
    const SegmentOptions options = SampleOptions(folder.File(std::to_string(number) + ".db"));
    const Outcome outcome = Record(options, events, number);
    EXPECT_TRUE(allocations.struck);
    if (!outcome.opened) {
      EXPECT_EQ(outcome.open_code, WriteCode::kUnavailable);
      EXPECT_NE(::access(options.path.c_str(), F_OK), 0) << "a half made file was left";
      continue;
    }
    const StoredSegment stored = ReadSegment(options.path);
    ASSERT_EQ(stored.damage, "");
    for (const uint64_t sequence : outcome.committed) EXPECT_TRUE(stored.events.contains(sequence));
    // One shortage is over by the second try.
    EXPECT_EQ(outcome.committed.size(), events.size());
    EXPECT_TRUE(outcome.sealed);
    ++recovered;
    ::unlink(options.path.c_str());
  }
  // How many allocations follow opening depends on the version of SQLite.
  EXPECT_GT(recovered, 50) << "of " << whole.allocations;
}

}  // namespace
}  // namespace reenact::store
