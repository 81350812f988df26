// A grader that is a program: it reads an answer on standard input, and its exit status is the
// grade.

#ifndef REENACT_TOOLS_REENACT_MONITOR_COMMAND_GRADER_H_
#define REENACT_TOOLS_REENACT_MONITOR_COMMAND_GRADER_H_

#include <cstdint>
#include <string>

#include "replayer/eval/cases.h"

namespace reenact::tools {

// Runs the case's command in a shell, with the case's id in REENACT_CASE: 0 passes, 1 fails, and
// any other end is no grade. The first line that it prints says why. It is ended with all that it
// started after `limit_ms`, and where the user interrupts. Threads: any, many at once.
eval::Grade GradeByCommand(const eval::Case& of, const std::string& answer, int64_t limit_ms);

}  // namespace reenact::tools

#endif  // REENACT_TOOLS_REENACT_MONITOR_COMMAND_GRADER_H_
