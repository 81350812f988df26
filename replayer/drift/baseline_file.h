// A baseline as it lies on the disk: lines of JSON, a header and then one for each window, with
// every probe, so that figures can be computed again.

#ifndef REENACT_REPLAYER_DRIFT_BASELINE_FILE_H_
#define REENACT_REPLAYER_DRIFT_BASELINE_FILE_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

#include "replayer/drift/drift_check.h"
#include "replayer/drift/probing.h"

namespace reenact::drift {

struct BaselineFile {
  // How the endpoint was reached, as the command line said it. Of recorded calls: their service.
  std::string target;
  std::string local_model;  // Of target "local": its folder or file.
  std::string service;
  int64_t window_ns = 0;  // Of recorded calls: the length of a window; else from one to the next.
  ProbePlan plan;
  Baseline baseline;

  bool is_recorded() const { return !service.empty(); }
};

// Bits: what ParseBaseline reads of it is equal, tokens that are not UTF-8 included.
std::string BaselineText(const BaselineFile& file);

// Errors: InvalidArgument with the line; FailedPrecondition for a newer version.
absl::StatusOr<BaselineFile> ParseBaseline(std::string_view text);

}  // namespace reenact::drift

#endif  // REENACT_REPLAYER_DRIFT_BASELINE_FILE_H_
