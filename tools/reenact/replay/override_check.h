// Whether what a person wants to override was recorded at all.

#ifndef REENACT_TOOLS_REENACT_REPLAY_OVERRIDE_CHECK_H_
#define REENACT_TOOLS_REENACT_REPLAY_OVERRIDE_CHECK_H_

#include <vector>

#include "absl/status/status.h"

#include "replayer/replay_session.h"
#include "schema/record.h"

namespace reenact::tools {

// An override of something that the run does not have would change nothing, and a replay that is
// equal for that reason would be taken for an answer. Errors: NotFound names what there is not, and
// the nearest name or the names that there are; InvalidArgument: the same thing is given twice.
absl::Status CheckOverrides(const schema::RecordedRun& tape,
                            const std::vector<replayer::Override>& overrides);

}  // namespace reenact::tools

#endif  // REENACT_TOOLS_REENACT_REPLAY_OVERRIDE_CHECK_H_
