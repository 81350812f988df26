// What was seen of a system, and when: who answered, which components were in use, how models were
// asked. Derived from the records and kept in catalog.db by the hour, so that a month of production
// is answered from thousands of rows and not from millions of calls.
//
// Replays do not count: they tell what was, not what is. What was pruned is no longer seen.

#ifndef REENACT_STORE_READER_SIGHTING_H_
#define REENACT_STORE_READER_SIGHTING_H_

#include <compare>
#include <cstdint>
#include <string>
#include <vector>

#include "schema/model_view.h"
#include "schema/record.h"
#include "schema/ulid.h"

namespace reenact::store {

// The entry of a run that no program did: `reenact snapshot` wrote down what is deployed.
inline constexpr char kSnapshotEntry[] = "reenact snapshot";

// Tags of runs that Reenact made itself. A purpose is "eval", "drift_baseline" or "drift_check";
// runs without one are the service's own.
inline constexpr char kPurposeTag[] = "reenact.purpose";
inline constexpr char kPurposeNameTag[] = "reenact.name";     // Of the eval or the baseline.
inline constexpr char kEvalRepeatsTag[] = "reenact.repeats";  // Answers for each case.
inline constexpr char kEvalBitwiseTag[] = "reenact.expects";  // "bytes": an answer must be equal.

struct Sighting {
  int64_t at_wall_ns = 0;
  schema::Ulid run;
  uint64_t sequence = 0;  // Of the event; 0: the run itself.
};

// Who answered a model call, as far as the answer said so.
struct CallIdentity {
  std::string service;
  std::string provider;
  std::string endpoint;
  std::string asked_model;
  std::string served_model;  // Empty: the answer named none.
  schema::Presence fingerprint_presence = schema::Presence::kAbsent;
  std::string fingerprint;
  std::string service_tier;  // As served, not as asked.
  std::string region;        // Where the provider says so.

  auto operator<=>(const CallIdentity&) const = default;
};

struct ComponentIdentity {
  std::string service;
  std::string kind;
  std::string name;
  std::string version;
  uint64_t content = 0;   // Equal for equal content, within one store; 0: none was recorded.
  bool snapshot = false;  // Known from a snapshot, not from a run that used it.

  auto operator<=>(const ComponentIdentity&) const = default;
};

// What is noteworthy about how a service works. Values are kept in catalog.db; a change of meaning
// raises its version.
enum class Trait : uint8_t {
  kRun = 1,                 // A run of the service; with the purpose of its tag as subject.
  kTemperatureZero = 2,     // Of calls, as asked:
  kTopKOne = 3,             //
  kTopPOne = 4,             //
  kSeedRepeated = 5,        // the seed of the call before.
  kSeedMissing = 6,         // sampled, and without a seed.
  kLogprobsMissing = 7,     // not asked for.
  kLongAnswerAllowed = 8,   // max_tokens above kLongAnswerTokens.
  kNamesItsDay = 9,         // The request names the day on which it was made.
  kPrefixChurn = 10,        // A long prompt that begins as the one before, but for its digits.
  kPrefixKept = 11,         // A long prompt that begins exactly as the one before.
  kClockRead = 12,          // A reading of the clock was recorded.
  kToolAsked = 13,          // The model asked for the tool that is the subject.
  kToolRecorded = 14,       // A call of the tool that is the subject was recorded.
  kBatchingOff = 15,        // A component, the subject, holds the server to one request at a time.
  kSingleJudgement = 16,    // An eval, the subject, judged from fewer than 5 answers.
  kBitwiseExpectation = 17  // An eval, the subject, expects the same bytes of a target.
};

// An eval whose answers may be longer pays for noise: late tokens have diverged anyway.
inline constexpr int64_t kLongAnswerTokens = 1024;

struct TraitIdentity {
  std::string service;
  std::string provider;  // Empty where the trait is not of a call.
  std::string endpoint;
  std::string asked_model;
  Trait trait = Trait::kRun;
  std::string subject;

  auto operator<=>(const TraitIdentity&) const = default;
};

// How often something was seen within one hour (of Unix time; traits: over a segment, hour 0), the
// first and the last time.
template <typename Identity>
struct Seen {
  Identity what;
  int64_t hour = 0;
  int64_t count = 0;
  Sighting first;
  Sighting last;
};

struct SightingFilter {
  bool calls = false;
  bool components = false;
  bool traits = false;
};

// Those of one identity stand together, in order of hours.
struct Sightings {
  std::vector<Seen<CallIdentity>> calls;
  std::vector<Seen<ComponentIdentity>> components;
  std::vector<Seen<TraitIdentity>> traits;
};

// The same of one run, whatever a store has seen of others.
Sightings SightingsOf(const schema::RecordedRun& recorded);

}  // namespace reenact::store

#endif  // REENACT_STORE_READER_SIGHTING_H_
