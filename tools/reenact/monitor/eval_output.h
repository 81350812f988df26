// What `reenact eval` prints of results, whether they were just asked for or read from a file.

#ifndef REENACT_TOOLS_REENACT_MONITOR_EVAL_OUTPUT_H_
#define REENACT_TOOLS_REENACT_MONITOR_EVAL_OUTPUT_H_

#include <functional>
#include <string>

#include "replayer/eval/results.h"
#include "tools/reenact/verb.h"

namespace CLI {
class App;
}

namespace reenact::tools {

struct EvalOutput {
  std::string junit;       // A file to write; empty: none.
  double fail_under = -1;  // A pass rate below is a finding; negative: none is.
  std::string more_text;   // Lines below the text.
  std::function<void(JsonWriter* json)> more_fields;
};

// --fail-under and --junit.
void AddEvalOutputFlags(CLI::App* verb, EvalOutput* output);

// Returns the exit code.
int PrintEval(const eval::EvalResults& results, const EvalOutput& output, const Context& context);

// `reenact eval run`, below `reenact eval`.
void AddEvalRunVerb(CLI::App* eval, Context* context);

}  // namespace reenact::tools

#endif  // REENACT_TOOLS_REENACT_MONITOR_EVAL_OUTPUT_H_
