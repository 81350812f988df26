// What will make the next post-mortem hopeless, and what to do about it now.

#ifndef REENACT_REPLAYER_IDENTITY_LINT_H_
#define REENACT_REPLAYER_IDENTITY_LINT_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "store/reader/sighting.h"

namespace reenact::identity {

enum class Severity : uint8_t { kNote, kWarning, kError };
std::string_view ToString(Severity severity);  // "warning"

struct Finding {
  std::string rule;  // "floating_alias"
  Severity severity = Severity::kNote;
  std::string service;
  std::string text;  // What, with how many of what.
  std::string fix;
  int64_t count = 0;
  store::Sighting last;  // The last run that shows it.
};

// `sightings` with all that there is. `service` empty: all. The worst first, then by service and
// rule.
std::vector<Finding> Lint(const store::Sightings& sightings, const std::string& service);

}  // namespace reenact::identity

#endif  // REENACT_REPLAYER_IDENTITY_LINT_H_
