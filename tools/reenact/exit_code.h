// What the exit status of `reenact` means; the same for every verb.

#ifndef REENACT_TOOLS_REENACT_EXIT_CODE_H_
#define REENACT_TOOLS_REENACT_EXIT_CODE_H_

#include "absl/status/status.h"

namespace reenact::tools {

enum ExitCode : int {
  kExitOk = 0,            // Done, and equal or clean.
  kExitFinding = 1,       // A divergence, a difference, a regression, a finding.
  kExitRefused = 2,       // Usage, or refused.
  kExitInconclusive = 3,  // Could not be measured, or there was nothing to compare.
};

// Unavailable and DeadlineExceeded could not be measured; every other error is a refusal.
int ExitCodeOf(const absl::Status& status);

}  // namespace reenact::tools

#endif  // REENACT_TOOLS_REENACT_EXIT_CODE_H_
