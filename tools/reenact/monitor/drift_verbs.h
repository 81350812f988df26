// `reenact drift` and the verbs below it.

#ifndef REENACT_TOOLS_REENACT_MONITOR_DRIFT_VERBS_H_
#define REENACT_TOOLS_REENACT_MONITOR_DRIFT_VERBS_H_

#include "tools/reenact/verb.h"

namespace reenact::tools {

void AddDriftVerb(CLI::App* app, Context* context);
void AddDriftCheckVerb(CLI::App* drift, Context* context);

}  // namespace reenact::tools

#endif  // REENACT_TOOLS_REENACT_MONITOR_DRIFT_VERBS_H_
