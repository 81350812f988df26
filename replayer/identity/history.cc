#include "replayer/identity/history.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

namespace reenact::identity {
namespace {

// A period that may still grow.
struct Open {
  size_t index = 0;  // In the list of periods.
  int64_t hour = 0;
};

// Whether another value than `value` was seen after `wall_ns`, among those that were looked at.
bool OtherSeenAfter(const std::map<std::string, int64_t>& last_seen, const std::string& value,
                    int64_t wall_ns) {
  return std::any_of(last_seen.begin(), last_seen.end(), [&](const auto& entry) {
    return entry.first != value && entry.second > wall_ns;
  });
}

std::vector<Period> PeriodsOf(const std::vector<Observation>& observations) {
  std::vector<Period> periods;
  std::map<std::string, Open> open;
  std::map<std::string, int64_t> last_seen;
  for (const Observation& seen : observations) {
    const auto there = open.find(seen.value);
    const bool goes_on =
        there != open.end() &&
        (seen.hour - there->second.hour <= 1 ||
         !OtherSeenAfter(last_seen, seen.value, periods[there->second.index].last.at_wall_ns));
    if (goes_on) {
      Period& period = periods[there->second.index];
      period.count += seen.count;
      if (seen.last.at_wall_ns >= period.last.at_wall_ns) period.last = seen.last;
      there->second.hour = seen.hour;
    } else {
      periods.push_back({seen.value, seen.count, seen.first, seen.last});
      open[seen.value] = {periods.size() - 1, seen.hour};
    }
    int64_t& latest = last_seen[seen.value];
    latest = std::max(latest, seen.last.at_wall_ns);
  }
  return periods;
}

}  // namespace

History::History(std::vector<Observation> observations) : observations_(std::move(observations)) {
  std::sort(observations_.begin(), observations_.end(),
            [](const Observation& a, const Observation& b) {
              return std::tie(a.first.at_wall_ns, a.value) < std::tie(b.first.at_wall_ns, b.value);
            });
  periods_ = PeriodsOf(observations_);
}

ValuesAt History::At(int64_t wall_ns) const {
  ValuesAt result;
  const Period* latest = nullptr;  // Ended before, the last of those.
  for (const Period& period : periods_) {
    if (period.first.at_wall_ns > wall_ns) break;
    if (period.last.at_wall_ns >= wall_ns) result.in_use.push_back({period, {}, false});
    if (latest == nullptr || period.last.at_wall_ns > latest->last.at_wall_ns) latest = &period;
  }
  if (latest == nullptr) {
    if (!periods_.empty()) result.after = periods_.front();
    return result;
  }
  if (result.in_use.empty()) result.in_use.push_back({*latest, {}, false});

  const auto is_in_use = [&](const std::string& value) {
    return std::any_of(result.in_use.begin(), result.in_use.end(),
                       [&](const ValueInUse& used) { return used.period.value == value; });
  };
  for (const Period& period : periods_) {
    if (is_in_use(period.value)) continue;
    if (period.first.at_wall_ns > wall_ns) {
      if (!result.after) result.after = period;
    } else if (!result.before || period.last.at_wall_ns > result.before->last.at_wall_ns) {
      result.before = period;
    }
  }
  for (const Observation& seen : observations_) {
    for (ValueInUse& used : result.in_use) {
      if (seen.value != used.period.value || seen.first.at_wall_ns > wall_ns) continue;
      const store::Sighting& known = seen.last.at_wall_ns <= wall_ns ? seen.last : seen.first;
      if (known.at_wall_ns < used.known_from.at_wall_ns) continue;
      used.known_from = known;
      used.from_snapshot = seen.snapshot;
    }
  }
  return result;
}

}  // namespace reenact::identity
