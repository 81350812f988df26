// What somebody may have meant.

#ifndef REENACT_TOOLS_REENACT_IO_SUGGESTION_H_
#define REENACT_TOOLS_REENACT_IO_SUGGESTION_H_

#include <string>
#include <string_view>
#include <vector>

namespace reenact::tools {

// The candidate that is at most two edits away, the nearest one; empty when none is.
std::string ClosestWord(std::string_view word, const std::vector<std::string>& candidates);

}  // namespace reenact::tools

#endif  // REENACT_TOOLS_REENACT_IO_SUGGESTION_H_
