// What is deployed, as a file that stands beside the code: the components of a service, each with a
// version and its content, in JSON or YAML.

#ifndef REENACT_TOOLS_REENACT_MONITOR_MANIFEST_H_
#define REENACT_TOOLS_REENACT_MONITOR_MANIFEST_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include "schema/record.h"

namespace reenact::tools {

struct ManifestComponent {
  std::string kind;
  std::string name;
  std::string version;
  std::string content;  // Written in the manifest; of objects and lists, their JSON.
  std::string file;     // Or in this file, relative to the manifest.
};

struct Manifest {
  std::string service;
  std::string note;  // "deploy of v15"
  schema::Tags tags;
  std::vector<ManifestComponent> components;
};

// YAML includes JSON, whatever the name of the file.
// Errors: InvalidArgument with the line, or the key that is unknown, missing or of another type.
absl::StatusOr<Manifest> ParseManifest(const std::string& text);

}  // namespace reenact::tools

#endif  // REENACT_TOOLS_REENACT_MONITOR_MANIFEST_H_
