// Files that people write by hand: YAML, which includes JSON, whatever the name of the file.

#ifndef REENACT_TOOLS_REENACT_IO_YAML_JSON_H_
#define REENACT_TOOLS_REENACT_IO_YAML_JSON_H_

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "absl/status/statusor.h"

namespace reenact::tools {

// Errors: InvalidArgument with the line, or what is there twice, nested too deep or too large.
absl::StatusOr<nlohmann::ordered_json> ReadYaml(const std::string& text);

}  // namespace reenact::tools

#endif  // REENACT_TOOLS_REENACT_IO_YAML_JSON_H_
