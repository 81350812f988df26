// What a schedule of a recorder's steps was told and did, in memory that outlives its process, and
// whether a store holds it.

#ifndef REENACT_TESTS_STORE_SCHEDULE_TOLD_H_
#define REENACT_TESTS_STORE_SCHEDULE_TOLD_H_

#include <cstdint>
#include <string>

#include "schema/record.h"

namespace reenact::testing {

inline constexpr int kScheduleRuns = 2;
inline constexpr int kMaxScheduleRecords = 400;
inline constexpr int kMaxScheduleForks = 8;

struct Told {
  // Acknowledged ones.
  struct Record {
    bool is_call = false;
    int run = 0;
    uint64_t begin = 0;  // Sequences.
    uint64_t end = 0;    // Of a call: 0 while it is open.

    uint64_t last() const { return end != 0 ? end : begin; }
  };

  schema::Ulid runs[kScheduleRuns];
  bool begun[kScheduleRuns];
  int count;
  Record records[kMaxScheduleRecords];  // Their index is in what they record.
  schema::Ulid forked_runs[kMaxScheduleForks];
  int forked_count;

  uint64_t stored_below;  // As the writer said.
  uint64_t pruned_below;  // What is older may be gone with its segment.
  int prunes_despite_mark;
  bool closed_well;
  uint64_t dropped;  // By the log's own count, when it was closed well.

  // What the schedules of all seeds came to.
  int turns, rotations, prunes, faults, forks, reads, pins, wall_steps, kills, closes, abandons,
      marks, flushes, full_rings;
  char problem[512];  // Empty: none.
};

// Everything that was acknowledged and is not pruned is in the store, once, with what it recorded;
// records from `below` on may be missing. Empty, or what is wrong.
std::string FindLoss(const std::string& store_path, const Told& told, uint64_t below);
// The same for a store that nobody writes any more, and integrity, chains and declared gaps.
std::string FindFault(const std::string& store_path, const Told& told);

std::string ScheduleRequest(int index);
std::string ScheduleResponse(int index);

}  // namespace reenact::testing

#endif  // REENACT_TESTS_STORE_SCHEDULE_TOLD_H_
