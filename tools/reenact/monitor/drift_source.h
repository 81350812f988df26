// Where the windows of `reenact drift` come from, as its flags say: a target that is probed, or the
// calls that a service has recorded.

#ifndef REENACT_TOOLS_REENACT_MONITOR_DRIFT_SOURCE_H_
#define REENACT_TOOLS_REENACT_MONITOR_DRIFT_SOURCE_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

#include "replayer/drift/baseline_file.h"
#include "replayer/rerun/ledger.h"
#include "tools/reenact/causes/target_flags.h"
#include "tools/reenact/monitor/drift_windows.h"
#include "tools/reenact/verb.h"

namespace reenact::tools {

// Flags of both verbs.
struct DriftFlags {
  TargetFlags target;
  int64_t window_count = 0;  // To probe.
  std::string every = "0s";  // From the beginning of one window to that of the next.
  std::string since, until;  // Of recorded calls.
  bool no_record = false;
};

void AddDriftFlags(CLI::App* verb, DriftFlags* flags);

// Takes `flags.window_count` windows as `file` says, or reads those that are recorded, and says on
// standard error how much is going to be asked. Sets what the file cannot know before: the name of
// the target, the model of recorded calls. What was asked is charged to `ledger`.
absl::StatusOr<Windows> TakeWindows(const DriftFlags& flags, const Context& context,
                                    rerun::Ledger* ledger, drift::BaselineFile* file);

// Keeps the calls that were made, as a run of `purpose` ("drift_baseline"); returns its id, empty
// where there are none or --no-record was given.
absl::StatusOr<std::string> KeepProbes(const DriftFlags& flags, std::string_view purpose,
                                       const std::string& name, std::vector<schema::Event> calls,
                                       const Context& context);

// Errors: those of ReadFile and ParseBaseline, with the file's name.
absl::StatusOr<drift::BaselineFile> ReadBaseline(const std::string& path);

}  // namespace reenact::tools

#endif  // REENACT_TOOLS_REENACT_MONITOR_DRIFT_SOURCE_H_
