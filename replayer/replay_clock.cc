// The frozen clock: each reading of a name gives what it gave when it was recorded.

#include <cstdint>
#include <limits>

#include "absl/time/time.h"

#include "replayer/internal/session_state.h"

namespace reenact::replayer {
namespace {

uint64_t ToReading(const Override& given) {
  absl::Time time;
  std::string error;
  absl::ParseTime(absl::RFC3339_full, given.value, &time, &error);  // Checked by ParseOverride.
  return static_cast<uint64_t>(absl::ToUnixNanos(time));
}

}  // namespace

schema::Message SessionState::ReadClock(const Address& address) {
  const Override* given = FindOverride(Override::Target::kClock, address.name);
  const Taken taken = TakeReading(address);
  if (taken.record == nullptr) {
    // Time does not go on by itself: the last reading of this name, else of any, else the
    // beginning of the run.
    const std::vector<const schema::Event*>& recorded = tape.ReadingsAt(address);
    uint64_t fallback = static_cast<uint64_t>(tape.run().run.started.wall_ns);
    if (last_clock_value) fallback = *last_clock_value;
    if (!recorded.empty()) fallback = recorded.back()->value;
    if (given != nullptr) fallback = ToReading(*given);
    return RefuseReading(address, taken, fallback);
  }
  const uint64_t value = given != nullptr ? ToReading(*given) : taken.record->value;
  last_clock_value = value;
  KeepReading(address, taken, value);
  return schema::Value{value};
}

}  // namespace reenact::replayer
