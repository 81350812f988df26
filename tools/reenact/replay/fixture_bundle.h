// A fixture: a bundle with what a replay of it must come to. One file, to be committed.
//
// The expectation is in the bundle's meta:
//   fixture.name          what to call it
//   fixture.reviewed      RFC 3339: when somebody last said that this is what should happen
//   fixture.max_age_s     seconds after which that is stale; absent: never
//   fixture.fingerprint   of the replay that was last accepted; absent until `fixture update`

#ifndef REENACT_TOOLS_REENACT_REPLAY_FIXTURE_BUNDLE_H_
#define REENACT_TOOLS_REENACT_REPLAY_FIXTURE_BUNDLE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "replayer/replay_runner.h"
#include "schema/record.h"
#include "store/reader/bundle.h"

namespace reenact::tools {

struct Fixture {
  schema::RecordedRun tape;
  std::vector<schema::RecordedRun> other_runs;  // Of the incident; not replayed.
  schema::Tags other_meta;                      // Kept as it is.
  std::string name;
  int64_t reviewed_wall_ns = 0;
  std::optional<int64_t> max_age_ns;
  std::string fingerprint;
};

// Errors: FailedPrecondition for a run that cannot be a fixture, and why: it has no events, never
// ended, or holds a body that was cut.
absl::Status CheckFixtureTape(const schema::RecordedRun& run);

store::Bundle ToBundle(const Fixture& fixture);
// Errors: FailedPrecondition when the bundle is no fixture; DataLoss when its meta cannot be read.
absl::StatusOr<Fixture> FromBundle(store::Bundle bundle, const std::string& path);

// One reason why a fixture does not pass.
struct FixtureProblem {
  enum class Kind : uint8_t { kStale, kEmpty, kInconclusive, kUnused, kDiverged } kind;
  std::string text;
};

std::string_view ToString(FixtureProblem::Kind kind);  // "stale"

// Empty: it passes. `now_wall_ns` decides about staleness.
std::vector<FixtureProblem> JudgeFixture(const Fixture& fixture,
                                         const replayer::RunnerResult& result, int64_t now_wall_ns);
// 0; 3 when nothing could be compared; else 1.
int ExitCodeOf(const std::vector<FixtureProblem>& problems);

// Makes what this replay did the expectation: components, output and end as re-executed, records
// that were not asked for are left out, reviewed now.
// Errors: FailedPrecondition when the tape could not answer the program: that needs a new
// recording.
absl::Status AcceptReplay(const replayer::RunnerResult& result, int64_t now_wall_ns,
                          Fixture* fixture);

}  // namespace reenact::tools

#endif  // REENACT_TOOLS_REENACT_REPLAY_FIXTURE_BUNDLE_H_
