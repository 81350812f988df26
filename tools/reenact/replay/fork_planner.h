// What a fork does with each request of its program: the tape's answer up to a step, the provider's
// from there on, changed as somebody asked.

#ifndef REENACT_TOOLS_REENACT_REPLAY_FORK_PLANNER_H_
#define REENACT_TOOLS_REENACT_REPLAY_FORK_PLANNER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "recorder/proxy/request_plan.h"
#include "replayer/http/call_desk.h"
#include "replayer/replay_session.h"
#include "schema/recorded_command.h"
#include "schema/request_edit.h"

namespace reenact::tools {

struct ForkSettings {
  replayer::ForkPoint point;
  std::string model;                       // Asked for by live model calls; empty: theirs.
  std::vector<schema::RequestEdit> edits;  // Made in live model calls.
};

struct ForkCounts {
  int64_t from_tape = 0;
  int64_t live_model = 0;
  int64_t live_other = 0;
  int64_t refused = 0;              // Neither on the tape nor allowed to go live.
  int64_t model_edits = 0;          // Live calls that asked for another model than they would.
  std::vector<int64_t> edits_made;  // By index of ForkSettings::edits.
};

class ForkPlanner final : public proxy::RequestPlanner {
 public:
  // `session` outlives it, and its run has begun.
  ForkPlanner(replayer::ReplaySession* session, const schema::RecordedCommand& command,
              ForkSettings settings);

  proxy::RequestPlan Plan(const proxy::WholeRequest& request) override;

  // When the proxy has stopped.
  const ForkCounts& counts() const { return counts_; }

 private:
  proxy::RequestPlan FromTape(const replayer::HttpQuestion& question, bool is_telemetry);
  proxy::RequestPlan GoLive(const proxy::WholeRequest& request);
  proxy::RequestPlan Refuse(const std::string& why);

  replayer::CallDesk desk_;
  const ForkSettings settings_;
  ForkCounts counts_;
};

}  // namespace reenact::tools

#endif  // REENACT_TOOLS_REENACT_REPLAY_FORK_PLANNER_H_
