// What exactly was this system at 14:32? Every component, every alias with the model it came to,
// every endpoint's fingerprints and tier, and what each is known from.

#ifndef REENACT_REPLAYER_IDENTITY_SYSTEM_STATE_H_
#define REENACT_REPLAYER_IDENTITY_SYSTEM_STATE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "schema/model_name.h"
#include "store/reader/sighting.h"

namespace reenact::identity {

// A value before or after the time that was asked for.
struct OtherValue {
  std::string value;
  store::Sighting seen;  // The last sighting of an earlier value, the first of a later one.
};

// A value at the time.
struct CurrentValue {
  std::string value;
  store::Sighting since;       // Of the unbroken use.
  store::Sighting known_from;  // The sighting nearest to the time, not after it.
  bool from_snapshot = false;
};

struct ComponentState {
  std::string kind;
  std::string name;
  // Versions. Where one version was seen with several contents, which is an error of its owner,
  // each is told apart: "v14", "v14 (other text)".
  std::vector<CurrentValue> versions;
  std::optional<OtherValue> before;
  std::optional<OtherValue> after;
};

// How often a value came within the hours that a state is told from.
struct Share {
  std::string value;  // Of fingerprints also "(absent)", "(null)" and "(empty)", which differ.
  int64_t count = 0;
};

struct ModelState {
  std::string provider;
  std::string endpoint;
  std::string asked_model;
  schema::ModelNameClass name;       // Can the name point elsewhere tomorrow?
  std::vector<CurrentValue> served;  // "(not told)" where answers named no model.
  std::optional<OtherValue> before;
  std::optional<OtherValue> after;
  int64_t calls = 0;  // In the day up to the last one, of the models in use. Of these:
  std::vector<Share> fingerprints;   // by share, the largest first,
  std::vector<Share> service_tiers;  // and where a provider says so
  std::vector<Share> regions;
  std::string engine_profile;  // Of our own engine: "n1", "stock". Else empty.
};

struct ServiceState {
  std::string service;
  std::vector<ComponentState> components;  // By kind, then name.
  std::vector<ModelState> models;          // By provider, endpoint, asked model.
};

struct SystemState {
  int64_t at_wall_ns = 0;
  std::vector<ServiceState> services;  // By name.
};

// `sightings` with calls and components. `service` empty: all. What was first seen after the time
// is not there.
SystemState StateAt(const store::Sightings& sightings, int64_t wall_ns, const std::string& service);

struct StateDifference {
  std::string service;
  std::string thing;   // "prompt_template refund", "gpt-4o at https://…".
  std::string aspect;  // "version", "served model", "fingerprints", "service tier", "region".
  std::string from;    // Empty: it was not there.
  std::string to;
};

std::vector<StateDifference> Compare(const SystemState& from, const SystemState& to);

// How a fingerprint is shown, whatever its presence.
std::string FingerprintText(const store::CallIdentity& call);

}  // namespace reenact::identity

#endif  // REENACT_REPLAYER_IDENTITY_SYSTEM_STATE_H_
