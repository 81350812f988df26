// What the rows of the invariance matrix come to.

#ifndef REENACT_TOOLS_REENACT_ENGINE_ENGINE_CHECK_H_
#define REENACT_TOOLS_REENACT_ENGINE_ENGINE_CHECK_H_

#include <vector>

#include "local_engine/engine/invariance_matrix.h"
#include "tools/reenact/exit_code.h"

namespace reenact::tools {

// "holds", "differs", or "not tried": nothing was compared, or the counters do not prove that the
// path under test ran.
const char* InvarianceVerdict(const local_engine::MatrixRow& row);

// kExitFinding where any row differs, whatever else could not be tried; else kExitInconclusive
// where one was not tried, or there is none; else kExitOk.
ExitCode InvarianceExitCode(const std::vector<local_engine::MatrixRow>& rows);

}  // namespace reenact::tools

#endif  // REENACT_TOOLS_REENACT_ENGINE_ENGINE_CHECK_H_
