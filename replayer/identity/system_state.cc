#include "replayer/identity/system_state.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

#include "replayer/identity/history.h"

namespace reenact::identity {
namespace {

using store::CallIdentity;
using store::ComponentIdentity;
using store::Seen;

// Sightings of so many hours make a mix.
constexpr int64_t kMixHours = 24;

using ComponentKey = std::tuple<std::string, std::string, std::string>;  // Service, kind, name.
using ModelKey = std::tuple<std::string, std::string, std::string, std::string>;

template <typename Identity>
Observation ObservationOf(const Seen<Identity>& seen, std::string value) {
  return {.value = std::move(value),
          .hour = seen.hour,
          .count = seen.count,
          .first = seen.first,
          .last = seen.last};
}

// "v14", and "v14 (other text)" for a version that came with another content before.
class VersionNames {
 public:
  std::string NameOf(const ComponentIdentity& component) {
    std::vector<uint64_t>& contents = contents_[component.version];
    auto known = std::find(contents.begin(), contents.end(), component.content);
    if (known == contents.end()) known = contents.insert(contents.end(), component.content);
    const auto index = known - contents.begin();
    if (index == 0) return component.version;
    return absl::StrCat(component.version, index == 1 ? " (other text)" : " (yet another text)");
  }

 private:
  std::map<std::string, std::vector<uint64_t>> contents_;
};

std::optional<OtherValue> Other(const std::optional<Period>& period, bool is_before) {
  if (!period) return std::nullopt;
  return OtherValue{period->value, is_before ? period->last : period->first};
}

std::vector<CurrentValue> Current(const ValuesAt& values) {
  std::vector<CurrentValue> list;
  for (const ValueInUse& used : values.in_use) {
    list.push_back({used.period.value, used.period.first, used.known_from, used.from_snapshot});
  }
  return list;
}

ComponentState ComponentStateAt(const ComponentKey& key,
                                std::vector<const Seen<ComponentIdentity>*> seen, int64_t wall_ns) {
  std::sort(seen.begin(), seen.end(),
            [](const auto* a, const auto* b) { return a->first.at_wall_ns < b->first.at_wall_ns; });
  VersionNames names;
  std::vector<Observation> observations;
  for (const auto* entry : seen) {
    observations.push_back(ObservationOf(*entry, names.NameOf(entry->what)));
    observations.back().snapshot = entry->what.snapshot;
  }
  const ValuesAt values = History(std::move(observations)).At(wall_ns);
  return {.kind = std::get<1>(key),
          .name = std::get<2>(key),
          .versions = Current(values),
          .before = Other(values.before, true),
          .after = Other(values.after, false)};
}

std::vector<Share> BySize(const std::map<std::string, int64_t>& counts) {
  std::vector<Share> shares;
  for (const auto& [value, count] : counts) shares.push_back({value, count});
  std::stable_sort(shares.begin(), shares.end(),
                   [](const Share& a, const Share& b) { return a.count > b.count; });
  return shares;
}

std::string ServedText(const CallIdentity& call) {
  return call.served_model.empty() ? "(not told)" : call.served_model;
}

// The mix of the day up to the last call, as the models in use at the time gave it: a fingerprint
// names one of several replicas, and an hour may see few of them.
void FillMix(const std::vector<const Seen<CallIdentity>*>& seen, int64_t wall_ns,
             ModelState* state) {
  std::vector<const Seen<CallIdentity>*> current;
  int64_t last_hour = INT64_MIN;
  for (const auto* entry : seen) {
    const bool in_use = std::any_of(
        state->served.begin(), state->served.end(),
        [&](const CurrentValue& served) { return served.value == ServedText(entry->what); });
    if (!in_use || entry->first.at_wall_ns > wall_ns) continue;
    current.push_back(entry);
    last_hour = std::max(last_hour, entry->hour);
  }
  std::map<std::string, int64_t> fingerprints;
  std::map<std::string, int64_t> tiers;
  std::map<std::string, int64_t> regions;
  for (const auto* entry : current) {
    if (entry->hour <= last_hour - kMixHours) continue;
    state->calls += entry->count;
    fingerprints[FingerprintText(entry->what)] += entry->count;
    if (!entry->what.service_tier.empty()) tiers[entry->what.service_tier] += entry->count;
    if (!entry->what.region.empty()) regions[entry->what.region] += entry->count;
    for (const absl::string_view profile : {"n1", "stock"}) {
      if (absl::StartsWith(entry->what.fingerprint, absl::StrCat(profile, "-")))
        state->engine_profile = std::string(profile);
    }
  }
  state->fingerprints = BySize(fingerprints);
  state->service_tiers = BySize(tiers);
  state->regions = BySize(regions);
}

ModelState ModelStateAt(const ModelKey& key, const std::vector<const Seen<CallIdentity>*>& seen,
                        int64_t wall_ns) {
  ModelState state{
      .provider = std::get<1>(key), .endpoint = std::get<2>(key), .asked_model = std::get<3>(key)};
  state.name = schema::ClassifyModelName(state.provider, state.asked_model);
  std::vector<Observation> observations;
  for (const auto* entry : seen) {
    observations.push_back(ObservationOf(*entry, ServedText(entry->what)));
  }
  const ValuesAt values = History(std::move(observations)).At(wall_ns);
  state.served = Current(values);
  state.before = Other(values.before, true);
  state.after = Other(values.after, false);
  FillMix(seen, wall_ns, &state);
  return state;
}

std::string Joined(const std::vector<CurrentValue>& values) {
  std::set<std::string> names;
  for (const CurrentValue& value : values) names.insert(value.value);
  std::string out;
  for (const std::string& name : names) absl::StrAppend(&out, out.empty() ? "" : " and ", name);
  return out;
}

// Values alone: shares of a mix move all the time.
std::string Joined(const std::vector<Share>& shares) {
  std::set<std::string> names;
  for (const Share& share : shares) names.insert(share.value);
  std::string out;
  for (const std::string& name : names) absl::StrAppend(&out, out.empty() ? "" : ", ", name);
  return out;
}

// What a state says, in the order in which it is told.
using Aspects = std::map<std::tuple<std::string, std::string, std::string>, std::string>;

Aspects AspectsOf(const SystemState& state) {
  Aspects aspects;
  for (const ServiceState& service : state.services) {
    for (const ComponentState& component : service.components) {
      aspects[{service.service, absl::StrCat(component.kind, " ", component.name), "version"}] =
          Joined(component.versions);
    }
    for (const ModelState& model : service.models) {
      const std::string thing = absl::StrCat(model.asked_model, " at ", model.endpoint);
      aspects[{service.service, thing, "served model"}] = Joined(model.served);
      aspects[{service.service, thing, "fingerprints"}] = Joined(model.fingerprints);
      aspects[{service.service, thing, "service tier"}] = Joined(model.service_tiers);
      aspects[{service.service, thing, "region"}] = Joined(model.regions);
    }
  }
  return aspects;
}

}  // namespace

std::string FingerprintText(const CallIdentity& call) {
  switch (call.fingerprint_presence) {
    case schema::Presence::kAbsent:
      return "(absent)";
    case schema::Presence::kNull:
      return "(null)";
    case schema::Presence::kEmpty:
      return "(empty)";
    case schema::Presence::kValue:
      break;
  }
  return call.fingerprint;
}

SystemState StateAt(const store::Sightings& sightings, int64_t wall_ns,
                    const std::string& service) {
  const auto wanted = [&](const std::string& name) { return service.empty() || name == service; };
  std::map<ComponentKey, std::vector<const Seen<ComponentIdentity>*>> components;
  for (const auto& seen : sightings.components) {
    const ComponentIdentity& what = seen.what;
    if (wanted(what.service)) components[{what.service, what.kind, what.name}].push_back(&seen);
  }
  std::map<ModelKey, std::vector<const Seen<CallIdentity>*>> models;
  for (const auto& seen : sightings.calls) {
    const CallIdentity& what = seen.what;
    if (wanted(what.service))
      models[{what.service, what.provider, what.endpoint, what.asked_model}].push_back(&seen);
  }
  std::map<std::string, ServiceState> services;
  for (const auto& [key, seen] : components) {
    ComponentState state = ComponentStateAt(key, seen, wall_ns);
    if (!state.versions.empty()) services[std::get<0>(key)].components.push_back(std::move(state));
  }
  for (const auto& [key, seen] : models) {
    ModelState state = ModelStateAt(key, seen, wall_ns);
    if (!state.served.empty()) services[std::get<0>(key)].models.push_back(std::move(state));
  }
  SystemState state{.at_wall_ns = wall_ns, .services = {}};
  for (auto& [name, of_service] : services) {
    of_service.service = name;
    state.services.push_back(std::move(of_service));
  }
  return state;
}

std::vector<StateDifference> Compare(const SystemState& from, const SystemState& to) {
  const Aspects before = AspectsOf(from);
  Aspects after = AspectsOf(to);
  std::vector<StateDifference> differences;
  const auto add = [&](const auto& key, const std::string& a, const std::string& b) {
    if (a == b) return;
    differences.push_back({std::get<0>(key), std::get<1>(key), std::get<2>(key), a, b});
  };
  for (const auto& [key, value] : before) {
    const auto there = after.find(key);
    add(key, value, there == after.end() ? "" : there->second);
    if (there != after.end()) after.erase(there);
  }
  for (const auto& [key, value] : after) add(key, "", value);
  return differences;
}

}  // namespace reenact::identity
