// What shall not be in a store, as a file that people write: texts, and names of values.

#ifndef REENACT_TOOLS_REENACT_EVIDENCE_REDACTION_POLICY_H_
#define REENACT_TOOLS_REENACT_EVIDENCE_REDACTION_POLICY_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "schema/redaction.h"

namespace reenact::tools {

// YAML, which includes JSON:
//
//   texts: [Jane Doe, jane@example.org]   # wherever they stand, in any of their disguises
//   keys: [email, patient_name]           # values of these names, in JSON, URLs, tags and headers
//
// Added to what is redacted always. Errors: InvalidArgument with the line, the key that is unknown,
// or what AddText and AddKey refuse.
absl::StatusOr<schema::RedactionPolicy> ParseRedactionPolicy(const std::string& text);

// Errors: InvalidArgument for what is shorter than 6 bytes, and would be found in ordinary text.
absl::Status AddText(const std::string& text, schema::RedactionPolicy* policy);
absl::Status AddKey(const std::string& key, schema::RedactionPolicy* policy);

}  // namespace reenact::tools

#endif  // REENACT_TOOLS_REENACT_EVIDENCE_REDACTION_POLICY_H_
