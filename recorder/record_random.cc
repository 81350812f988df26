// Randomness while recording: one record a seed, however many numbers the host draws from it, and
// one for each decision of the sampling policy. The replayer's half is replayer/replay_random.cc.

#include <string_view>

#include "recorder/recorder.h"
#include "recorder/run.h"
#include "recorder/system_clock.h"

namespace reenact::recorder {

reenact_code RecordedScope::RandomSeed(std::string_view name, uint64_t* seed) noexcept {
  *seed = Random64();
  return AppendReading(schema::Boundary::kRandom, name, *seed, run_->recorder()->WallNs());
}

reenact_code RecordedScope::WantLogprobs(std::string_view name, int32_t* want) noexcept {
  const double rate = run_->recorder()->options().logprob_rate;
  constexpr double kTwoTo53 = 9007199254740992.0;
  *want = static_cast<double>(Random64() >> 11) < rate * kTwoTo53 ? 1 : 0;
  return AppendReading(schema::Boundary::kEnv, name, *want != 0 ? 1 : 0,
                       run_->recorder()->WallNs());
}

}  // namespace reenact::recorder
