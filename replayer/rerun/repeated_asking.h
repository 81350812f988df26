// One question asked many times: the answers, and what they show that no single one could.

#ifndef REENACT_REPLAYER_RERUN_REPEATED_ASKING_H_
#define REENACT_REPLAYER_RERUN_REPEATED_ASKING_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "replayer/rerun/target.h"

namespace reenact::rerun {

struct AskOptions {
  int64_t count = 1;
  int64_t at_once = 1;  // Questions under way at a time.
  // Called after each answer with those that are there; from one thread at a time.
  std::function<void(int64_t done)> on_progress;
};

// In the order in which they were sent. Stops early when the budget is spent or the user
// interrupts: what was measured by then is there, and no more. An answer whose id another answer
// has already is kRepeated.
std::vector<Sample> AskRepeatedly(Target* target, const Question& question,
                                  const AskOptions& options);

std::vector<const Sample*> Answered(const std::vector<Sample>& samples);
// How many samples ended in each way that is no answer: "rate_limited" = 3.
std::map<std::string, int64_t> Failures(const std::vector<Sample>& samples);

// What a target says it does and does not do. Each is a status, never a number.
struct BrokenPromise {
  std::string name;  // "seed_ignored", "fingerprint_constant", "logprobs_missing", ...
  std::string text;  // One sentence with the evidence.
};

// Of answers to one question:
//   "logprobs_missing", "token_ids_missing": asked for, and not in the answers;
//   "logprobs_impossible": above 0, or misaligned with the tokens;
//   "seed_ignored": a seed was sent, and answers differ although a temperature lets them;
//   "fingerprint_constant": answers differ, and the fingerprint says that nothing has changed;
//   "fingerprint_missing": no answer names who gave it;
//   "answers_repeated": a cache answered.
std::vector<BrokenPromise> FindBrokenPromises(const Question& question,
                                              const std::vector<Sample>& samples);

}  // namespace reenact::rerun

#endif  // REENACT_REPLAYER_RERUN_REPEATED_ASKING_H_
