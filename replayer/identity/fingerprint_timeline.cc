#include "replayer/identity/fingerprint_timeline.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "replayer/identity/history.h"
#include "replayer/identity/mix_changes.h"
#include "replayer/identity/system_state.h"

namespace reenact::identity {
namespace {

using store::CallIdentity;
using store::Seen;

// Fewer calls that all give one value do not show that it is a constant.
constexpr int64_t kConstantCalls = 20;

bool IsOwnService(const std::string& service) {
  return service.starts_with(kBaselineService) || service.starts_with(kCheckService) ||
         service.starts_with(kEvalService);
}

void AddServedModels(const SeenCalls& seen, std::vector<Change>* changes) {
  std::vector<Observation> observations;
  for (const auto* entry : seen) {
    if (entry->what.served_model.empty()) continue;
    observations.push_back({.value = entry->what.served_model,
                            .hour = entry->hour,
                            .count = entry->count,
                            .first = entry->first,
                            .last = entry->last});
  }
  const History history(std::move(observations));
  const Period* before = nullptr;
  for (const Period& period : history.periods()) {
    if (before != nullptr && before->value != period.value) {
      changes->push_back({.kind = ChangeKind::kServedModel,
                          .at = period.first,
                          .value = period.value,
                          .before = before->value});
    }
    before = &period;
  }
}

void AddTiers(const SeenCalls& seen, std::vector<Change>* changes) {
  std::map<std::string, store::Sighting> first;
  const Seen<CallIdentity>* earliest = nullptr;
  for (const auto* entry : seen) {
    if (earliest == nullptr || entry->first.at_wall_ns < earliest->first.at_wall_ns)
      earliest = entry;
    if (entry->what.service_tier.empty()) continue;
    auto [there, is_new] = first.try_emplace(entry->what.service_tier, entry->first);
    if (!is_new && entry->first.at_wall_ns < there->second.at_wall_ns) there->second = entry->first;
  }
  for (const auto& [tier, sighting] : first) {
    if (sighting.at_wall_ns == earliest->first.at_wall_ns || first.size() < 2) continue;
    changes->push_back({.kind = ChangeKind::kTier, .at = sighting, .value = tier});
  }
}

void FillValues(const SeenCalls& seen, EndpointTimeline* timeline) {
  std::map<std::string, FingerprintValue> values;
  std::set<std::string> services;
  for (const auto* entry : seen) {
    services.insert(entry->what.service);
    timeline->calls += entry->count;
    const std::string text = FingerprintText(entry->what);
    auto [there, is_new] = values.try_emplace(text, FingerprintValue{text, 0, entry->first, {}});
    FingerprintValue& value = there->second;
    value.calls += entry->count;
    if (entry->first.at_wall_ns < value.first.at_wall_ns) value.first = entry->first;
    if (entry->last.at_wall_ns >= value.last.at_wall_ns) value.last = entry->last;
  }
  timeline->services.assign(services.begin(), services.end());
  for (const auto& [text, value] : values) timeline->values.push_back(value);
  std::stable_sort(timeline->values.begin(), timeline->values.end(),
                   [](const FingerprintValue& a, const FingerprintValue& b) {
                     return a.first.at_wall_ns < b.first.at_wall_ns;
                   });
}

Coverage CoverageOf(const EndpointTimeline& timeline) {
  const auto& values = timeline.values;
  if (values.size() == 1) {
    if (values[0].value == "(absent)") return Coverage::kAbsent;
    if (values[0].value == "(null)") return Coverage::kNull;
    if (values[0].value == "(empty)") return Coverage::kEmpty;
    return timeline.calls >= kConstantCalls ? Coverage::kConstant : Coverage::kVaries;
  }
  const bool partly = std::any_of(values.begin(), values.end(), [](const FingerprintValue& value) {
    return IsPresenceText(value.value);
  });
  return partly ? Coverage::kPartly : Coverage::kVaries;
}

// Figures that were taken before a change, of the same endpoint and model.
void FillVoids(const SeenCalls& seen, std::vector<Change>* changes) {
  std::map<std::string, int64_t> first_probe;
  for (const auto* entry : seen) {
    const std::string& service = entry->what.service;
    const bool is_figure =
        service.starts_with(kBaselineService) || service.starts_with(kEvalService);
    if (!is_figure) continue;
    auto [there, is_new] = first_probe.try_emplace(service, entry->first.at_wall_ns);
    if (!is_new) there->second = std::min(there->second, entry->first.at_wall_ns);
  }
  for (Change& change : *changes) {
    if (!change.ends_epoch()) continue;
    for (const auto& [service, first_wall_ns] : first_probe) {
      if (first_wall_ns < change.at.at_wall_ns) change.voids.push_back(service);
    }
  }
}

EndpointTimeline TimelineOf(const SeenCalls& seen, const TimelineOptions& options,
                            int64_t test_count) {
  const CallIdentity& what = seen.front()->what;
  EndpointTimeline timeline{
      .provider = what.provider, .endpoint = what.endpoint, .asked_model = what.asked_model};
  FillValues(seen, &timeline);
  timeline.coverage = CoverageOf(timeline);
  timeline.changes = ChangesOfMix(seen, options, test_count);
  AddServedModels(seen, &timeline.changes);
  AddTiers(seen, &timeline.changes);
  std::stable_sort(
      timeline.changes.begin(), timeline.changes.end(),
      [](const Change& a, const Change& b) { return a.at.at_wall_ns < b.at.at_wall_ns; });
  FillVoids(seen, &timeline.changes);
  return timeline;
}

}  // namespace

std::string_view ToString(ChangeKind kind) {
  switch (kind) {
    case ChangeKind::kNovel:
      return "novel";
    case ChangeKind::kPresence:
      return "presence";
    case ChangeKind::kVanished:
      return "vanished";
    case ChangeKind::kReturned:
      return "returned";
    case ChangeKind::kMixShift:
      return "mix_shift";
    case ChangeKind::kServedModel:
      return "served_model";
    case ChangeKind::kTier:
      return "tier";
  }
  return "";
}

std::string_view ToString(Coverage coverage) {
  switch (coverage) {
    case Coverage::kAbsent:
      return "absent";
    case Coverage::kNull:
      return "null";
    case Coverage::kEmpty:
      return "empty";
    case Coverage::kPartly:
      return "partly";
    case Coverage::kConstant:
      return "constant";
    case Coverage::kVaries:
      return "varies";
  }
  return "";
}

int64_t EndpointTimeline::EpochAt(int64_t wall_ns) const {
  return std::count_if(changes.begin(), changes.end(), [&](const Change& change) {
    return change.ends_epoch() && change.at.at_wall_ns <= wall_ns;
  });
}

std::vector<EndpointTimeline> TimelinesOf(const store::Sightings& sightings,
                                          const std::string& service,
                                          const TimelineOptions& options) {
  std::map<std::tuple<std::string, std::string, std::string>, SeenCalls> endpoints;
  for (const Seen<CallIdentity>& seen : sightings.calls) {
    if (!service.empty() && seen.what.service != service && !IsOwnService(seen.what.service))
      continue;
    endpoints[{seen.what.provider, seen.what.endpoint, seen.what.asked_model}].push_back(&seen);
  }
  // Probes tell of an endpoint that the service uses, and of no other.
  std::erase_if(endpoints, [&](const auto& entry) {
    return !service.empty() &&
           std::none_of(entry.second.begin(), entry.second.end(),
                        [&](const auto* seen) { return seen->what.service == service; });
  });
  std::set<std::pair<const SeenCalls*, int64_t>> days;
  for (const auto& [key, seen] : endpoints) {
    for (const auto* entry : seen) days.emplace(&seen, entry->hour / kHoursADay);
  }
  std::vector<EndpointTimeline> timelines;
  for (const auto& [key, seen] : endpoints)
    timelines.push_back(TimelineOf(seen, options, static_cast<int64_t>(days.size())));
  return timelines;
}

const EndpointTimeline* FindTimeline(const std::vector<EndpointTimeline>& timelines,
                                     std::string_view provider, std::string_view endpoint,
                                     std::string_view asked_model) {
  for (const EndpointTimeline& timeline : timelines) {
    if (timeline.provider == provider && timeline.endpoint == endpoint &&
        timeline.asked_model == asked_model) {
      return &timeline;
    }
  }
  return nullptr;
}

}  // namespace reenact::identity
