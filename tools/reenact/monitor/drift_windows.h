// Windows of probes for the verbs of `reenact drift`: asked for now, or read from the store.

#ifndef REENACT_TOOLS_REENACT_MONITOR_DRIFT_WINDOWS_H_
#define REENACT_TOOLS_REENACT_MONITOR_DRIFT_WINDOWS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include "replayer/drift/drift_check.h"
#include "replayer/drift/probing.h"
#include "replayer/rerun/target.h"
#include "schema/record.h"
#include "tools/reenact/verb.h"

namespace reenact::tools {

struct Windows {
  std::vector<drift::Window> windows;  // Whole ones.
  std::vector<schema::Event> calls;    // That were made for them.
  bool stopped = false;                // By the user or the budget, before all were there.
  std::string failure_example;         // Why a probe failed; empty: none did.
  int64_t left_out = 0;                // Recorded calls with other settings than most.
};

// `count` windows, one each `interval_ns`; draws progress. Ends early when it is interrupted.
Windows ProbeWindows(rerun::Target* target, const drift::ProbePlan& plan, int64_t count,
                     int64_t interval_ns, const Context& context);

struct RecordedCalls {
  std::string service;
  std::string model;  // As asked; empty: the one model that the service asks.
  std::optional<int64_t> since_wall_ns;
  std::optional<int64_t> until_wall_ns;
  int64_t window_ns = 0;
};

// Sets `*model` to the model of the calls. Errors: those of OpenStore; FailedPrecondition where the
// service asks several models and none was named.
absl::StatusOr<Windows> ReadWindows(const RecordedCalls& wanted, const Context& context,
                                    std::string* model);

}  // namespace reenact::tools

#endif  // REENACT_TOOLS_REENACT_MONITOR_DRIFT_WINDOWS_H_
