#include "store/reader/internal/sighting_scan.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"

#include "schema/sha256.h"

namespace reenact::store::internal {
namespace {

constexpr int64_t kHourNs = 3'600'000'000'000;
// Fewer answers cannot tell a flaky case from a good one; docs/guide.md says why.
constexpr int64_t kLeastRepeats = 5;

// The clock readings of a program travel as a component; they are no version of anything.
constexpr std::string_view kClockTape = "frozen_process";

int64_t HourOf(int64_t wall_ns) {
  return wall_ns / kHourNs - (wall_ns % kHourNs < 0 ? 1 : 0);
}

// Tells contents apart within one store; no digest that would recognise a text elsewhere.
uint64_t ContentMark(const schema::Body& content) {
  if (content.bytes.empty()) return 0;
  const schema::Digest digest = schema::HashBytes(content.bytes);
  uint64_t mark = 0;
  std::memcpy(&mark, digest.data(), sizeof(mark));
  return mark | 1;
}

std::string RegionOf(const schema::Event& event, const schema::ModelView& view) {
  for (const auto& [name, value] : view.facts) {
    if (absl::EndsWith(name, "inference_geo")) return value;
  }
  for (const schema::ExchangeItem& item : event.exchange) {
    for (const auto& [name, value] : item.headers) {
      if (absl::EqualsIgnoreCase(name, "x-ms-region")) return value;
    }
  }
  return "";
}

std::string_view TagOf(const schema::Run& run, std::string_view key) {
  for (const auto& [name, value] : run.tags) {
    if (name == key) return value;
  }
  return "";
}

}  // namespace

SightingScan::SightingScan(const RunParts* parts) : parts_(*parts) {
  for (const auto& [run, part] : parts_) {
    if (part.run) counted_.insert(run);
  }
}

const schema::Run* SightingScan::Find(const schema::Ulid& run) const {
  const auto part = parts_.find(run);
  if (part == parts_.end() || !part->second.run) return nullptr;
  return part->second.run->origin == schema::RunOrigin::kReplay ? nullptr : &*part->second.run;
}

void SightingScan::AddTrait(TraitIdentity trait, const Sighting& sighting) {
  maps_.traits[{std::move(trait), 0}].Add(sighting);
}

void SightingScan::AddEvent(const schema::Event& event, const schema::ModelView& view) {
  const schema::Run* run = Find(event.run);
  if (run == nullptr) return;
  const Sighting sighting{event.started.wall_ns, event.run, event.sequence};
  switch (event.boundary) {
    case schema::Boundary::kModel:
      return AddModelCall(*run, event, view);
    case schema::Boundary::kClock:
      return AddTrait({.service = run->service, .trait = Trait::kClockRead}, sighting);
    case schema::Boundary::kTool:
      return AddTrait(
          {.service = run->service, .trait = Trait::kToolRecorded, .subject = event.name},
          sighting);
    default:
      return;
  }
}

void SightingScan::AddModelCall(const schema::Run& run, const schema::Event& event,
                                const schema::ModelView& view) {
  const Sighting sighting{event.started.wall_ns, event.run, event.sequence};
  // A call that failed says how it was asked, and nothing of who answers.
  if (view.end_state == schema::EndState::kComplete) {
    const CallIdentity identity{.service = run.service,
                                .provider = event.provider,
                                .endpoint = event.endpoint,
                                .asked_model = view.asked_model,
                                .served_model = view.served_model,
                                .fingerprint_presence = view.fingerprint_presence,
                                .fingerprint = view.system_fingerprint,
                                .service_tier = view.service_tier,
                                .region = RegionOf(event, view)};
    maps_.calls[{identity, HourOf(sighting.at_wall_ns)}].Add(sighting);
  }
  EarlierCall& earlier = earlier_[{run.service, view.asked_model}];
  for (const Trait trait : TraitsOf(event, view, &earlier)) {
    AddTrait({.service = run.service,
              .provider = event.provider,
              .endpoint = event.endpoint,
              .asked_model = view.asked_model,
              .trait = trait},
             sighting);
  }
  for (const schema::Choice& choice : view.choices) {
    for (const schema::ToolCall& call : choice.tool_calls) {
      AddTrait({.service = run.service, .trait = Trait::kToolAsked, .subject = call.name},
               sighting);
    }
  }
}

void SightingScan::AddRun(const schema::Run& run) {
  const Sighting sighting{run.started.wall_ns, run.id, 0};
  const std::string_view purpose = TagOf(run, kPurposeTag);
  const auto add = [&](Trait trait, std::string_view subject) {
    AddTrait({.service = run.service, .trait = trait, .subject = std::string(subject)}, sighting);
  };
  if (run.entry != kSnapshotEntry) add(Trait::kRun, purpose);
  const std::string_view name = TagOf(run, kPurposeNameTag);
  const std::string repeats(TagOf(run, kEvalRepeatsTag));
  int64_t count = 0;
  if (absl::SimpleAtoi(repeats, &count) && count < kLeastRepeats)
    add(Trait::kSingleJudgement, name);
  if (TagOf(run, kEvalBitwiseTag) == "bytes") add(Trait::kBitwiseExpectation, name);
}

void SightingScan::AddComponent(const schema::Run& run, const schema::Component& component) {
  if (component.kind == kClockTape) return;
  const Sighting sighting{component.at.wall_ns, run.id, 0};
  const ComponentIdentity identity{.service = run.service,
                                   .kind = component.kind,
                                   .name = component.name,
                                   .version = component.version,
                                   .content = ContentMark(component.content),
                                   .snapshot = run.entry == kSnapshotEntry};
  maps_.components[{identity, HourOf(sighting.at_wall_ns)}].Add(sighting);
  // The text of a prompt may speak of such settings; these kinds are settings.
  if (component.kind == "prompt_template" || component.kind == "tool_schema") return;
  if (std::string setting = BatchingOff(component.content.bytes); !setting.empty())
    AddTrait({.service = run.service, .trait = Trait::kBatchingOff, .subject = std::move(setting)},
             sighting);
}

absl::Status SightingScan::AddRunsAndComponents(SegmentReader* segment,
                                                int64_t* component_ordinal) {
  for (const auto& [id, part] : parts_) {
    if (counted_.contains(id)) continue;
    if (const schema::Run* run = Find(id)) AddRun(*run);
  }
  std::map<int64_t, schema::Ulid> ids;
  absl::Status listed = segment->ForEachRun(false, [&](RunRow row) {
    ids.emplace(row.ordinal, row.run.id);
    return absl::OkStatus();
  });
  if (!listed.ok()) return listed;
  return segment->ForEachComponent(*component_ordinal, [&](ComponentRow row) {
    *component_ordinal = std::max(*component_ordinal, row.ordinal);
    const auto id = ids.find(row.run);
    if (id == ids.end()) return absl::OkStatus();
    if (const schema::Run* run = Find(id->second)) AddComponent(*run, row.component);
    return absl::OkStatus();
  });
}

}  // namespace reenact::store::internal

namespace reenact::store {
namespace {

template <typename Identity>
std::vector<Seen<Identity>> ListOf(const internal::SightingMap<Identity>& map) {
  std::vector<Seen<Identity>> list;
  for (const auto& [key, cell] : map)
    list.push_back({key.first, key.second, cell.count, cell.first, cell.last});
  return list;
}

}  // namespace

Sightings SightingsOf(const schema::RecordedRun& recorded) {
  internal::RunParts parts;
  parts[recorded.run.id].run = recorded.run;
  internal::SightingScan scan(&parts);
  if (recorded.run.origin != schema::RunOrigin::kReplay) {
    scan.AddRun(recorded.run);
    for (const schema::Component& component : recorded.components)
      scan.AddComponent(recorded.run, component);
  }
  for (const schema::Event& event : recorded.events) {
    if (event.end_state == schema::EndState::kIncomplete) continue;
    scan.AddEvent(event, event.boundary == schema::Boundary::kModel ? schema::ViewModelCall(event)
                                                                    : schema::ModelView());
  }
  return {ListOf(scan.maps().calls), ListOf(scan.maps().components), ListOf(scan.maps().traits)};
}

}  // namespace reenact::store
