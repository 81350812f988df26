// Changes of the fingerprints of one endpoint, found day by day.

#ifndef REENACT_REPLAYER_IDENTITY_MIX_CHANGES_H_
#define REENACT_REPLAYER_IDENTITY_MIX_CHANGES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "replayer/identity/fingerprint_timeline.h"
#include "store/reader/sighting.h"

namespace reenact::identity {

using SeenCalls = std::vector<const store::Seen<store::CallIdentity>*>;

inline constexpr int64_t kHoursADay = 24;

// Stands for a fingerprint that is not there, as FingerprintText gives it.
bool IsPresenceText(const std::string& value);

// `test_count`: of all days of all endpoints, which share the alpha of `options`.
std::vector<Change> ChangesOfMix(const SeenCalls& seen, const TimelineOptions& options,
                                 int64_t test_count);

}  // namespace reenact::identity

#endif  // REENACT_REPLAYER_IDENTITY_MIX_CHANGES_H_
