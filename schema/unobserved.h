// What went on beside a recorded command and is not on its record, as far as that was seen: a
// component of the run, so that it is stored, shown and handed over with it.

#ifndef REENACT_SCHEMA_UNOBSERVED_H_
#define REENACT_SCHEMA_UNOBSERVED_H_

#include <optional>
#include <string>
#include <vector>

#include "schema/record.h"

namespace reenact::schema {

struct Unobserved {
  std::vector<std::string> peers;     // Connected to past the proxy: "203.0.113.7:443".
  std::vector<std::string> names;     // Looked up: "api.example.com".
  std::vector<std::string> tunnels;   // Asked of the proxy, which refuses them: "example.com".
  std::vector<std::string> programs;  // In which neither clock nor connections could be seen.

  bool operator==(const Unobserved&) const = default;
};

// Sorted, each once: equal whatever the order in which things were seen.
Component ToComponent(Unobserved unobserved);
// Nothing: the run was recorded by something that does not watch.
std::optional<Unobserved> UnobservedOf(const RecordedRun& run);

}  // namespace reenact::schema

#endif  // REENACT_SCHEMA_UNOBSERVED_H_
