// The file that an eval's results go to, answer by answer, so that nothing that was paid for is
// lost when it is stopped.

#ifndef REENACT_TOOLS_REENACT_MONITOR_RESULTS_FILE_H_
#define REENACT_TOOLS_REENACT_MONITOR_RESULTS_FILE_H_

#include <fstream>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include "replayer/eval/results.h"

namespace reenact::tools {

class ResultsFile {
 public:
  // Takes over what an eval of the same header has left in `path`, but for a line that was cut off.
  // Errors: AlreadyExists where it holds something else; PermissionDenied.
  static absl::StatusOr<ResultsFile> Open(const std::string& path,
                                          const eval::ResultHeader& header);

  const std::vector<eval::SampleResult>& samples() const { return samples_; }

  // Appends it; it is in the file when this returns.
  void Keep(const eval::SampleResult& sample);

  // What a reader of the file finds. Errors: ResourceExhausted where it was not written whole.
  absl::StatusOr<eval::EvalResults> Finish();

 private:
  std::string path_;
  std::vector<eval::SampleResult> samples_;  // That were there already.
  std::ofstream out_;
};

}  // namespace reenact::tools

#endif  // REENACT_TOOLS_REENACT_MONITOR_RESULTS_FILE_H_
