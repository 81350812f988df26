// What of an endpoint moved, and when: fingerprints that were never seen before, mixes that
// shifted, fingerprints that came and went altogether, aliases that came to another model, tiers.
//
// A fingerprint names one of several replicas and not a version: values may alternate for ever. So
// a change is a new member of the set, or a mix that chance does not explain, and never "another
// than in the last answer".

#ifndef REENACT_REPLAYER_IDENTITY_FINGERPRINT_TIMELINE_H_
#define REENACT_REPLAYER_IDENTITY_FINGERPRINT_TIMELINE_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "replayer/analysis/measure.h"
#include "store/reader/sighting.h"

namespace reenact::identity {

// Services of runs that Reenact makes itself; the name of the baseline or the eval follows.
inline constexpr std::string_view kBaselineService = "drift baseline ";
inline constexpr std::string_view kCheckService = "drift check ";
inline constexpr std::string_view kEvalService = "eval ";

enum class ChangeKind : uint8_t {
  kNovel,        // A fingerprint that this endpoint never gave before.
  kPresence,     // Fingerprints came, went, or became null or empty.
  kVanished,     // One that chance does not keep away.
  kReturned,     // A fingerprint that had vanished.
  kMixShift,     // The same values in other shares.
  kServedModel,  // The name came to another model.
  kTier,         // A service tier that was never seen before.
};
std::string_view ToString(ChangeKind kind);  // "novel"

struct Change {
  ChangeKind kind = ChangeKind::kNovel;
  // The first of the new value; of what vanished, its last. Of a mix that shifted or a value that
  // returned, the day, and no run.
  store::Sighting at;
  std::string value;
  std::string before;              // Of kServedModel: the model until then.
  analysis::Measure share;         // Novel: of the calls since. Vanished: of those before.
  analysis::Measure p;             // Vanished and mix shift: how likely chance alone does that.
  analysis::Measure tv;            // Mix shift: half the sum of the differences of shares.
  std::vector<std::string> voids;  // Baselines and evals of before: "drift baseline canary".

  // A figure from before says nothing of what came after. A new tier may serve a few calls only.
  bool ends_epoch() const { return kind != ChangeKind::kTier; }
};

struct FingerprintValue {
  std::string value;  // "(absent)", "(null)" and "(empty)" are values too.
  int64_t calls = 0;
  store::Sighting first;
  store::Sighting last;
};

// Whether an endpoint's fingerprints can tell anything.
enum class Coverage : uint8_t { kAbsent, kNull, kEmpty, kPartly, kConstant, kVaries };
std::string_view ToString(Coverage coverage);  // "absent"

struct EndpointTimeline {
  std::string provider;
  std::string endpoint;
  std::string asked_model;
  std::vector<std::string> services;
  int64_t calls = 0;
  Coverage coverage = Coverage::kAbsent;
  std::vector<FingerprintValue> values;  // By the first sighting.
  std::vector<Change> changes;           // By time.

  // How many epochs had ended by then: figures of different numbers are not compared.
  int64_t EpochAt(int64_t wall_ns) const;
};

struct TimelineOptions {
  double alpha = 0.05;    // For all tests of all endpoints together.
  double least_tv = 0.1;  // A smaller shift of a mix is no change, however certain.
};

// By provider, endpoint and model. `service` empty: calls of all services.
// Cost: linear in the sightings.
std::vector<EndpointTimeline> TimelinesOf(const store::Sightings& sightings,
                                          const std::string& service,
                                          const TimelineOptions& options = {});

// The timeline of what a call asked; null where nothing of it was seen.
const EndpointTimeline* FindTimeline(const std::vector<EndpointTimeline>& timelines,
                                     std::string_view provider, std::string_view endpoint,
                                     std::string_view asked_model);

}  // namespace reenact::identity

#endif  // REENACT_REPLAYER_IDENTITY_FINGERPRINT_TIMELINE_H_
