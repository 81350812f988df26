// Runs of which Reenact itself is the program: evals and probes, kept in the store like those of
// any other, so that a later question about the model finds them.

#ifndef REENACT_TOOLS_REENACT_RECORD_OWN_RUN_H_
#define REENACT_TOOLS_REENACT_RECORD_OWN_RUN_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

#include "schema/record.h"
#include "tools/reenact/verb.h"

namespace reenact::tools {

// Half of a SHA-256, in hex: names content.
std::string MarkOf(std::string_view content);

// Its version is the mark of its content.
schema::Component OwnComponent(std::string kind, std::string name, std::string content);

struct OwnRun {
  std::string service;  // As identity/fingerprint_timeline.h names them: "eval refunds".
  std::string entry;    // "reenact eval run"
  schema::Tags tags;
  std::vector<schema::Component> components;
  std::vector<schema::Event> calls;  // In any order.
};

// Keeps it in the store that the command line names; credentials are redacted first. Returns its
// id. Errors: those of FindStore and ImportRuns.
absl::StatusOr<std::string> KeepOwnRun(OwnRun own, const Context& context);

}  // namespace reenact::tools

#endif  // REENACT_TOOLS_REENACT_RECORD_OWN_RUN_H_
