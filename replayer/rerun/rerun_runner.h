// A recorded run whose model calls are asked again, each with its recorded request, so that a call
// does not suffer from what another one answered; and the report of it.

#ifndef REENACT_REPLAYER_RERUN_RERUN_RUNNER_H_
#define REENACT_REPLAYER_RERUN_RERUN_RUNNER_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

#include "replayer/rerun/call_rerun.h"
#include "replayer/rerun/target.h"
#include "replayer/rerun/token_comparison.h"
#include "schema/record.h"

namespace reenact::rerun {

struct RerunOptions {
  RequestEdits edits;
  int64_t count = 1;           // Of answers to each call.
  int64_t at_once = 1;         // Questions under way at a time.
  std::optional<size_t> step;  // Only this event, as `reenact show` numbers them.
  schema::Moment now;          // Stamps the derived runs.
  std::function<void(int64_t done, int64_t total)> on_progress;
};

enum class RerunVerdict : uint8_t { kReproduced, kDiverged, kInconclusive };
std::string_view ToString(RerunVerdict verdict);  // "reproduced"

struct RerunReport {
  RerunVerdict verdict = RerunVerdict::kInconclusive;
  std::string inconclusive_because;
  RerunLevel level = RerunLevel::kR2;  // The lowest of all that was compared.
  std::vector<std::string> relaxed_by;
  std::vector<CallRerun> calls;
  Abilities abilities;
  // Run i is the tape with answer i of every call that has one in place of the recorded answer, the
  // tape's run as its parent. None where nothing was answered.
  std::vector<schema::RecordedRun> derived;
};

// Reproduced: every call that was asked agreed with its record in every answer. Inconclusive:
// nothing was answered, or a call has no answer while all that are there agree.
// Errors: InvalidArgument where `step` is no model call; NotFound where the run has none.
absl::StatusOr<RerunReport> Rerun(const schema::RecordedRun& tape, Target* target,
                                  const RerunOptions& options);

}  // namespace reenact::rerun

#endif  // REENACT_REPLAYER_RERUN_RERUN_RUNNER_H_
