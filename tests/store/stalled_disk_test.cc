// A disk that does not answer for half a second, at one write or sync after another. The thread
// that ends the stall is the one that records meanwhile: if it ever waited for the disk, this test
// would never end.

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>

#include "gtest/gtest.h"

#include "recorder/event_log.h"
#include "store/reader/store_reader.h"
#include "tests/store/memory_folder.h"
#include "tests/store/recording.h"
#include "tests/support/fault_vfs.h"
#include "tests/support/temp_folder.h"

namespace reenact::recorder {
namespace {

using reenact::testing::Fault;
using reenact::testing::FaultVfs;

constexpr int64_t kStallNs = 500'000'000;
constexpr int64_t kPatienceNs = 60'000'000'000;

struct StallOutcome {
  bool struck = false;
  uint64_t during = 0;  // Records appended while the disk stood still.
  uint64_t acknowledged = 0;
  schema::Ulid run;
};

void RecordThroughStall(EventLog* log, StallOutcome* outcome) {
  store::Recording run([&](store::RecordKind kind, std::string_view head, std::string_view tail) {
    const std::string_view pieces[] = {head, tail};
    store::DropReason reason = store::DropReason::kNone;
    const uint64_t sequence = log->Append(kind, pieces, 2, &reason);
    outcome->acknowledged += sequence != 0 ? 1 : 0;
    return sequence;
  });
  outcome->run = run.run();
  run.Begin();
  int64_t struck_ns = 0;
  const int64_t give_up_ns = store::MonotonicNowNs() + 2 * kStallNs;
  for (int64_t now = 0; struck_ns == 0 ? now < give_up_ns : now < struck_ns + kStallNs;) {
    run.Call("request", "response");
    now = store::MonotonicNowNs();
    if (struck_ns != 0) ++outcome->during;
    if (struck_ns == 0 && FaultVfs::Struck()) struck_ns = now;
    // A pace, not a synchronisation: the ring outlasts the stall.
    std::this_thread::sleep_for(std::chrono::microseconds(500));
  }
  outcome->struck = struck_ns != 0;
  FaultVfs::Disarm();
  run.End();
}

TEST(StalledDisk, DelaysNobodyAndLosesNothing) {
  store::MemoryFolder memory;
  int stalls = 0;
  for (const int64_t number : {1, 5, 20, 60, 100, 150}) {
    SCOPED_TRACE("call " + std::to_string(number));
    const reenact::testing::TempFolder disk;
    EventLogOptions options;
    options.store_path = disk.File("store");
    options.retention.min_free_bytes = 0;
    options.retention.min_free_percent = 0;
    FaultVfs::Arm(Fault::kStall, number, false);
    std::string why;
    const std::unique_ptr<EventLog> log = EventLog::Open(options, &why);
    ASSERT_NE(log, nullptr) << why;
    StallOutcome outcome;
    RecordThroughStall(log.get(), &outcome);
    EXPECT_TRUE(log->Close(store::MonotonicNowNs() + kPatienceNs));
    const EventLogMetrics metrics = log->Metrics();
    EXPECT_EQ(metrics.accepted, outcome.acknowledged);
    EXPECT_EQ(metrics.stored, outcome.acknowledged);
    auto reader = store::StoreReader::Open(options.store_path);
    ASSERT_TRUE(reader.ok()) << reader.status();
    const auto loaded = (*reader)->LoadRun(outcome.run, {});
    ASSERT_TRUE(loaded.ok()) << loaded.status();
    // A beginning and an end for each call, and those of the run.
    EXPECT_EQ(loaded->events.size() * 2 + 2, outcome.acknowledged);
    stalls += outcome.struck ? 1 : 0;
    if (outcome.struck) {
      EXPECT_GT(outcome.during, 20u);
    }
  }
  EXPECT_GE(stalls, 3);
}

}  // namespace
}  // namespace reenact::recorder
