// What a replay found, for people. Pure.

#ifndef REENACT_TOOLS_REENACT_REPLAY_REPLAY_TEXT_H_
#define REENACT_TOOLS_REENACT_REPLAY_REPLAY_TEXT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "replayer/replay_runner.h"
#include "schema/record.h"
#include "tools/reenact/io/json_output.h"
#include "tools/reenact/io/terminal_text.h"

namespace reenact::tools {

// Verdict, level and what holds it down, what was served, the network, each divergence.
std::string RenderReplay(const schema::RecordedRun& tape, const replayer::RunnerResult& result,
                         const Style& style);

// Replays with the same verdict, level, fingerprint and first divergence.
struct ReplayOutcome {
  int64_t count = 0;
  replayer::RunnerResult first;
};

// Adds a result to the outcome it belongs to. Returns true when it is a new one.
bool AddOutcome(replayer::RunnerResult result, std::vector<ReplayOutcome>* outcomes);
std::string RenderOutcomes(const std::vector<ReplayOutcome>& outcomes, const Style& style);

// "reproduced", "diverged", "inconclusive"; the last also where nothing was compared.
std::string VerdictText(const replayer::RunnerResult& result);
// "R2", or "none" where nothing was served from the tape.
std::string LevelText(const replayer::ReplayReport& report);
// Why a result is inconclusive; empty otherwise.
std::string InconclusiveReason(const replayer::RunnerResult& result);

// One JSON object.
void WriteReplay(const schema::RecordedRun& tape, const replayer::RunnerResult& result,
                 JsonWriter* json);

}  // namespace reenact::tools

#endif  // REENACT_TOOLS_REENACT_REPLAY_REPLAY_TEXT_H_
