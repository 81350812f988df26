#include "replayer/internal/network_notes.h"

#include <chrono>
#include <map>
#include <string>
#include <utility>

namespace reenact::replayer {

void NoteNetwork(const GuardReport& network, ReplaySession* session) {
  if (!network.guarded) {
    session->NoteRelaxed("network not guarded: " + network.why_not, FidelityLevel::kR1);
  }
  std::map<std::pair<std::string, std::string>, int64_t> attempts;
  for (const NetworkAttempt& attempt : network.attempts) {
    ++attempts[{attempt.call, attempt.address}];
  }
  for (const auto& [what, count] : attempts) {
    Divergence divergence;
    divergence.kind = DivergenceKind::kNetwork;
    divergence.summary = "the program tried to reach the network and was refused: " + what.first +
                         (what.second.empty() ? "" : " to " + what.second) + ", " +
                         std::to_string(count) + (count == 1 ? " time" : " times");
    session->NoteDivergence(std::move(divergence));
  }
}

schema::Moment MomentNow() {
  const auto wall = std::chrono::system_clock::now().time_since_epoch();
  const auto monotonic = std::chrono::steady_clock::now().time_since_epoch();
  return {std::chrono::duration_cast<std::chrono::nanoseconds>(wall).count(),
          std::chrono::duration_cast<std::chrono::nanoseconds>(monotonic).count()};
}

}  // namespace reenact::replayer
