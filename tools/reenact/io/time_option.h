// Times that were given on the command line.

#ifndef REENACT_TOOLS_REENACT_IO_TIME_OPTION_H_
#define REENACT_TOOLS_REENACT_IO_TIME_OPTION_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"

#include "tools/reenact/verb.h"

namespace reenact::tools {

// As ParseTimePoint, from now and in the local zone; notes how it was read where that was not
// written.
absl::StatusOr<int64_t> ReadTime(const Context& context, const std::string& text);

}  // namespace reenact::tools

#endif  // REENACT_TOOLS_REENACT_IO_TIME_OPTION_H_
