// A RunDiff for people and for programs. Pure.

#ifndef REENACT_TOOLS_REENACT_RUNS_RUN_DIFF_TEXT_H_
#define REENACT_TOOLS_REENACT_RUNS_RUN_DIFF_TEXT_H_

#include <string>
#include <vector>

#include "tools/reenact/io/json_output.h"
#include "tools/reenact/io/terminal_text.h"
#include "tools/reenact/runs/run_diff.h"

namespace reenact::tools {

std::string RenderDiff(const RunView& a, const RunView& b, const RunDiff& diff, const Style& style);
// Fields of an object that is open.
void WriteDiff(const RunDiff& diff, JsonWriter* json);

// "    messages[0].content" and the two values below it. `labels`: what the sides are called.
struct SideLabels {
  std::string_view expected;
  std::string_view actual;
};

std::string RenderPaths(const std::vector<schema::JsonDifference>& paths, const SideLabels& labels,
                        size_t indent, const Style& style);
void WritePaths(const std::vector<schema::JsonDifference>& paths, JsonWriter* json);

}  // namespace reenact::tools

#endif  // REENACT_TOOLS_REENACT_RUNS_RUN_DIFF_TEXT_H_
