// Times and durations as people write them, and back. Output is RFC 3339 in UTC. Input without a
// zone is read in the local zone, and the result says so.

#ifndef REENACT_TOOLS_REENACT_IO_TIME_TEXT_H_
#define REENACT_TOOLS_REENACT_IO_TIME_TEXT_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace reenact::tools {

// "2026-03-01T12:00:00Z".
std::string FormatSeconds(int64_t wall_ns);
// "2026-03-01T12:00:00.123Z".
std::string FormatMillis(int64_t wall_ns);
// As many fractional digits as the value has: nothing is lost.
std::string FormatExact(int64_t wall_ns);

// "350 ns", "12.3 µs", "45.6 ms", "1.204 s", "2 min 03 s", "3 h 20 min".
std::string FormatDuration(int64_t duration_ns);
// "+1.204 s"; from a minute on "+2:03.400".
std::string FormatOffset(int64_t offset_ns);

// `to` - `from` of times that were read from a file, and may be absurd: wraps instead of
// overflowing.
inline int64_t Elapsed(int64_t from_ns, int64_t to_ns) {
  return static_cast<int64_t>(static_cast<uint64_t>(to_ns) - static_cast<uint64_t>(from_ns));
}

struct TimePoint {
  int64_t wall_ns = 0;
  std::string note;  // How it was read where that was not written: `... read in Europe/Berlin`.
};

// Reads "2h", "3d" (ago), "2026-03-01T12:00:00Z", "2026-03-01 12:00", "2026-03-01",
// and each of the last two followed by a zone: "2025-10-26 02:30 Europe/Berlin".
// Errors: InvalidArgument for a text in no such form; for a local time that exists twice (both
// instants are offered) or not at all.
absl::StatusOr<TimePoint> ParseTimePoint(const std::string& text, int64_t now_ns,
                                         const absl::TimeZone& local);

// A number and a unit of ms, s, m, h, d or w: "90d", "1.5h". Not negative.
// Errors: InvalidArgument, naming the text and the units.
absl::StatusOr<int64_t> ParseDuration(const std::string& text);

}  // namespace reenact::tools

#endif  // REENACT_TOOLS_REENACT_IO_TIME_TEXT_H_
