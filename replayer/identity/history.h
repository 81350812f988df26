// What one thing was over time, from when each of its values was seen: the versions of a component,
// the model behind an alias. Nothing is known between two sightings; a value is taken to have
// stayed until another was seen.

#ifndef REENACT_REPLAYER_IDENTITY_HISTORY_H_
#define REENACT_REPLAYER_IDENTITY_HISTORY_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "store/reader/sighting.h"

namespace reenact::identity {

// A value within one hour.
struct Observation {
  std::string value;
  int64_t hour = 0;
  int64_t count = 0;
  store::Sighting first;
  store::Sighting last;
  bool snapshot = false;  // Somebody wrote it down; nothing used it.
};

// A value in unbroken use: seen in every hour or the next, or with no other value between.
struct Period {
  std::string value;
  int64_t count = 0;
  store::Sighting first;
  store::Sighting last;
};

struct ValueInUse {
  Period period;
  store::Sighting known_from;  // The last sighting at or before the time, as far as hours tell.
  bool from_snapshot = false;
};

// One value as a rule; several where a rollout, or a fleet, had several in use at once; none before
// the first sighting.
struct ValuesAt {
  std::vector<ValueInUse> in_use;
  std::optional<Period> before;  // The last other value.
  std::optional<Period> after;   // The next other value.
};

class History {
 public:
  // In any order.
  explicit History(std::vector<Observation> observations);

  // By the first sighting.
  const std::vector<Period>& periods() const { return periods_; }

  const std::vector<Observation>& observations() const { return observations_; }

  ValuesAt At(int64_t wall_ns) const;

 private:
  std::vector<Observation> observations_;  // By the first sighting.
  std::vector<Period> periods_;
};

}  // namespace reenact::identity

#endif  // REENACT_REPLAYER_IDENTITY_HISTORY_H_
