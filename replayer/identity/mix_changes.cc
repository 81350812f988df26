// Calls are looked at day by day. What a day gives is compared with all calls of the epoch before
// it; a change begins a new epoch, with which later days are compared. The tests of all days and
// endpoints share one alpha (Bonferroni: what is tested next depends on what was found before).

#include "replayer/identity/mix_changes.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "replayer/analysis/token_counts.h"
#include "replayer/identity/system_state.h"

namespace reenact::identity {
namespace {

using analysis::Counts;

constexpr int64_t kHourNs = 3'600'000'000'000;
// Up to so many calls all relabellings are enumerated; above, chi-square with expected counts of at
// least 5.
constexpr int64_t kExactCalls = 40;
constexpr double kLeastExpected = 5;

store::Sighting DayStart(int64_t day) {
  return {.at_wall_ns = day * kHoursADay * kHourNs};
}

int64_t TotalOf(const Counts& counts) {
  int64_t total = 0;
  for (const auto& [value, count] : counts) total += count;
  return total;
}

void AddTo(const Counts& from, Counts* to) {
  for (const auto& [value, count] : from) (*to)[value] += count;
}

// Values too rare for chi-square, on either side, become one.
void PoolRare(Counts* a, Counts* b) {
  const auto n_a = static_cast<double>(TotalOf(*a));
  const auto n_b = static_cast<double>(TotalOf(*b));
  Counts both = *a;
  AddTo(*b, &both);
  Counts pooled_a;
  Counts pooled_b;
  for (const auto& [value, count] : both) {
    const double share = static_cast<double>(count) / (n_a + n_b);
    const bool is_rare = share * std::min(n_a, n_b) < kLeastExpected;
    const std::string name = is_rare ? "(rare)" : value;
    pooled_a[name] += (*a)[value];
    pooled_b[name] += (*b)[value];
  }
  *a = std::move(pooled_a);
  *b = std::move(pooled_b);
}

struct MixTest {
  analysis::Measure tv;
  analysis::Measure p;
};

MixTest TestMix(Counts before, Counts now) {
  if (TotalOf(before) + TotalOf(now) <= kExactCalls) {
    const auto exact = analysis::CompareCounts(before, now);
    return {exact.tv, exact.p};
  }
  const analysis::Measure tv =
      analysis::CompareCounts(before, now, {.exact_up_to = 0, .draws = 0}).tv;
  PoolRare(&before, &now);
  const auto pooled = analysis::CompareCounts(before, now, {.exact_up_to = 0, .draws = 0});
  // A pool that is still rare leaves chi-square invalid, and no shift can be told.
  return {tv, pooled.expected_below_five ? analysis::Measure(1.0) : pooled.chi2_p};
}

// One endpoint, day after day.
class DayByDay {
 public:
  DayByDay(const SeenCalls& seen, const TimelineOptions& options, int64_t test_count)
      : options_(options),
        alpha_(options.alpha / static_cast<double>(std::max<int64_t>(test_count, 1))) {
    for (const auto* entry : seen) {
      const int64_t day = entry->hour / kHoursADay;
      const std::string value = FingerprintText(entry->what);
      days_[day][value] += entry->count;
      auto [first, is_new] = first_.try_emplace(value, entry->first);
      if (!is_new && entry->first.at_wall_ns < first->second.at_wall_ns)
        first->second = entry->first;
      auto [last, added] = last_.try_emplace(value, entry->last);
      if (!added && entry->last.at_wall_ns > last->second.at_wall_ns) last->second = entry->last;
    }
  }

  std::vector<Change> Changes() {
    for (const auto& [day, counts] : days_) {
      if (known_.empty()) {
        for (const auto& [value, count] : counts) known_.insert(value);
        epoch_ = counts;
        AddNovelWithinFirstDay(counts);
        continue;
      }
      bool changed = FindNovel(day, counts);
      changed = FindShift(day, counts) || changed;
      if (changed) {
        epoch_ = counts;
        unseen_.clear();
        continue;
      }
      FindVanished(counts);
      AddTo(counts, &epoch_);
    }
    for (Change& change : changes_) {
      if (change.kind == ChangeKind::kNovel || change.kind == ChangeKind::kPresence)
        change.share = ShareSince(change);
    }
    return std::move(changes_);
  }

 private:
  // The first day has nothing before it; what came up an hour after its first call is new all the
  // same.
  void AddNovelWithinFirstDay(const Counts& counts) {
    const auto earliest = std::min_element(
        first_.begin(), first_.end(),
        [](const auto& a, const auto& b) { return a.second.at_wall_ns < b.second.at_wall_ns; });
    for (const auto& [value, count] : counts) {
      const store::Sighting& first = first_.at(value);
      if (first.at_wall_ns - earliest->second.at_wall_ns >= kHourNs) AddNovel(value);
    }
  }

  void AddNovel(const std::string& value) {
    changes_.push_back({.kind = IsPresenceText(value) || known_only_presence()
                                    ? ChangeKind::kPresence
                                    : ChangeKind::kNovel,
                        .at = first_.at(value),
                        .value = value});
  }

  bool known_only_presence() const {
    return std::all_of(known_.begin(), known_.end(), IsPresenceText);
  }

  bool FindNovel(int64_t day, const Counts& counts) {
    bool found = false;
    for (const auto& [value, count] : counts) {
      if (vanished_.erase(value) > 0) {
        changes_.push_back({.kind = ChangeKind::kReturned, .at = DayStart(day), .value = value});
        found = true;
      }
      if (known_.contains(value)) continue;
      AddNovel(value);
      found = true;
    }
    for (const auto& [value, count] : counts) known_.insert(value);
    return found;
  }

  // Of the values that both sides know: a novel one is told as such.
  bool FindShift(int64_t day, const Counts& counts) {
    Counts now;
    for (const auto& [value, count] : counts) {
      if (epoch_.contains(value)) now[value] = count;
    }
    if (now.empty() || epoch_.size() < 2) return false;
    const MixTest test = TestMix(epoch_, now);
    if (!test.p.ok() || !test.tv.ok() || test.p.value() > alpha_ ||
        test.tv.value() < options_.least_tv)
      return false;
    changes_.push_back({.kind = ChangeKind::kMixShift,
                        .at = DayStart(day),
                        .value = "",
                        .p = test.p,
                        .tv = test.tv});
    return true;
  }

  void FindVanished(const Counts& counts) {
    const auto before = static_cast<double>(TotalOf(epoch_));
    for (const auto& [value, count] : epoch_) {
      if (counts.contains(value)) {
        unseen_[value] = {};
        continue;
      }
      Counts& since = unseen_[value];
      AddTo(counts, &since);
      const auto mix =
          analysis::CompareFingerprints({{value, count}, {"", TotalOf(epoch_) - count}},
                                        {{"", TotalOf(since)}}, {.exact_up_to = 0, .draws = 0});
      const auto chance = mix.unseen_by_chance.find(value);
      if (chance == mix.unseen_by_chance.end() || chance->second >= alpha_ ||
          vanished_.contains(value))
        continue;
      vanished_.insert(value);
      changes_.push_back(
          {.kind = IsPresenceText(value) ? ChangeKind::kPresence : ChangeKind::kVanished,
           .at = last_.at(value),
           .value = value,
           .share = static_cast<double>(count) / before,
           .p = chance->second});
    }
  }

  // From the beginning of its day on.
  analysis::Measure ShareSince(const Change& change) const {
    const int64_t day = change.at.at_wall_ns / kHourNs / kHoursADay;
    int64_t calls = 0;
    int64_t of_value = 0;
    for (auto entry = days_.lower_bound(day); entry != days_.end(); ++entry) {
      calls += TotalOf(entry->second);
      const auto there = entry->second.find(change.value);
      if (there != entry->second.end()) of_value += there->second;
    }
    if (calls == 0) return analysis::Status::kNoData;
    return static_cast<double>(of_value) / static_cast<double>(calls);
  }

  const TimelineOptions options_;
  const double alpha_;
  std::map<int64_t, Counts> days_;
  std::map<std::string, store::Sighting> first_;
  std::map<std::string, store::Sighting> last_;
  std::set<std::string> known_;     // Ever seen.
  std::set<std::string> vanished_;  // Told.
  Counts epoch_;
  std::map<std::string, Counts> unseen_;  // Calls since a value was last there.
  std::vector<Change> changes_;
};

}  // namespace

bool IsPresenceText(const std::string& value) {
  return value == "(absent)" || value == "(null)" || value == "(empty)";
}

std::vector<Change> ChangesOfMix(const SeenCalls& seen, const TimelineOptions& options,
                                 int64_t test_count) {
  return DayByDay(seen, options, test_count).Changes();
}

}  // namespace reenact::identity
