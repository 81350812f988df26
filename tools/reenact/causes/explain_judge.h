// Who says what an answer was worth to `reenact explain`: what both runs did, or a command.

#ifndef REENACT_TOOLS_REENACT_CAUSES_EXPLAIN_JUDGE_H_
#define REENACT_TOOLS_REENACT_CAUSES_EXPLAIN_JUDGE_H_

#include <string>

#include "absl/status/status.h"

#include "replayer/explain/recorded_experiment.h"
#include "schema/record.h"

namespace reenact::tools {

// The two actions, as rerun::ActionOf has them; any other one is neither's.
explain::Judge JudgeByAction(std::string incident, std::string reference);

// A shell command that gets the action on standard input: exit status 0 says that it is wrong, as
// the incident was; 1 that it is not; any other one is an error of the judgement.
explain::Judge JudgeByCommand(const std::string& command);

// A judge must tell the two records apart, or it can tell nothing.
absl::Status CheckJudge(const explain::Judge& judge, const schema::Event& incident,
                        const schema::Event& reference);

}  // namespace reenact::tools

#endif  // REENACT_TOOLS_REENACT_CAUSES_EXPLAIN_JUDGE_H_
