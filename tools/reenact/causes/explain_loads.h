// The incident's call in batches of other sizes, on the local engine: for `reenact explain`.

#ifndef REENACT_TOOLS_REENACT_CAUSES_EXPLAIN_LOADS_H_
#define REENACT_TOOLS_REENACT_CAUSES_EXPLAIN_LOADS_H_

#include <functional>

#include "absl/status/statusor.h"

#include "replayer/explain/load_trials.h"
#include "replayer/explain/recorded_experiment.h"
#include "schema/record.h"
#include "tools/reenact/engine/engine_model.h"
#include "tools/reenact/verb.h"

namespace reenact::tools {

// Empty without --model. The model is loaded when it is called, in profile "stock". `call` and
// `context` outlive it. Errors: those of LoadEngine and ScheduledCall::Make.
std::function<absl::StatusOr<explain::LoadTrials>()> LoadsOf(const ModelFlags& flags,
                                                             const Context& context,
                                                             const schema::Event& call,
                                                             const explain::Judge& judge);

}  // namespace reenact::tools

#endif  // REENACT_TOOLS_REENACT_CAUSES_EXPLAIN_LOADS_H_
